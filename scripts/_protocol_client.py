"""The far side of a dump over the Kafka protocol: brokers, asked with kafka-python.

Only requests that read: Metadata, ListOffsets, OffsetForLeaderEpoch, Fetch and Describe…. No group
is joined, nothing is committed, created or changed, and topics are never created by asking.
"""

import logging
import threading
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from _dump_source import CopyError
from _protocol_values import Fetched, Partition, PassingError

try:
    from kafka import errors
    from kafka.net.manager import KafkaConnectionManager
    from kafka.net.sasl.oauth import AbstractTokenProvider
    from kafka.net.selector import NetworkSelector
    from kafka.protocol.consumer import (
        FetchRequest,
        ListOffsetsRequest,
        OffsetForLeaderEpochRequest,
    )
    from kafka.protocol.metadata import MetadataRequest
except ImportError as error:
    raise CopyError(
        "--bootstrap needs the package kafka-python 3, which cannot be imported "
        f"({error}); install it for this Python: pip install 'kafka-python>=3,<4'"
    ) from error

BOOTSTRAP_MS = 20_000
# Of an answer: what was asked for, a batch that may be larger, and the other fields.
LARGEST_ANSWER = 1 << 30
READ_UNCOMMITTED = 0
# Since this version topics are named by their id, so that one made again is noticed.
FETCH_BY_NAME = 12
FETCH_BY_ID = 17
# kafka-python tries a token again that was refused, until its time is up.
LOGIN_REFUSED = "SaslAuthenticationFailedError"
NO_ID = uuid.UUID(int=0)


class UnsupportedError(CopyError):
    """The broker does not know the request, or none of the versions that are asked for."""


class TokenProvider(AbstractTokenProvider):
    """Gives kafka-python the access tokens of client.properties."""

    def __init__(self, source: Any) -> None:
        super().__init__()
        self._source = source

    def token(self) -> str:
        """The token."""
        return str(self._source())


class LastWords(logging.Handler):
    """Keeps the last complaint of kafka-python, which says why where its exception does not."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said = self.refused = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps it; also by itself that the login is refused, after which others still follow."""
        self.said = record.getMessage()
        if LOGIN_REFUSED in self.said:
            self.refused = self.said

    def in_brackets(self) -> str:
        """It, as the end of a sentence."""
        return f" ({self.said})" if self.said else ""


def about_topics(topics: Iterable[str] | None = None) -> Any:
    """A Metadata request; of all topics without `topics`."""
    wanted = None
    if topics is not None:
        wanted = [MetadataRequest.MetadataRequestTopic(name=topic) for topic in topics]
    return MetadataRequest(
        topics=wanted,
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )


def id_of(topic: Any) -> uuid.UUID | None:
    """The id of a topic in an answer to a Metadata request; None before version 10 (2.8)."""
    known: uuid.UUID | None = getattr(topic, "topic_id", None)
    return known if known and known != NO_ID else None


class Cluster:
    """The brokers of a cluster. Each thread has connections of its own: jobs do not wait."""

    def __init__(self, bootstrap: Iterable[str], options: Mapping[str, Any]) -> None:
        """Connects nowhere yet. `options`: of _protocol_properties.connection_options."""
        self.bootstrap = list(bootstrap)
        self._options = {"client_id": "eosaudit-take-dump", **options}
        token = self._options.pop("token", None)
        if token is not None:
            self._options["sasl_oauth_token_provider"] = TokenProvider(token)
        self._own = threading.local()
        self._managers: list[tuple[Any, Any]] = []
        self._words = LastWords()
        logger = logging.getLogger("kafka")
        logger.handlers, logger.propagate = [self._words], False

    def _manager(self) -> tuple[Any, Any]:
        """Event loop and connections of this thread. Raises CopyError, PassingError."""
        there = getattr(self._own, "manager", None)
        if there is None:
            loop = NetworkSelector(client_id=self._options["client_id"])
            manager = KafkaConnectionManager(
                loop,
                bootstrap_servers=self.bootstrap,
                receive_message_max_bytes=LARGEST_ANSWER,
                **self._options,
            )
            manager.cluster.config["allow_auto_create_topics"] = False
            there = self._own.manager = (loop, manager)
            self._managers.append(there)
            self._find_brokers()
        return there

    def _find_brokers(self) -> None:
        """Asks the bootstrap servers for all others. Raises CopyError, PassingError."""
        _, manager = self._own.manager
        try:
            self._call(manager.bootstrap_async, BOOTSTRAP_MS)
        except PassingError as error:
            if self._words.refused:
                raise CopyError(f"{','.join(self.bootstrap)}: {self._words.refused}") from error
            protocol = self._options.get("security_protocol", "PLAINTEXT")
            raise PassingError(
                f"no broker answers at {','.join(self.bootstrap)} in {BOOTSTRAP_MS // 1000} s; "
                f"check that the address is one of a listener that speaks {protocol}"
                f"{self._words.in_brackets()}"
            ) from error

    def _call(self, call: Any, *arguments: Any) -> Any:
        try:
            return self._manager()[0].run(call, *arguments)
        except (
            errors.SaslAuthenticationFailedError,
            errors.UnsupportedSaslMechanismError,
            errors.AuthorizationError,
        ) as error:
            raise CopyError(f"{','.join(self.bootstrap)}: {error}") from error
        except errors.IncompatibleBrokerVersion as error:
            raise UnsupportedError(f"{','.join(self.bootstrap)}: {error}") from error
        except (errors.KafkaError, OSError, RuntimeError, ValueError) as error:
            raise PassingError(
                f"{','.join(self.bootstrap)}: {error}{self._words.in_brackets()}"
            ) from error

    def ask(self, request: Any, node: int | None = None) -> Any:
        """The answer of a broker, of any one without `node`. Raises CopyError, PassingError."""
        _, manager = self._manager()

        async def send() -> Any:
            return await manager.send(request, node_id=node)

        return self._call(send)

    def refresh(self) -> None:
        """Learns anew where the brokers are. Raises CopyError, PassingError."""
        _, manager = self._manager()
        try:
            self._call(manager.cluster.refresh_metadata)
        except PassingError:
            self._find_brokers()

    def metadata(self, topics: Iterable[str] | None = None) -> Any:
        """Answer to a Metadata request; of all topics without `topics`."""
        return self.ask(about_topics(topics))

    def partitions(self, topics: Iterable[str] | None = None) -> list[Partition]:
        """All partitions that may be described, in the order of their names."""
        found = []
        for topic in self.metadata(topics).topics:
            topic_id = id_of(topic)
            found += [
                Partition(
                    topic.name,
                    topic_id,
                    one.partition_index,
                    one.leader_id,
                    getattr(one, "leader_epoch", -1),
                    len(one.isr_nodes),
                    topic.error_code or one.error_code,
                )
                for one in topic.partitions
            ] or [Partition(topic.name, topic_id, -1, -1, -1, 0, topic.error_code)]
        return sorted(found, key=lambda one: (one.topic, one.number))

    def list_offset(self, partition: Partition, moment: int) -> tuple[int, int]:
        """(error code, offset) of EARLIEST, or of LATEST, the high watermark."""
        told = self.list_offsets([partition], moment)
        if (partition.topic, partition.number) not in told:
            raise PassingError("an answer without the partition")
        return told[partition.topic, partition.number]

    def list_offsets(
        self, partitions: Sequence[Partition], moment: int, isolation: int = READ_UNCOMMITTED
    ) -> dict[tuple[str, int], tuple[int, int]]:
        """(topic, number) -> (error code, offset), of partitions of one leader."""
        of = ListOffsetsRequest.ListOffsetsTopic
        by_topic: dict[str, list[Any]] = defaultdict(list)
        for one in partitions:
            by_topic[one.topic].append(
                of.ListOffsetsPartition(
                    partition_index=one.number, current_leader_epoch=-1, timestamp=moment
                )
            )
        answer = self.ask(
            ListOffsetsRequest(
                replica_id=-1,
                isolation_level=isolation,
                topics=[of(name=name, partitions=asked) for name, asked in by_topic.items()],
                min_version=1,
                max_version=7,
            ),
            partitions[0].leader,
        )
        return {
            (topic.name, one.partition_index): (one.error_code, one.offset)
            for topic in answer.topics
            for one in topic.partitions
        }

    def end_of_epoch(self, partition: Partition, epoch: int) -> tuple[int, int, int]:
        """(error code, epoch, end offset): the newest epoch up to `epoch` that the leader has.

        -1 for both where it does not tell.
        """
        of = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
        asked = of.OffsetForLeaderPartition(
            partition=partition.number, current_leader_epoch=-1, leader_epoch=epoch
        )
        topics = [of(topic=partition.topic, partitions=[asked])]
        try:
            answer = self.ask(
                OffsetForLeaderEpochRequest(replica_id=-1, topics=topics), partition.leader
            )
        except UnsupportedError:
            return 0, -1, -1
        one = _only(answer.topics)
        return one.error_code, getattr(one, "leader_epoch", epoch), one.end_offset

    def fetch(self, partition: Partition, offset: int, size: int, wait_ms: int) -> Fetched:
        """Batches from `offset` on, about `size` bytes, as the leader stores them."""
        of = FetchRequest.FetchTopic
        answer = self.ask(
            FetchRequest(
                replica_id=-1,
                max_wait_ms=wait_ms,
                min_bytes=1,
                max_bytes=size,
                isolation_level=READ_UNCOMMITTED,
                session_id=0,
                session_epoch=-1,
                topics=[
                    of(
                        topic=partition.topic,
                        topic_id=partition.topic_id or NO_ID,
                        partitions=[
                            of.FetchPartition(
                                partition=partition.number,
                                current_leader_epoch=-1,
                                fetch_offset=offset,
                                partition_max_bytes=size,
                            )
                        ],
                    )
                ],
                forgotten_topics_data=[],
                rack_id="",
                min_version=4,
                max_version=FETCH_BY_ID if partition.topic_id else FETCH_BY_NAME,
            ),
            partition.leader,
        )
        if getattr(answer, "error_code", 0):
            return Fetched(answer.error_code, -1, -1, -1, b"")
        one = _only(answer.responses)
        return Fetched(
            one.error_code,
            one.high_watermark,
            one.last_stable_offset,
            one.log_start_offset,
            one.records or b"",
        )

    def close(self) -> None:
        """Ends all connections."""
        for loop, manager in self._managers:
            try:
                manager.close()
                loop.close()
            except (errors.KafkaError, OSError, RuntimeError):
                pass


def _only(topics: Sequence[Any]) -> Any:
    """The one partition of an answer. Raises PassingError where there is another number."""
    partitions = [one for topic in topics for one in topic.partitions]
    if len(partitions) != 1:
        raise PassingError(f"an answer of {len(partitions)} partitions instead of one")
    return partitions[0]
