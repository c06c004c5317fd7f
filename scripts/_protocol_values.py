"""What passes between the far and the near side of a dump over the Kafka protocol."""

import base64
import uuid
from typing import NamedTuple

# Timestamps of ListOffsets that mean an end of the log.
EARLIEST, LATEST = -2, -1


class PassingError(Exception):
    """A failure that may be over later: a broker restarts, a leader moves, an answer is late."""


class Partition(NamedTuple):
    """A partition as the cluster's metadata have it. `leader` -1: there is none now.

    `in_sync`: how many replicas are. `error`: a code of Kafka's, 0 for none.
    """

    topic: str
    topic_id: uuid.UUID | None
    number: int
    leader: int
    leader_epoch: int
    in_sync: int
    error: int

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"{self.topic}-{self.number}"


class Fetched(NamedTuple):
    """An answer to a Fetch, of one partition. Offsets are -1 where the broker does not say."""

    error: int
    high_watermark: int
    last_stable_offset: int
    log_start: int
    records: bytes


def id_text(topic_id: uuid.UUID) -> str:
    """As in partition.metadata: base64 for URLs, without padding (org.apache.kafka.common.Uuid)."""
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
