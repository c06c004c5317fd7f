"""Transactions that hang, and the operator who ends them, for so many seconds.

    python -m soak.hangs BOOTSTRAP SECONDS TOPIC

A batch that arrives after the marker of its transaction opens one that nobody owns, where brokers
do not verify it (up to 3.5, or told not to). The operator sees it as the leader tells it, and has
the leader write an ABORT marker, as kafka-transactions.sh does. None is left open at the end.
"""

import sys
import time
from collections.abc import Sequence
from itertools import count
from typing import Any

from brokers.kafka_broker import ROOT
from kafka import KafkaProducer
from kafka.protocol.admin import DescribeProducersRequest
from kafka.protocol.producer import ProduceRequest, WriteTxnMarkersRequest

from soak.others import say
from tests.wire_writer import batches as writer

sys.path.insert(1, str(ROOT / "scripts"))

from _dump_source import CopyError
from _protocol_client import Cluster
from _protocol_values import PassingError

PARTITION = 0
RECORDS = 3
PATIENCE_SECONDS = 300


def commit(bootstrap: str, topic: str, name: str) -> Any:
    """A transaction as it should be; producer id and epoch."""
    producer = KafkaProducer(
        bootstrap_servers=bootstrap, transactional_id=name, max_block_ms=20_000
    )
    producer.init_transactions()
    producer.begin_transaction()
    for _ in range(RECORDS):
        producer.send(topic, b"in time", partition=PARTITION)
    producer.flush(20)
    identity = producer._transaction_manager.producer_id_and_epoch
    producer.commit_transaction()
    producer.close(20)
    return identity


def write_late(cluster: Cluster, topic: str, name: str, identity: Any) -> None:
    """A batch of a transaction that is over. Raises CopyError, PassingError."""
    late = writer.batch(
        0, [writer.record(0, value=b"late")], base_timestamp=time.time_ns() // 1_000_000,
        producer_id=identity.producer_id, producer_epoch=identity.epoch, base_sequence=RECORDS,
        transactional=True,
    )  # fmt: skip
    of = ProduceRequest.TopicProduceData
    data = of.PartitionProduceData(index=PARTITION, records=late)
    request = ProduceRequest(
        transactional_id=name, acks=-1, timeout_ms=10_000, max_version=9,
        topic_data=[of(name=topic, partition_data=[data])],
    )  # fmt: skip
    answer = cluster.ask(request, _leader(cluster, topic))
    (told,) = answer.responses[0].partition_responses
    say(name, f"late batch of {identity} in {topic}-{PARTITION}: error {told.error_code}")


def _leader(cluster: Cluster, topic: str) -> int:
    return next(one.leader for one in cluster.partitions([topic]) if one.number == PARTITION)


def open_of(cluster: Cluster, topic: str, producer_id: int) -> Any:
    """What the leader tells of a producer whose transaction is open; None if it is not."""
    of = DescribeProducersRequest.TopicRequest
    answer = cluster.ask(
        DescribeProducersRequest(topics=[of(name=topic, partition_indexes=[PARTITION])]),
        _leader(cluster, topic),
    )
    (told,) = answer.topics[0].partitions
    if told.error_code:
        raise CopyError(f"{topic}-{PARTITION}: error {told.error_code}")
    for one in told.active_producers:
        if one.producer_id == producer_id and one.current_txn_start_offset >= 0:
            return one
    return None


def end(cluster: Cluster, topic: str, producer_id: int) -> None:
    """Aborts it until the leader has none open; a broker may come back meanwhile."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            there = open_of(cluster, topic, producer_id)
            if there is None:
                return
            cluster.ask(_abort(topic, there), _leader(cluster, topic))
            say("operator", f"abort of {producer_id}, open since {there.current_txn_start_offset}")
        except (CopyError, PassingError, StopIteration) as error:
            say("operator", f"again after {error!r}")
        assert time.monotonic() < until, f"the transaction of {producer_id} stays open"
        time.sleep(1)


def _abort(topic: str, there: Any) -> WriteTxnMarkersRequest:
    of = WriteTxnMarkersRequest.WritableTxnMarker
    marker = of(
        producer_id=there.producer_id, producer_epoch=there.producer_epoch,
        transaction_result=False, coordinator_epoch=max(there.coordinator_epoch, 0),
        topics=[of.WritableTxnMarkerTopic(name=topic, partition_indexes=[PARTITION])],
    )  # fmt: skip
    return WriteTxnMarkersRequest(markers=[marker], max_version=1)


def main(words: Sequence[str]) -> None:
    bootstrap, seconds, topic = words
    until = time.monotonic() + float(seconds)
    cluster = Cluster(bootstrap.split(","), {})
    for number in count():
        if time.monotonic() > until:
            return
        name = f"h-{number}"
        try:
            identity = commit(bootstrap, topic, name)
        except Exception as error:  # whatever a client says of chaos
            say(name, f"again after {error!r}")
            continue
        # The client has its answer before the markers are written.
        time.sleep(2)
        try:
            write_late(cluster, topic, name, identity)
        except (CopyError, PassingError, StopIteration) as error:
            say(name, f"late batch: {error!r}")
        time.sleep(1)
        end(cluster, topic, int(identity.producer_id))


if __name__ == "__main__":
    main(sys.argv[1:])
