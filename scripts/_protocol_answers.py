"""What the brokers say of themselves, as they say it: broker-answers.json beside a fetched dump.

Asked before the data and after them, so that what moved meanwhile can be told. A broker that cannot
or may not answer leaves its error code, or the sentence of the failure, in place of an answer.
"""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from _dump_source import CopyError
from _protocol_client import Cluster, about_topics, id_of
from _protocol_values import EARLIEST, LATEST, Partition, PassingError, id_text
from kafka.protocol.admin import (
    DescribeConfigsRequest,
    DescribeLogDirsRequest,
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
)
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import ApiVersionsRequest, FindCoordinatorRequest

from jobs import __version__

NAME = "broker-answers.json"
FORMAT = 1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
OF_TOPIC, OF_BROKER = 2, 4
TRANSACTION = 1
CONFIGS_OF_TOPIC = (
    "cleanup.policy",
    "retention.ms",
    "retention.bytes",
    "delete.retention.ms",
    "segment.ms",
    "segment.bytes",
    "min.insync.replicas",
    "message.timestamp.type",
    "remote.storage.enable",
    "unclean.leader.election.enable",
)
CONFIGS_OF_BROKER = (
    "producer.id.expiration.ms",
    "transactional.id.expiration.ms",
    "transaction.max.timeout.ms",
    "transaction.partition.verification.enable",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    "transaction.state.log.num.partitions",
    "offsets.topic.num.partitions",
    "offsets.retention.minutes",
    "replica.lag.time.max.ms",
    "log.cleaner.enable",
)
# So many names in one request.
AT_ONCE = 500
# Transactions that are complete need no description.
OVER = ("Empty", "CompleteCommit", "CompleteAbort", "Dead")


class Answers:
    """Collects answers; `write` stores them."""

    def __init__(self, cluster: Cluster, cluster_id: str | None) -> None:
        self._cluster, self._cluster_id = cluster, cluster_id
        self._told: list[dict[str, Any]] = []
        self._partitions: dict[str, int] = {}

    def ask(self, moment: str, partitions: Sequence[Partition]) -> None:
        """Asks all brokers. `moment`: before or after the data."""
        led: dict[int, list[Partition]] = defaultdict(list)
        for one in partitions:
            if one.leader >= 0:
                led[one.leader].append(one)
        self._partitions = {topic: len(all_) for topic, all_ in _by_topic(partitions).items()}
        try:
            metadata = self._cluster.metadata([])
        except PassingError as error:
            self._told.append({"moment": moment, "request": "Metadata", "failure": str(error)})
            return
        topics = sorted({one.topic for one in partitions})
        self._ask(moment, None, _configs(OF_TOPIC, topics, CONFIGS_OF_TOPIC))
        for broker in sorted(one.node_id for one in metadata.brokers):
            self._ask(
                moment,
                broker,
                [
                    ApiVersionsRequest(
                        client_software_name="eosaudit", client_software_version=__version__
                    )
                ],
            )
            self._ask(moment, broker, _configs(OF_BROKER, [str(broker)], CONFIGS_OF_BROKER))
            self._ask(moment, broker, [DescribeLogDirsRequest(topics=None)])
            self._ask_of_partitions(moment, broker, led[broker])
            self._ask_of_transactions(moment, broker)

    def _ask_of_partitions(self, moment: str, broker: int, led: Sequence[Partition]) -> None:
        # First and last: a topic that is made again between the two has another id.
        self._ask_for_topic_ids(moment, broker, led)
        for isolation in (READ_UNCOMMITTED, READ_COMMITTED):
            self._ask(moment, broker, _offsets(led, LATEST, isolation), isolation=isolation)
        self._ask(moment, broker, _offsets(led, EARLIEST, READ_UNCOMMITTED), timestamp=EARLIEST)
        self._ask(moment, broker, producers_of(led))
        self._ask_for_topic_ids(moment, broker, led)

    def _ask_for_topic_ids(self, moment: str, broker: int, led: Sequence[Partition]) -> None:
        """The leader itself is asked: others may learn later what it leads (Metadata)."""
        requests = (about_topics(some) for some in _parts(sorted(_by_topic(led))))
        self._ask(moment, broker, requests, fields=_topic_ids)

    def _ask_of_transactions(self, moment: str, broker: int) -> None:
        listed = self._ask(
            moment, broker, [ListTransactionsRequest(state_filters=[], producer_id_filters=[])]
        )
        open_ids = sorted(
            one.transactional_id
            for answer in listed
            for one in answer.transaction_states
            if one.transaction_state not in OVER
        )
        for some in _parts(open_ids):
            self._ask(moment, broker, [DescribeTransactionsRequest(transactional_ids=some)])
            self._ask(
                moment,
                broker,
                [
                    FindCoordinatorRequest(
                        key_type=TRANSACTION, coordinator_keys=some, min_version=4
                    )
                ],
            )

    def _ask(
        self,
        moment: str,
        broker: int | None,
        requests: Iterable[Any],
        fields: Callable[[Any], dict[str, Any]] = lambda answer: answer.to_dict(),
        **details: object,
    ) -> list[Any]:
        """The answers to requests; each is noted, and so is that there is none.

        `fields`: what is noted of an answer.
        """
        answers = []
        for request in requests:
            head = {"moment": moment, "request": request.name.removesuffix("Request")}
            head |= {"broker": broker, "asked_ms": time.time_ns() // 1_000_000, **details}
            try:
                answer = self._cluster.ask(request, broker)
            except (PassingError, CopyError) as error:
                self._told.append(head | {"failure": str(error)})
                continue
            head |= {"answered_ms": time.time_ns() // 1_000_000, "version": answer.version}
            self._told.append(head | {"answer": fields(answer)})
            answers.append(answer)
        return answers

    def write(self, folder: Path) -> None:
        """Writes the file; a reader sees the old one or the new one."""
        content = {
            "format": FORMAT,
            "tool": f"eosaudit {__version__}",
            "cluster_id": self._cluster_id,
            "partitions": self._partitions,
            "answers": self._told,
        }
        part = folder / f"{NAME}.part"
        part.write_text(json.dumps(content, default=str, indent=1) + "\n", "utf-8")
        part.replace(folder / NAME)


def _parts(names: Sequence[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(names), AT_ONCE):
        yield list(names[start : start + AT_ONCE])


def _configs(kind: int, names: Sequence[str], keys: Sequence[str]) -> Iterator[Any]:
    of = DescribeConfigsRequest.DescribeConfigsResource
    for some in _parts(names):
        yield DescribeConfigsRequest(
            resources=[
                of(resource_type=kind, resource_name=name, configuration_keys=list(keys))
                for name in some
            ],
            include_synonyms=False,
            include_documentation=False,
        )


def _by_topic(partitions: Sequence[Partition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for one in partitions:
        found[one.topic].append(one.number)
    return found


def _topic_ids(answer: Any) -> dict[str, Any]:
    """Names and ids of an answer to Metadata; null where the broker has no ids (before 2.8)."""
    ids = ((one.name, id_of(one)) for one in answer.topics)
    return {
        "topics": [{"name": name, "topic_id": id_text(one) if one else None} for name, one in ids]
    }


def _offsets(led: Sequence[Partition], moment: int, isolation: int) -> Iterator[Any]:
    of = ListOffsetsRequest.ListOffsetsTopic
    for some in _parts(led):
        yield ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation,
            topics=[
                of(
                    name=topic,
                    partitions=[
                        of.ListOffsetsPartition(
                            partition_index=number, current_leader_epoch=-1, timestamp=moment
                        )
                        for number in numbers
                    ],
                )
                for topic, numbers in _by_topic(some).items()
            ],
            min_version=2,
            max_version=7,
        )


def producers_of(led: Sequence[Partition]) -> Iterator[Any]:
    of = DescribeProducersRequest.TopicRequest
    for some in _parts(led):
        yield DescribeProducersRequest(
            topics=[of(name=n, partition_indexes=p) for n, p in _by_topic(some).items()]
        )
