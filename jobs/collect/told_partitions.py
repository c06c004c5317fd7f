"""What leaders said of their partitions: high watermark, last stable offset, producers.

Each was asked before the data were fetched and after. Only a leader that answered both times, in
one leader epoch, says what it had in between. Epochs begin again with a topic that is made again,
so the ids are kept that the leader told of the topic at both moments.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from jobs.model.told import NONE, Answered, PartitionTold, ProducerTold
from udfs.wire import bounds

LIST_OFFSETS, DESCRIBE_PRODUCERS = "ListOffsets", "DescribeProducers"
METADATA = "Metadata"
BEFORE, AFTER = "before", "after"
# The isolation of ListOffsets -> what its answer is.
OFFSETS = {0: "high_watermark", 1: "stable"}
LARGEST_EPOCH = (1 << 31) - 1
Key = tuple[str, int]


def partitions_told(answers: list[dict[str, Any]]) -> Mapping[Key, PartitionTold]:
    """(topic, partition) -> what its leader said. Raises ValueError, KeyError, TypeError."""
    found: dict[tuple[str, Key], dict[str, Any]] = defaultdict(
        lambda: {"leaders": set(), "asked": [], "answered": []}
    )
    for one in answers:
        if "answer" not in one or one["request"] not in (LIST_OFFSETS, DESCRIBE_PRODUCERS):
            continue
        for key, facts in _facts(one):
            there = found[str(one["moment"]), key]
            # Two that answer as leaders: it moved in between.
            there["leaders"].add((whole_number(one["broker"]), facts.pop("leader_epoch", None)))
            there["asked"].append(whole_number(one["asked_ms"]))
            there["answered"].append(whole_number(one["answered_ms"]))
            there |= facts
    told, ids = {}, _topic_ids(answers)
    for moment, key in list(found):
        if moment == BEFORE and (AFTER, key) in found:
            before, after = _answered(found[BEFORE, key]), _answered(found[AFTER, key])
            if before and after and before[:2] == after[:2]:
                answered_ms = max(found[BEFORE, key]["answered"])
                asked_ms = min(found[AFTER, key]["asked"])
                of_leader = (ids.get((one, before.broker, key[0])) for one in (BEFORE, AFTER))
                known = [there or {None} for there in of_leader] if ids else []
                topic_ids = frozenset().union(*known)
                told[key] = PartitionTold(before, after, answered_ms, asked_ms, topic_ids)
    return told


def _topic_ids(answers: list[dict[str, Any]]) -> dict[tuple[str, int, str], set[str | None]]:
    """(moment, broker, topic) -> the ids that the broker told of it; empty where nobody asked.

    None stands for a topic without an id: of a broker older than 2.8.
    """
    found: dict[tuple[str, int, str], set[str | None]] = defaultdict(set)
    for one in answers:
        if one["request"] == METADATA and "answer" in one:
            for topic in one["answer"]["topics"]:
                place = str(one["moment"]), whole_number(one["broker"]), str(topic["name"])
                found[place].add(None if topic["topic_id"] is None else str(topic["topic_id"]))
    return found


def _answered(facts: dict[str, Any]) -> Answered | None:
    """None where more than one leader answered."""
    brokers = {broker for broker, _ in facts["leaders"]}
    epochs = {epoch for _, epoch in facts["leaders"]} - {None}
    if len(brokers) != 1 or len(epochs) > 1:
        return None
    known = {name: value for name, value in facts.items() if name in Answered._fields}
    return Answered(brokers.pop(), epochs.pop() if epochs else NONE, **known)


def _facts(one: dict[str, Any]) -> Iterator[tuple[Key, dict[str, Any]]]:
    """(topic, partition) and what an answer says of it, for those without an error."""
    if one["request"] == LIST_OFFSETS and one.get("isolation") not in OFFSETS:
        return
    for topic in one["answer"]["topics"]:
        for partition in topic["partitions"]:
            if partition["error_code"] == 0:
                key = str(topic["name"]), whole_number(partition["partition_index"])
                yield key, _of_partition(one, partition)


def _of_partition(one: dict[str, Any], partition: dict[str, Any]) -> dict[str, Any]:
    if one["request"] == LIST_OFFSETS:
        epoch = partition.get("leader_epoch", NONE)
        return {
            OFFSETS[one["isolation"]]: whole_number(partition["offset"]),
            "leader_epoch": whole_number(epoch, LARGEST_EPOCH),
        }
    return {
        "producers": tuple(
            ProducerTold(
                whole_number(active["producer_id"]),
                whole_number(active["producer_epoch"], LARGEST_EPOCH),
                whole_number(active["last_sequence"], LARGEST_EPOCH),
                whole_number(active["current_txn_start_offset"]),
            )
            for active in partition["active_producers"]
        )
    }


def whole_number(value: Any, largest: int = bounds.HIGHEST) -> int:
    """A number of NONE to `largest`: JSON has others, too."""
    if isinstance(value, bool) or not isinstance(value, int) or not NONE <= value <= largest:
        raise ValueError(f"{str(value)[:40]!r} is no number that a broker tells")
    return value
