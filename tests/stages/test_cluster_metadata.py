"""What copies of `__cluster_metadata` tell of a cluster: from files to `Cluster`, without Spark."""

import base64
import json
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from split_rows import rows_of_split

from jobs.audit.coverage import not_in_the_dump
from jobs.collect.collect import collect
from jobs.decode.cluster_metadata import Cluster, Clusters, clusters
from jobs.decode.splits import plan_splits
from jobs.model.missing import not_there
from schemas import log_row
from tests.wire_writer import batches as writer
from tests.wire_writer.fields import encode_string
from udfs.arrow.batches import DecodeOptions

OPTIONS = DecodeOptions(1 << 20, 1 << 20, 86_400_000, True)
T0 = 1_700_000_000_000
IDS = {name: name.encode().ljust(16, b".") for name in ("one", "two", "other")}


def text_of(topic_id: bytes) -> str:
    return base64.urlsafe_b64encode(topic_id).decode().rstrip("=")


def value(api_key: int, *parts: bytes, version: int = 0) -> bytes:
    return bytes([1, api_key, version]) + b"".join(parts) + b"\x00"


def broker(number: int) -> bytes:
    return value(0, struct.pack(">i", number), version=4)


def topic(name: str, topic_id: str) -> bytes:
    return value(2, encode_string(name, True), IDS[topic_id])


def removed(topic_id: str) -> bytes:
    return value(9, IDS[topic_id])


def size(content: bytes) -> bytes:
    """An unsigned varint of one byte or two."""
    low, high = len(content) % 128, len(content) // 128
    return bytes([low | 128, high] if high else [low])


def brokers(*numbers: int) -> bytes:
    return bytes([len(numbers) + 1]) + struct.pack(f">{len(numbers)}i", *numbers)


def partition(topic_id: str, number: int, *replicas: int) -> bytes:
    # Behind the replicas: in sync, removing, adding, leader, its epoch, and that of the partition.
    rest = brokers(*replicas) + brokers() * 2 + struct.pack(">iii", 1, 0, 0)
    return value(3, struct.pack(">i", number), IDS[topic_id], brokers(*replicas), rest, version=2)


def changed(topic_id: str, number: int, **lists: tuple[int, ...]) -> bytes:
    """in_sync, replicas: the new ones; a leader of that epoch in front of the replicas."""
    tags = {0: brokers(*lists["in_sync"]), 1: struct.pack(">i", lists["in_sync"][0])}
    if "replicas" in lists:
        tags |= {2: brokers(*lists["replicas"]), 3: brokers()}
    section = b"".join(bytes([tag]) + size(one) + one for tag, one in tags.items())
    head = bytes([1, 5, 0]) + struct.pack(">i", number) + IDS[topic_id]
    return head + bytes([len(tags)]) + section


def option(kind: int, resource: str, name: str, to: str | None) -> bytes:
    told = b"\x00" if to is None else encode_string(to, True)
    strings = encode_string(resource, True) + encode_string(name, True)
    return value(4, bytes([kind]), strings, told)


def policy(name: str, to: str | None) -> bytes:
    return option(2, name, "cleanup.policy", to)


def expiration(broker_id: str, to: str) -> bytes:
    return option(4, broker_id, "producer.id.expiration.ms", to)


def blocks(*following: int) -> list[list[bytes]]:
    return [[value(15, struct.pack(">iqq", 1, 1, number))] for number in following]


Batches = list[list[bytes]]


def log(batches: Batches, offset: int = 0, seconds: int = 0, epoch: int = 0) -> bytes:
    """One batch a list of values, one second after the other. epoch: of the leader."""
    written = b""
    for number, values in enumerate(batches):
        records = [writer.record(i, 0, None, one) for i, one in enumerate(values)]
        moment = T0 + (seconds + number) * 1000
        told = {"base_timestamp": moment, "partition_leader_epoch": epoch}
        written += writer.batch(offset, records, **told)
        offset += len(values)
    return written


def snapshot(batches: Batches) -> bytes:
    """As a log; its end shows that nothing of it is cut off."""
    end = sum(len(values) for values in batches)
    return log(batches) + writer.snapshot_footer(end, T0 + len(batches) * 1000)


def broker_folder(
    root: Path, name: str, files: dict[str, bytes], cluster: str = "c", number: int = 1
) -> None:
    """A broker's log directory that holds a copy of the log and nothing else."""
    folder = root / name / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    properties = f"version=1\nnode.id={number}\ncluster.id={cluster}\n"
    (root / name / "meta.properties").write_text(properties, encoding="utf-8")
    for file, content in files.items():
        (folder / file).write_bytes(content)


def read(root: Path, split_bytes: int = 1 << 26) -> Clusters:
    dump = collect([root])
    facts, splits = [], []
    for split in plan_splits(dump, split_bytes):
        if split["kind"] not in ("metadata_log", "metadata_snapshot"):
            continue
        for row in rows(split):
            place = {name: row[name] for name in ("file_index", "split_start")}
            if row["kind"] == log_row.METADATA:
                facts.append(place | row["metadata"])
            else:
                summary = row["summary"]
                last_moment = (summary["clock"] or {}).get("last")
                splits.append(place | summary | {"last_moment": last_moment})
    return clusters(dump, facts, splits)


def rows(split: dict) -> Iterator[dict]:  # type: ignore[type-arg]
    with Path(split["root"], split["path"]).open("rb", buffering=0) as file:
        yield from rows_of_split(file, split, OPTIONS)


def test_a_log_from_its_beginning_tells_everything(tmp_path: Path) -> None:
    whole = log(
        [
            [broker(1)],
            [topic("a", "one"), policy("a", "delete"), partition("one", 0), partition("one", 1)],
            [topic("b", "two"), partition("two", 0)],
            *blocks(1000, 2000),
            [partition("one", 2), expiration("", "60000"), expiration("1", "9")],
        ]
    )
    broker_folder(tmp_path, "broker", {f"{0:020}.log": whole})
    expected = Cluster(
        up_to_ms=T0 + 5000,
        next_producer_id=2000,
        partitions={"a": 3, "b": 1},
        topic_ids={"a": text_of(IDS["one"]), "b": text_of(IDS["two"])},
        created_once=frozenset({"a", "b"}),
        never_compacted=frozenset({"a"}),
        expirations_ms=frozenset({60_000, 9}),
        kraft_only=True,
        registered=frozenset({1}),
        registered_up_to_ms=T0 + 5000,
    )
    for split_bytes in (1 << 26, 100):
        told = read(tmp_path, split_bytes)
        assert told.of("c") == expected
        assert (told.unreadable, told.regressions) == (0, [])
        assert told.of("elsewhere") == told.of(None) == Cluster()
        assert told.shortest_expiration_ms(50_000) == 9
        assert told.shortest_expiration_ms(5) == 5


@pytest.mark.parametrize("split_bytes", [1 << 26, 100])
def test_a_partition_is_assigned_to_its_newest_replicas(tmp_path: Path, split_bytes: int) -> None:
    many = tuple(range(100, 140))
    whole = log(
        [
            [topic("a", "one"), partition("one", 0, 1, 2), partition("one", 1, 2, 3)],
            [topic("b", "two"), partition("two", 0, 1)],
            [changed("one", 1, in_sync=(3,)), changed("one", 0, in_sync=(2,), replicas=(2, 4))],
            [removed("two"), topic("c", "other"), partition("other", 0, 5)],
            [changed("other", 0, in_sync=many, replicas=many)],
        ]
    )
    broker_folder(tmp_path, "broker", {f"{0:020}.log": whole})
    assert read(tmp_path, split_bytes).of("c").replicas == {
        "a": {0: frozenset({2, 4}), 1: frozenset({2, 3})},
        "c": {0: frozenset(many)},
    }


@pytest.mark.parametrize("topics", [["*"], ["b"], None], ids=["all", "one topic", "no manifest"])
def test_what_is_assigned_to_a_broker_and_not_there_is_told(
    tmp_path: Path, topics: list[str] | None
) -> None:
    whole = log(
        [
            [topic("a", "one"), partition("one", 0, 1, 2), partition("one", 1, 2, 1)],
            [topic("b", "two"), partition("two", 0, 2), partition("two", 1, 1)],
        ]
    )
    broker_folder(tmp_path, "broker", {f"{0:020}.log": whole})
    (tmp_path / "broker" / "b-1").mkdir()
    (tmp_path / "broker" / "b-1" / f"{0:020}.log").write_bytes(b"")
    (tmp_path / "broker" / "replication-offset-checkpoint").write_text("0\n1\na 1 5\n")
    if topics is not None:
        manifest = {"format": 1, "directories": [], "topics": topics}
        (tmp_path / "broker" / "dump-manifest.json").write_text(json.dumps(manifest))
    dump = collect([tmp_path])
    missing = not_there(dump, read(tmp_path))
    # Broker 2 has no log directory in the dump.
    assert [(one.broker, one.topic, one.partition) for one in missing] == [
        (1, "a", 1),
        (1, "a", 0),
    ]
    listed = "1 partition on broker 1 that broker/replication-offset-checkpoint lists is not in "
    assigned = "1 partition that __cluster_metadata assigns to broker 1 is not in the dump: a-0. "
    sentences = list(not_in_the_dump(dump, missing))
    if topics == ["b"]:
        (sentence,) = sentences
        assert sentence.startswith("2 partitions of topics that the dump was not asked for")
    else:
        assert [one[: len(listed)] for one in sentences[:1]] == [listed]
        assert [one[: len(assigned)] for one in sentences[1:]] == [assigned]


def test_a_split_finds_its_batches_above_two_billion_offsets(tmp_path: Path) -> None:
    first = 3 << 30
    content = log(blocks(1000, 2000, 3000), first)
    broker_folder(tmp_path, "broker", {f"{first:020}.log": content})
    facts = [
        row["metadata"]["number"]
        for split in plan_splits(collect([tmp_path]), 100)
        if split["kind"] == "metadata_log"
        for row in rows(split)
        if row["kind"] == log_row.METADATA and row["metadata"]["fact"] == "ProducerIds"
    ]
    assert facts == [1000, 2000, 3000]


def test_a_topic_is_deleted_where_the_log_says_so_or_gives_its_name_to_another(
    tmp_path: Path,
) -> None:
    batches = [[topic("a", "one"), topic("b", "two")], [topic("a", "other"), removed("two")]]
    broker_folder(tmp_path, "broker", {f"{0:020}.log": log(batches)})
    cluster = read(tmp_path).of("c")
    assert cluster.topic_ids == {"a": text_of(IDS["other"])}
    # A longer copy whose head went to a snapshot no longer knows of the others.
    files = {f"{9:020}-0000000003.checkpoint": snapshot([[topic("a", "other")]])}
    broker_folder(tmp_path, "second", files | {f"{9:020}.log": log(blocks(1000), 9)})
    assert read(tmp_path).of("c").topic_ids == {"a": text_of(IDS["other"])}
    assert read(tmp_path).of("c").deleted == {text_of(IDS["one"]), text_of(IDS["two"])}
    assert cluster.deleted == {text_of(IDS["one"]), text_of(IDS["two"])}


def test_a_snapshot_stands_for_the_head_that_is_trimmed(tmp_path: Path) -> None:
    state = [[topic("a", "one"), policy("a", "delete"), partition("one", 0), *blocks(4000)[0]]]
    behind = log([[topic("b", "two"), partition("two", 0)], *blocks(5000)], 100, seconds=50)
    broker_folder(
        tmp_path,
        "broker",
        {
            f"{90:020}-0000000003.checkpoint": snapshot([[topic("old", "other")], *blocks(3000)]),
            f"{100:020}-0000000003.checkpoint": snapshot(state),
            f"{100:020}.log": behind,
            f"{0:020}-0000000000.checkpoint.part": b"half written",
        },
    )
    told = read(tmp_path)
    assert told.of("c") == Cluster(
        up_to_ms=T0 + 51_000,
        next_producer_id=5000,
        partitions={"a": 1, "b": 1},
        topic_ids={"a": text_of(IDS["one"]), "b": text_of(IDS["two"])},
    )
    assert told.regressions == []


@pytest.mark.parametrize(
    ("states", "by_log", "by_snapshot"),
    [([], True, False), ([0], True, True), ([1], False, False), ([1, 3], False, False)],
)
def test_a_migration_is_in_the_log_and_in_snapshots_of_some_releases(
    tmp_path: Path, states: list[int], by_log: bool, by_snapshot: bool
) -> None:
    batches = [*[[value(21, bytes([state]))] for state in states], *blocks(1000)]
    files = {
        f"{9:020}-0000000003.checkpoint": snapshot(batches),
        f"{9:020}.log": log(blocks(2000), 9),
    }
    for name, of, expected in (
        ("whole", {f"{0:020}.log": log(batches)}, by_log),
        ("trimmed", files, by_snapshot),
    ):
        broker_folder(tmp_path / name, "broker", of)
        assert read(tmp_path / name).of("c").kraft_only == expected


def test_a_snapshot_adds_nothing_to_a_whole_log(tmp_path: Path) -> None:
    batches = [[topic("a", "one"), policy("a", "delete"), partition("one", 0)], *blocks(1000)]
    broker_folder(
        tmp_path,
        "broker",
        {
            f"{4:020}-0000000001.checkpoint": snapshot([batch[:1] for batch in batches]),
            f"{0:020}.log": log(batches),
        },
    )
    assert read(tmp_path).of("c").never_compacted == {"a"}


@pytest.mark.parametrize(
    ("batches", "created_once", "never_compacted"),
    [
        ([[topic("a", "one")]], {"a"}, set()),
        ([[topic("a", "one"), policy("a", "compact")]], {"a"}, set()),
        ([[topic("a", "one"), policy("a", "compact,delete")]], {"a"}, set()),
        ([[topic("a", "one"), policy("a", "delete")], [policy("a", None)]], {"a"}, set()),
        ([[topic("a", "one")], [policy("a", "delete")]], {"a"}, set()),
        ([[topic("a", "one"), policy("a", "delete")], [topic("a", "two")]], set(), set()),
        (
            [[topic("a", i), policy("a", "delete")] for i in ("one", "two")],
            set(),
            {"a"},
        ),
        ([[topic("a", "one"), policy("a", "delete")], [value(21, b"\x01")]], set(), set()),
        ([[topic("a", "one"), policy("a", "delete")], [value(4, version=1)]], set(), set()),
    ],
    ids=[
        "the policy of the broker is not known",
        "compacted",
        "compacted as well",
        "the policy was taken back",
        "the policy came later",
        "made again without it",
        "made again with it",
        "moved from ZooKeeper",
        "configured in a newer version of the record",
    ],
)
def test_what_is_told_of_a_topic(
    tmp_path: Path, batches: Batches, created_once: set[str], never_compacted: set[str]
) -> None:
    broker_folder(tmp_path, "broker", {f"{0:020}.log": log(batches)})
    told = read(tmp_path).of("c")
    assert (told.created_once, told.never_compacted) == (created_once, never_compacted)


@pytest.mark.parametrize(
    ("later", "never_deleted"),
    [([], {"a"}), ([policy("a", "compact,delete")], set()), ([policy("a", None)], set())],
)
def test_a_topic_that_always_was_compacted_deletes_nothing(
    tmp_path: Path, later: list[bytes], never_deleted: set[str]
) -> None:
    batches = [[topic("a", "one"), policy("a", "compact")], *([one] for one in later)]
    broker_folder(tmp_path, "broker", {f"{0:020}.log": log([*batches, *blocks(1000)])})
    assert read(tmp_path).of("c").never_deleted == never_deleted


def test_a_topic_that_was_compacted_at_some_time(tmp_path: Path) -> None:
    batches = [
        [topic("a", "one"), policy("a", "compact"), topic("b", "two"), policy("b", "delete")],
        [policy("a", "delete"), topic("c", "other"), policy("c", "compact,delete")],
    ]
    broker_folder(tmp_path, "broker", {f"{0:020}.log": log(batches)})
    assert read(tmp_path).of("c").compacted == {"a", "c"}


def test_damage_takes_back_what_rests_on_a_whole_log(tmp_path: Path) -> None:
    content = bytearray(log([[topic("a", "one"), partition("one", 0)], *blocks(1000, 2000)]))
    content[-30 - len(log(blocks(2000)))] ^= 1
    broker_folder(tmp_path, "broker", {f"{0:020}.log": bytes(content)})
    told = read(tmp_path)
    assert told.unreadable == 1
    assert told.of("c") == Cluster(up_to_ms=T0 + 2000)


def test_a_segment_that_is_missing_does_too(tmp_path: Path) -> None:
    files = {f"{0:020}.log": log(blocks(1000)), f"{2:020}.log": log(blocks(3000), 2)}
    broker_folder(tmp_path, "broker", files)
    assert read(tmp_path).of("c").next_producer_id is None


@pytest.mark.parametrize("cut", [0, 1, 30, None])
def test_a_snapshot_that_is_cut_does_too(tmp_path: Path, cut: int | None) -> None:
    """At the end of a batch, or within one: a broker renames a snapshot when it has its footer."""
    state = [[topic("a", "one"), partition("one", 0)], [partition("one", 1)], *blocks(1000)]
    whole = snapshot(state)
    left = whole if cut is None else log(state[:2])[: -cut or None]
    broker_folder(tmp_path, "broker", {f"{9:020}-0000000003.checkpoint": left})
    told = read(tmp_path)
    assert told.of("c").partitions == ({"a": 2} if cut is None else {})
    assert told.unreadable == (0 if cut is None else 1 if cut == 0 else 2)
    assert any(told.furthest.values()) == (cut is None)


@pytest.mark.parametrize(("snapshot_at", "whole"), [(5, True), (4, False), (None, False)])
def test_so_do_offsets_between_a_snapshot_and_the_log(
    tmp_path: Path, snapshot_at: int | None, whole: bool
) -> None:
    files = {f"{5:020}.log": log(blocks(3000), 5)}
    if snapshot_at is not None:
        files[f"{snapshot_at:020}-0000000001.checkpoint"] = snapshot(blocks(1000))
    broker_folder(tmp_path, "broker", files)
    told = read(tmp_path)
    assert told.of("c").next_producer_id == (3000 if whole else None)
    assert told.unreadable == int(not whole)


def test_offsets_that_are_missing_inside_a_segment_do_too(tmp_path: Path) -> None:
    """A log of KRaft is never compacted: what has gone may be a newer block, or a move."""
    for name, offset in (("whole", 1), ("gap", 2)):
        content = log(blocks(1000)) + log(blocks(3000), offset)
        broker_folder(tmp_path / name, "broker", {f"{0:020}.log": content})
        told = read(tmp_path / name)
        whole = name == "whole"
        assert told.of("c").next_producer_id == (3000 if whole else None)
        assert told.of("c").kraft_only == whole and told.unreadable == int(not whole)


def test_a_copy_that_is_cut_ends_earlier(tmp_path: Path) -> None:
    broker_folder(tmp_path, "broker", {f"{0:020}.log": log(blocks(1000, 2000))[:-5]})
    told = read(tmp_path)
    assert (told.of("c").next_producer_id, told.of("c").up_to_ms) == (1000, T0)
    assert told.unreadable == 0


def test_a_clock_that_was_ahead_and_set_back_tells_no_later_moment(tmp_path: Path) -> None:
    """The log has come to its last moment only, whichever copy is asked."""
    whole = [broker(1)], *blocks(1000)
    ahead = log([*whole, *blocks(2000)], seconds=3600)
    behind = log(blocks(3000, 4000), 3, seconds=5)
    broker_folder(tmp_path, "1", {f"{0:020}.log": ahead + behind, f"{5:020}.log": b""})
    broker_folder(tmp_path, "2", {f"{0:020}.log": ahead}, number=2)
    for split_bytes in (1 << 26, 100):
        told = read(tmp_path, split_bytes).of("c")
        assert (told.up_to_ms, told.registered_up_to_ms) == (T0 + 6000, T0 + 6000)


@pytest.mark.parametrize("deposed", [True, False], ids=["of a deposed leader", "of the leader"])
def test_what_a_deposed_controller_wrote_was_never_committed(tmp_path: Path, deposed: bool) -> None:
    head = log([[topic("a", "one"), policy("a", "delete"), partition("one", 0)]], epoch=3)
    removal = head + log([[removed("one")]], 3, epoch=3)
    behind = log(blocks(1000, 2000), 3 if deposed else 4, epoch=4)
    broker_folder(tmp_path, "1", {f"{0:020}.log": removal}, number=1)
    longer = (head if deposed else removal) + behind
    broker_folder(tmp_path, "2", {f"{0:020}.log": longer}, number=2)
    for split_bytes in (1 << 26, 100):
        told = read(tmp_path, split_bytes).of("c")
        gone = frozenset() if deposed else frozenset({text_of(IDS["one"])})
        assert told.deleted == gone
        assert told.topic_ids == ({"a": text_of(IDS["one"])} if deposed else {})
        assert told.next_producer_id == 2000
        assert told.created_once == frozenset({"a"})


@pytest.mark.parametrize("elected_again", [True, False])
def test_a_higher_epoch_that_died_with_its_leader_was_never_committed(
    tmp_path: Path, elected_again: bool
) -> None:
    """The leader before it is elected again, and keeps what it has at the same offset."""
    head = log([[topic("a", "one"), policy("a", "delete"), partition("one", 0)]], epoch=3)
    removal = head + log([[removed("one")]], 3, epoch=3)
    dead = head + log(blocks(1000, 2000), 3, epoch=4)
    again = removal + log(blocks(3000, 4000), 4, epoch=5)
    broker_folder(tmp_path, "1", {f"{0:020}.log": again if elected_again else removal}, number=1)
    broker_folder(tmp_path, "2", {f"{0:020}.log": dead}, number=2)
    for split_bytes in (1 << 26, 100):
        told = read(tmp_path, split_bytes).of("c")
        assert told.next_producer_id == (4000 if elected_again else 2000)
        assert told.deleted == (frozenset({text_of(IDS["one"])} if elected_again else ()))


def test_the_copy_that_reaches_furthest_is_read_again_however_many_bytes_it_has(
    tmp_path: Path,
) -> None:
    whole = [[topic("a", "one")], *blocks(*range(1000, 20_000, 1000))]
    state, end = snapshot([[topic("a", "one")], *blocks(20_000)]), len(whole)
    broker_folder(tmp_path, "short", {f"{0:020}.log": log(whole)})
    further = {
        f"{end:020}-{0:010}.checkpoint": state, f"{end:020}.log": log(blocks(21_000), end)
    }  # fmt: skip
    broker_folder(tmp_path, "further", further, number=2)
    assert folders(tmp_path) == {"further"}
    broker_folder(tmp_path, "whole", {f"{0:020}.log": log([*whole, *blocks(21_000)])}, number=3)
    assert folders(tmp_path) == {"whole"}


def folders(root: Path) -> set[str]:
    """The log directories whose copy of the only cluster is chosen."""
    (files,) = read(root).furthest.values()
    paths = {file.file_index: file.path for file in collect([root]).files}
    return {Path(paths[number]).parts[-3] for number in files}


def test_the_longest_copy_counts_and_each_cluster_for_itself(tmp_path: Path) -> None:
    broker_folder(tmp_path, "1", {f"{0:020}.log": log(blocks(1000, 2000, 3000))})
    broker_folder(tmp_path, "2", {f"{0:020}.log": log(blocks(1000, 2000))})
    broker_folder(tmp_path, "3", {f"{0:020}.log": log(blocks(9000))}, cluster="d")
    told = read(tmp_path)
    assert [told.of(name).next_producer_id for name in ("c", "d")] == [3000, 9000]


@pytest.mark.parametrize("split_bytes", [1 << 26, 100])
def test_each_block_that_is_not_behind_the_one_before_is_told(
    tmp_path: Path, split_bytes: int
) -> None:
    files = {
        f"{0:020}.log": log(blocks(1000, 3000, 3000, 4000)),
        f"{4:020}.log": log(blocks(2000, 5000), 4),
    }
    broker_folder(tmp_path, "broker", files)
    odd = read(tmp_path, split_bytes).regressions
    told = [(before.offset, before.next_producer_id, one.offset) for before, one in odd]
    assert told == [(1, 3000, 2), (3, 4000, 4)]
    assert read(tmp_path, split_bytes).of("c").next_producer_id == 5000


def test_a_snapshot_repeats_the_newest_block(tmp_path: Path) -> None:
    files = {
        f"{3:020}-0000000001.checkpoint": snapshot(blocks(2000)),
        f"{1:020}.log": log(blocks(1000, 2000, 3000), 1),
    }
    broker_folder(tmp_path, "broker", files)
    told = read(tmp_path)
    assert (told.of("c").next_producer_id, told.regressions) == (3000, [])


def registered(
    root: Path, *copies: Batches, damaged: bool = False, stopped: tuple[int, ...] = ()
) -> tuple[set[int], int | None]:
    """Who is registered by copies of brokers 1, 2, ..., and up to which second that is known.

    Each has a partition, too; `stopped`: those that were stopped cleanly; `damaged`: the second
    batch of each copy.
    """
    for number, batches in enumerate(copies, 1):
        content = bytearray(log(batches))
        if damaged:
            content[len(log(batches[:1])) + 30] ^= 1
        name = f"broker-{number}"
        broker_folder(root, name, {f"{0:020}.log": bytes(content)}, number=number)
        (root / name / "orders-0").mkdir()
        (root / name / "orders-0" / f"{0:020}.log").write_bytes(b"")
        if number in stopped:
            (root / name / ".kafka_cleanshutdown").write_bytes(b"")
    told = read(root).of("c")
    until = told.registered_up_to_ms
    return set(told.registered), None if until is None else (until - T0) // 1000


ONE, TWO, FOUR = [broker(1)], [broker(2)], [broker(4)]
OTHERS: list[list[bytes]] = blocks(1000, 2000)


@pytest.mark.parametrize(
    ("copies", "expected"),
    [
        ([[ONE, *OTHERS]], ({1}, 2)),
        ([[ONE, ONE, TWO, ONE]], ({1, 2}, 3)),
        ([[ONE, FOUR], [ONE, FOUR, TWO, *OTHERS]], ({1, 2, 4}, 4)),
        ([[ONE, FOUR, TWO, *OTHERS], [ONE, FOUR]], ({1, 2, 4}, 4)),
        ([[[value(21, b"\x01")], ONE, *OTHERS]], (set(), None)),
        ([[[value(21, b"\x00")], ONE, *OTHERS]], ({1}, 3)),
        ([[ONE, *OTHERS], [[value(21, b"\x01")], ONE, *OTHERS]], (set(), None)),
    ],
    ids=[
        "one broker",
        "one that starts again, and another one",
        "the longer copy has one more",
        "whichever was listed first",
        "moved from ZooKeeper, whose brokers did not register",
        "never moved",
        "moved, by one copy",
    ],
)
def test_the_brokers_that_a_cluster_ever_had(
    tmp_path: Path, copies: list[Batches], expected: tuple[set[int], int | None]
) -> None:
    assert registered(tmp_path, *copies) == expected


def test_what_is_lost_of_the_log_may_be_another_broker(tmp_path: Path) -> None:
    assert registered(tmp_path / "damaged", [ONE, TWO, *OTHERS], damaged=True) == (set(), None)
    files = {f"{0:020}.log": log([ONE]), f"{2:020}.log": log(OTHERS, 2)}
    broker_folder(tmp_path / "gap", "broker", files)
    assert read(tmp_path / "gap").of("c").registered == set()


def test_a_head_that_is_trimmed_may_have_had_another_broker(tmp_path: Path) -> None:
    """One that was taken out again is in no snapshot; a copy with the head has it."""
    trimmed = {f"{5:020}-0000000001.checkpoint": snapshot([ONE]), f"{5:020}.log": log(OTHERS, 5, 5)}
    broker_folder(tmp_path, "1", trimmed)
    assert read(tmp_path).of("c").registered == set()
    broker_folder(tmp_path, "2", {f"{0:020}.log": log([ONE, TWO])}, number=2)
    told = read(tmp_path).of("c")
    assert (told.registered, told.registered_up_to_ms) == ({1, 2}, T0 + 1000)


def test_brokers_that_all_have_stopped_need_no_moment(tmp_path: Path) -> None:
    both = [[ONE, TWO], [ONE, TWO]]
    for number, (stopped, expected) in enumerate([((1, 2), None), ((1,), 1), ((2,), 1), ((), 1)]):
        told = registered(tmp_path / str(number), *both, stopped=stopped)
        assert told == ({1, 2}, expected)
    # Of broker 2 there is no copy of the log, so it may have stopped later.
    assert registered(tmp_path / "one", [ONE, TWO], stopped=(1, 2)) == ({1, 2}, 1)
