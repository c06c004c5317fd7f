"""Producer epochs and blocks of producer ids that are used up before the load begins."""

import sys
import time
from collections.abc import Sequence

from brokers.kafka_broker import ROOT

sys.path.insert(1, str(ROOT / "scripts"))

from _dump_source import CopyError
from _protocol_client import Cluster
from _protocol_values import PassingError
from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.producer import InitProducerIdRequest

LAST_EPOCH = 32_766  # the coordinator gives a new producer id rather than hand out 32,767
ENOUGH = 1100  # a broker gets blocks of 1000 ids
TIMEOUT_MS = 600_000
UNTIL_READY_SECONDS = 30


def exhaust(
    bootstrap: Sequence[str], brokers: int, name: str, left: int, seconds: float
) -> tuple[int, int]:
    """Raises the epoch of a transactional id, by initialising it, until `left` epochs are left.

    The producer id and the epoch that it has then, or when the time is over.
    """
    cluster = Cluster(list(bootstrap), {})
    until = time.monotonic() + seconds
    try:
        coordinator, producer, epoch = _ready(cluster, brokers, name)
        while epoch < LAST_EPOCH - left and time.monotonic() < until:
            answer = cluster.ask(_initialises(name), coordinator)
            if not answer.error_code:
                producer, epoch = answer.producer_id, answer.producer_epoch
        return producer, epoch
    finally:
        cluster.close()


def _initialises(name: str | None) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=name, transaction_timeout_ms=TIMEOUT_MS, max_version=4
    )


def _ready(cluster: Cluster, brokers: int, name: str) -> tuple[int, int, int]:
    """The coordinator of an id, once it answers, and the producer id and epoch that it gave."""
    until = time.monotonic() + UNTIL_READY_SECONDS
    while time.monotonic() < until:
        for broker in range(1, brokers + 1):
            try:
                # This makes the coordinators' topic.
                cluster.ask(FindCoordinatorRequest(key=name, key_type=1, max_version=3), broker)
                answer = cluster.ask(_initialises(name), broker)
            except (CopyError, PassingError):
                continue
            if not answer.error_code:
                return broker, answer.producer_id, answer.producer_epoch
        time.sleep(0.5)
    raise CopyError(f"nobody coordinates {name}")


def use_up_a_block(bootstrap: Sequence[str]) -> int:
    """Takes as many producer ids of one broker as a block has; the last one."""
    cluster = Cluster(list(bootstrap), {})
    try:
        taken = [cluster.ask(_initialises(None), 1) for _ in range(ENOUGH)]
        return max(answer.producer_id for answer in taken)
    finally:
        cluster.close()
