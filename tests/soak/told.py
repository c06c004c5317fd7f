"""What leaders say of producers, and coordinators of transactional ids, for a folder of answers.

Over the protocol, since the clients of old releases have no way to ask. A broker that does not know
the request leaves no file.
"""

import json
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brokers.kafka_broker import ROOT

sys.path.insert(1, str(ROOT / "scripts"))

from _dump_source import CopyError
from _protocol_answers import producers_of
from _protocol_client import Cluster, UnsupportedError
from _protocol_values import EARLIEST, LATEST, PassingError
from kafka.protocol.admin import DescribeTransactionsRequest, ListTransactionsRequest


def ask(bootstrap: Sequence[str], brokers: int, folder: Path) -> None:
    """Writes producers.json and transactions.json. `brokers`: their ids are 1 to so many."""
    cluster = Cluster(list(bootstrap), {})
    try:
        for name, told in (("producers", _of_leaders), ("transactions", _of_coordinators)):
            try:
                answers = told(cluster, brokers)
            except UnsupportedError:
                continue
            if answers:
                (folder / f"{name}.json").write_text(json.dumps(answers, indent=0) + "\n")
    finally:
        cluster.close()


def wait_for_leaders(bootstrap: Sequence[str], seconds: float) -> None:
    """Until all partitions are led, as they may not be while a killed broker comes back."""
    until = time.monotonic() + seconds
    while True:
        cluster = Cluster(list(bootstrap), {})
        try:
            if all(one.leader >= 0 and not one.error for one in cluster.partitions()):
                return
        except (CopyError, PassingError):
            pass
        finally:
            cluster.close()
        assert time.monotonic() < until, "some partitions have no leader"
        time.sleep(1)


def ranges(bootstrap: Sequence[str]) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """(topic, number) -> (error, offset) of log start, high watermark and last stable offset."""
    cluster = Cluster(list(bootstrap), {})
    found = defaultdict(list)
    try:
        led = defaultdict(list)
        for one in cluster.partitions():
            led[one.leader].append(one)
        for there in led.values():
            for moment, isolation in ((EARLIEST, 0), (LATEST, 0), (LATEST, 1)):
                for place, told in cluster.list_offsets(there, moment, isolation).items():
                    found[place].append(told)
        return dict(found)
    finally:
        cluster.close()


def _of_leaders(cluster: Cluster, brokers: int) -> list[dict[str, Any]]:
    """A row for each producer that a leader knows; no transaction is open: -1."""
    led = defaultdict(list)
    for one in cluster.partitions():
        led[one.leader].append(one)
    rows = []
    for broker in range(1, brokers + 1):
        for request in producers_of(led[broker]):
            for topic in cluster.ask(request, broker).topics:
                for partition in topic.partitions:
                    place = {"broker": broker, "topic": topic.name}
                    place["partition"] = partition.partition_index
                    rows += [place | one.to_dict() for one in partition.active_producers]
    return rows


def _of_coordinators(cluster: Cluster, brokers: int) -> dict[str, Any]:
    """All transactional ids as their coordinators describe them; nothing for none."""
    rows = []
    for broker in range(1, brokers + 1):
        listed = cluster.ask(
            ListTransactionsRequest(state_filters=[], producer_id_filters=[]), broker
        )
        ids = sorted(one.transactional_id for one in listed.transaction_states)
        if not ids:
            continue
        answer = cluster.ask(DescribeTransactionsRequest(transactional_ids=ids), broker)
        rows += [_described(broker, one) for one in answer.transaction_states]
    return {"describe": rows} if rows else {}


def _described(broker: int, one: Any) -> dict[str, Any]:
    """A transactional id, in the words that the dumps in tests/dumps have."""
    return {
        "transactionalId": one.transactional_id,
        "coordinatorId": broker,
        "state": one.transaction_state,
        "producerId": one.producer_id,
        "producerEpoch": one.producer_epoch,
        "transactionTimeoutMs": one.transaction_timeout_ms,
        "topicPartitions": [
            {"topic": topic.topic, "partition": number}
            for topic in one.topics
            for number in topic.partitions
        ],
    }
