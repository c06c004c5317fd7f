"""What an audit takes from a fetched dump: its manifest, and what brokers said beside it."""

import json
from pathlib import Path
from typing import Any

import pytest

from jobs.collect.broker_answers import NAME, AnswersError, read_answers
from jobs.collect.collect import collect
from jobs.model.cluster import Cluster, Clusters
from jobs.model.dump import cleaned_below
from jobs.model.told import Answered, BrokersTold, PartitionTold, ProducerTold, TransactionTold


def configs(kind: int, resource: str, **values: Any) -> dict[str, Any]:
    named = [{"name": name.replace("_", "."), "value": value} for name, value in values.items()]
    result = {"resource_type": kind, "resource_name": resource, "configs": named}
    return {"request": "DescribeConfigs", "answer": {"results": [result]}}


def answers(*told: dict[str, Any], **fields: Any) -> str:
    content = {"format": 1, "cluster_id": "c", "partitions": {"keys": 2}, "answers": list(told)}
    return json.dumps(content | fields)


TOLD = (
    configs(2, "keys", cleanup_policy="compact,delete"),
    configs(2, "orders", cleanup_policy="delete"),
    configs(4, "1", producer_id_expiration_ms="60000", transaction_max_timeout_ms="900000"),
    configs(4, "2", producer_id_expiration_ms="86400000", transaction_max_timeout_ms=None),
    {"request": "DescribeConfigs", "failure": "refused"},
    {"request": "ListTransactions", "answer": {}},
)


def test_configuration_is_taken_from_what_brokers_said(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(answers(*TOLD))
    assert read_answers(tmp_path) == BrokersTold(
        "c", {"keys": 2}, frozenset({"keys"}), frozenset({60_000, 86_400_000}), frozenset({900_000})
    )


def test_without_the_file_nothing_was_said(tmp_path: Path) -> None:
    assert read_answers(tmp_path) is None


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", "{}", '{"format": 2}', "[" * 100_000, answers(cluster_id=None, answers=3),
        answers(configs(4, "1", producer_id_expiration_ms="soon")),
        answers(configs(4, "1", producer_id_expiration_ms="9" * 30)), answers(partitions=[1]),
        answers(partitions={"a": -1}),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, content: str) -> None:
    (tmp_path / NAME).write_text(content)
    with pytest.raises(AnswersError, match=r"is damaged|has format"):
        read_answers(tmp_path)


MOMENTS = {
    "before": {"asked_ms": 100, "answered_ms": 101},
    "after": {"asked_ms": 200, "answered_ms": 201},
}


def offsets(moment: str, offset: Any, isolation: int = 0, **facts: Any) -> dict[str, Any]:
    told = {"partition_index": 0, "error_code": 0, "offset": offset, "leader_epoch": 4} | facts
    broker = told.pop("broker", 1)
    topics = [{"name": "orders", "partitions": [told]}]
    return {"moment": moment, "request": "ListOffsets", "broker": broker, "isolation": isolation,
            "answer": {"topics": topics}} | MOMENTS[moment]  # fmt: skip


def producers(moment: str, *active: tuple[Any, Any, Any, Any]) -> dict[str, Any]:
    names = ("producer_id", "producer_epoch", "last_sequence", "current_txn_start_offset")
    told = [dict(zip(names, one, strict=True)) for one in active]
    partition = {"partition_index": 0, "error_code": 0, "active_producers": told}
    topics = [{"name": "orders", "partitions": [partition]}]
    asked = {name: value + 2 for name, value in MOMENTS[moment].items()}
    return {"moment": moment, "request": "DescribeProducers", "broker": 1,
            "answer": {"topics": topics}} | asked  # fmt: skip


def states(folder: Path, *told: dict[str, Any]) -> dict[tuple[str, int], PartitionTold]:
    (folder / NAME).write_text(answers(*told))
    read = read_answers(folder)
    assert read is not None
    return dict(read.states)


def test_what_a_leader_said_at_both_moments_is_kept(tmp_path: Path) -> None:
    earliest = {key: value for key, value in offsets("before", 3).items() if key != "isolation"}
    told = states(
        tmp_path, offsets("before", 9), offsets("before", 7, 1), producers("before", (5, 0, 3, 7)),
        offsets("after", 9), offsets("after", 8, 1), producers("after"), earliest,
    )  # fmt: skip
    before = Answered(1, 4, 9, 7, (ProducerTold(5, 0, 3, 7),))
    assert told == {("orders", 0): PartitionTold(before, Answered(1, 4, 9, 8, ()), 103, 200)}


@pytest.mark.parametrize(
    "after",
    [
        [],
        [offsets("after", 9, broker=2)],
        [offsets("after", 9, leader_epoch=5)],
        [offsets("after", 9), offsets("after", 9, 1, broker=2)],
        [offsets("after", -1, error_code=6)],
    ],
    ids=["none", "another broker", "another leader epoch", "two leaders", "no leader any more"],
)
def test_a_leader_that_moved_says_nothing_of_the_time_between(
    tmp_path: Path, after: list[dict[str, Any]]
) -> None:
    assert states(tmp_path, offsets("before", 9), *after) == {}


def test_producers_that_are_not_told_are_not_none(tmp_path: Path) -> None:
    (told,) = states(tmp_path, offsets("before", 9), offsets("after", 9)).values()
    assert (told.before.producers, told.after.producers) == (None, None)


def listed(
    moment: str, *ids: tuple[str, int, str], broker: int = 1, code: int = 0
) -> dict[str, Any]:
    names = ("transactional_id", "producer_id", "transaction_state")
    states = [dict(zip(names, one, strict=True)) for one in ids]
    return {"moment": moment, "request": "ListTransactions", "broker": broker,
            "answer": {"error_code": code, "transaction_states": states}}  # fmt: skip


def test_transactional_ids_of_which_one_coordinator_said_the_same_twice_are_kept(
    tmp_path: Path,
) -> None:
    told = [
        listed("before", ("same", 1, "Ongoing"), ("ended", 2, "Ongoing"), ("gone", 3, "Empty")),
        listed(
            "after", ("same", 1, "Ongoing"), ("ended", 2, "CompleteCommit"), ("new", 4, "Empty")
        ),
        listed("before", ("two", 5, "Empty"), broker=1),
        listed("before", ("two", 5, "Ongoing"), broker=2),
        listed("after", ("two", 5, "Ongoing"), broker=2),
        listed("before", ("loading", 6, "Empty"), code=14),
        listed("after", ("loading", 6, "Empty"), code=14),
        {"moment": "after", "request": "ListTransactions", "broker": 3, "failure": "unknown"},
    ]
    (tmp_path / NAME).write_text(answers(*told))
    read = read_answers(tmp_path)
    assert read is not None
    assert read.transactions == (TransactionTold("same", 1, 1, "Ongoing"),)


@pytest.mark.parametrize("odd", [1 << 64, -2, 1.5, True, None, "7"])
def test_numbers_that_no_broker_tells_make_the_file_unusable(tmp_path: Path, odd: Any) -> None:
    for one in (offsets("before", odd), producers("before", (1, 0, odd, -1))):
        (tmp_path / NAME).write_text(answers(one))
        with pytest.raises(AnswersError, match="is damaged"):
            read_answers(tmp_path)


def fetched(folder: Path) -> None:
    entries = []
    for topic in ("orders", "keys", "__transaction_state"):
        (folder / f"{topic}-0").mkdir()
        (folder / f"{topic}-0" / f"{0:020}.log").touch()
        entries.append(
            {"path": f"{topic}-0", "copy_start_ms": 5, "high_watermark": 9, "log_start": 3,
             "end_offset": 9}
        )  # fmt: skip
    refused = [{"topic": "secret", "partition": 1, "reason": "ACLs"}]
    manifest = {"format": 1, "fetched": True, "directories": entries, "not_fetched": refused}
    (folder / "dump-manifest.json").write_text(json.dumps(manifest))
    (folder / "meta.properties").write_text("version=1\ncluster.id=c\n")
    (folder / NAME).write_text(answers(*TOLD))


def test_a_fetched_log_may_be_compacted_up_to_its_end(tmp_path: Path) -> None:
    fetched(tmp_path)
    dump = collect([tmp_path])
    assert {one.topic: cleaned_below(one) for one in dump.partitions} == {
        "orders": 0, "keys": 9, "__transaction_state": 9,
    }  # fmt: skip
    assert {(one.log_start, one.has_log_start_checkpoint) for one in dump.partitions} == {(3, True)}
    assert dump.unreadable == []


def test_what_could_not_be_fetched_is_not_looked_at(tmp_path: Path) -> None:
    fetched(tmp_path)
    (missing,) = collect([tmp_path]).missing
    assert (missing.topic, missing.partition, missing.listed_in) == (
        "secret", 1, "dump-manifest.json",
    )  # fmt: skip


@pytest.mark.parametrize("content", [b"", b"\0"])
def test_a_partition_that_was_refused_is_missing_unless_there_is_older_data(
    tmp_path: Path, content: bytes
) -> None:
    fetched(tmp_path)
    (tmp_path / "secret-1").mkdir()
    (tmp_path / "secret-1/00000000000000000000.log").write_bytes(content)
    dump = collect([tmp_path])
    assert ("secret" in {one.topic for one in dump.partitions}) == bool(content)
    assert [one.topic for one in dump.missing] == ([] if content else ["secret"])


def test_the_metadata_log_knows_better_than_answers() -> None:
    known = Clusters({"c": Cluster(partitions={"keys": 1}, expirations_ms=frozenset({5}))})
    told = BrokersTold("c", {"keys": 2, "orders": 3}, frozenset(), frozenset({4}), frozenset())
    both = known.with_told([told]).of("c")
    assert both.partitions == {"keys": 1, "orders": 3}
    assert both.expirations_ms == {4, 5}


def topic_ids(moment: str, *ids: str | None, broker: int = 1) -> dict[str, Any]:
    topics = [{"name": "orders", "topic_id": one} for one in ids]
    return {"moment": moment, "request": "Metadata", "broker": broker,
            "answer": {"topics": topics}} | MOMENTS[moment]  # fmt: skip


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([], set()),
        ([{"moment": "before", "request": "Metadata", "failure": "refused"}], set()),
        ([topic_ids("before", "a"), topic_ids("after", "a")], {"a"}),
        ([topic_ids("before", "a"), topic_ids("after", "b")], {"a", "b"}),
        ([topic_ids("before", "a", "b"), topic_ids("after", "b")], {"a", "b"}),
        ([topic_ids("before", "a")], {"a", None}),
        ([topic_ids("after", "a")], {None, "a"}),
        ([topic_ids("before", None), topic_ids("after", None)], {None}),
        ([topic_ids("before", "a", broker=2), topic_ids("after", "a", broker=2)], {None}),
    ],
)
def test_ids_of_the_topic_are_those_that_its_leader_told(
    tmp_path: Path, told: list[dict[str, Any]], expected: set[str | None]
) -> None:
    both = [offsets("before", 9), offsets("after", 9)]
    assert states(tmp_path, *told, *both)["orders", 0].topic_ids == expected


@pytest.mark.parametrize(
    ("ids", "fetched_id", "seen_ms", "kept"),
    [
        ([], None, None, True),
        ([], None, 150, False),
        # Before the first answers, which are about the new topic.
        ([], None, 50, True),
        (["new", "new"], "new", 150, True),
        (["old", "new"], "new", 150, False),
        (["old", "new"], "new", None, False),
        (["old", "old"], "new", None, False),
        ([None, None], None, None, True),
        ([None, None], "new", None, False),
        (["new", "new"], None, None, False),
    ],
)
def test_answers_about_another_topic_of_the_name_are_not_compared(
    tmp_path: Path, ids: list[str | None], fetched_id: str | None, seen_ms: int | None, kept: bool
) -> None:
    fetched(tmp_path)
    manifest = json.loads((tmp_path / "dump-manifest.json").read_text())
    manifest["directories"][0] |= {"copy_end_ms": 150, "topic_id": fetched_id}
    if seen_ms is not None:
        manifest["events"] = [{"path": "orders-0", "kind": "made_again", "at_ms": seen_ms}]
    (tmp_path / "dump-manifest.json").write_text(json.dumps(manifest))
    of_topic = [topic_ids(moment, one) for moment, one in zip(MOMENTS, ids, strict=False)]
    both = [offsets("before", 9), offsets("after", 9)]
    (tmp_path / NAME).write_text(answers(*of_topic, *both))
    dump = collect([tmp_path])
    assert dump.unreadable == []
    (told,) = (one.told for one in dump.partitions if one.topic == "orders")
    assert (told is not None) == kept
