"""Segments that a cleaner replaced under a copy: which a swap explains, what is left of them."""

from pathlib import Path

import pytest

from jobs.collect.collect import collect
from jobs.decode.splits import plan_splits
from jobs.model.cluster import Cluster, Clusters
from jobs.model.dump import Dump
from jobs.model.superseded import SUPERSEDED, Reach, leave_out, superseded
from tests.wire_writer import batches as writer

BASES = (0, 2, 4, 6)


def dump(folder: Path, cleaner: int | None = 6, clean_stop: bool = False, topic: str = "t") -> Dump:
    entry = "" if cleaner is None else f"{topic} 0 {cleaner}\n"
    partition = folder / f"{topic}-0"
    partition.mkdir()
    (folder / "meta.properties").write_text("node.id=1\n")
    (folder / "cleaner-offset-checkpoint").write_text(f"0\n{entry.count(chr(10))}\n{entry}")
    if clean_stop:
        (folder / ".kafka_cleanshutdown").touch()
    for base in BASES:
        for suffix in ("log", "index", "timeindex", "txnindex", "snapshot"):
            (partition / f"{base:020}.{suffix}").touch()
    return collect([folder])


def reaching(of: Dump, **last: int) -> dict[int, Reach]:
    segments = {one.base_offset: one for one in of.partitions[0].segments}
    return {
        segments[int(base[1:])].file_index: Reach(offset, cleaned=False)
        for base, offset in last.items()
    }


@pytest.mark.parametrize(
    ("last", "gone"),
    [
        ({"b0": 2}, [2]),
        ({"b0": 3}, [2]),
        ({"b0": 5}, [2, 4]),
        ({"b2": 4}, [4]),
        # Into the newest segment, or behind all.
        ({"b0": 6}, []),
        ({"b4": 6}, []),
        ({"b0": 1 << 62}, []),
        # Two passes while the folder was copied.
        ({"b0": 3, "b2": 5}, [2, 4]),
    ],
)
def test_which_segments_give_way(tmp_path: Path, last: dict[str, int], gone: list[int]) -> None:
    of = dump(tmp_path)
    assert [one.base_offset for one in superseded(of, reaching(of, **last), Clusters())] == gone


@pytest.mark.parametrize(
    ("cleaner", "clean_stop", "topic", "explained"),
    [
        (6, False, "t", True),
        (3, False, "t", True),
        # A pass that was not at its end has not written how far it came.
        (2, False, "t", True),
        (None, False, "t", False),
        (None, False, "__consumer_offsets", True),
        (6, True, "t", False),
        (None, True, "__transaction_state", False),
    ],
)
def test_where_a_swap_may_have_been(
    tmp_path: Path, cleaner: int | None, clean_stop: bool, topic: str, explained: bool
) -> None:
    of = dump(tmp_path, cleaner, clean_stop, topic)
    assert bool(superseded(of, reaching(of, b0=3), Clusters())) == explained


def test_traces_in_the_merged_segment_tell_of_a_first_pass(tmp_path: Path) -> None:
    of = dump(tmp_path, cleaner=None)
    (index,) = reaching(of, b0=3)
    assert not superseded(of, {index: Reach(3, cleaned=False)}, Clusters())
    assert [
        one.base_offset for one in superseded(of, {index: Reach(3, cleaned=True)}, Clusters())
    ] == [2]


def test_what_is_left(tmp_path: Path) -> None:
    of = dump(tmp_path)
    told = reaching(of, b0=3)
    touched = leave_out(of, superseded(of, told, Clusters()), told)
    (partition,) = of.partitions
    assert [(one.base_offset, one.next_base_offset) for one in partition.segments] == [
        (0, 4), (4, 6), (6, None),
    ]  # fmt: skip
    skipped = [one for one in of.files if one.status == "skipped"]
    assert {one.note for one in skipped} == {SUPERSEDED}
    assert len(skipped) == 5
    assert {one.file_index for one in skipped} < touched
    indexes = {(one.kind, one.base_offset): one.next_base_offset for one in of.files}
    assert indexes["txn_index", 0] == indexes["offset_index", 0] == 4
    assert not {one.file_index for one in skipped} & {
        split["file_index"] for split in plan_splits(of, 1 << 20)
    }
    assert leave_out(of, [], told) == set()


def batch(offset: int, key: bytes = b"a", last: int | None = None) -> bytes:
    last = offset if last is None else last
    records = [writer.record(0, key=key), writer.record(last - offset)][: 1 + (last > offset)]
    return writer.batch(offset, records, base_timestamp=0)


def first_pass(folder: Path, segments: dict[int, bytes]) -> Dump:
    dump(folder, cleaner=None)
    (folder / "meta.properties").write_text("node.id=1\ncluster.id=c\n")
    for base, content in segments.items():
        (folder / "t-0" / f"{base:020}.log").write_bytes(content)
    return collect([folder])


def explained(folder: Path, segments: dict[int, bytes], last: int, known: Cluster) -> list[int]:
    of = first_pass(folder, segments)
    found = superseded(of, reaching(of, b0=last), Clusters({"c": known}))
    return [one.base_offset or 0 for one in found]


HEAD, OLD = batch(0) + batch(1), batch(2) + batch(3)


@pytest.mark.parametrize(
    ("merged", "old", "gone"),
    [
        (HEAD + OLD, OLD, True),
        # What the pass took at the end, or all that was in front.
        (HEAD + batch(2), OLD, True),
        (batch(3), OLD, True),
        # A copy that was made while the batch was written.
        (HEAD + OLD, OLD[:-5], True),
        (HEAD + OLD, batch(2, b"x") + batch(3), False),
        (HEAD + OLD, batch(2) + batch(3, b"x"), False),
        # The old one lacks a batch, or has it in another size, or the merged one joined two.
        (HEAD + OLD, batch(3), False),
        (HEAD + OLD, batch(2), True),
        (HEAD + OLD, batch(2, b"long"), False),
        (HEAD + batch(2, last=3), OLD, False),
        (batch(0) + batch(1, last=3), OLD, False),
        (HEAD + OLD, b"\x01" * 100, False),
    ],
)
def test_what_a_first_pass_left_is_what_the_old_one_says(
    tmp_path: Path, merged: bytes, old: bytes, gone: bool
) -> None:
    found = explained(tmp_path, {0: merged, 2: old}, 3, Cluster())
    assert found == ([2] if gone else [])


@pytest.mark.parametrize(
    ("known", "gone"),
    [
        (Cluster(), True),
        (Cluster(never_compacted=frozenset("t")), False),
        (Cluster(compacted=frozenset("t")), True),
    ],
)
def test_what_was_never_compacted_was_not_merged(
    tmp_path: Path, known: Cluster, gone: bool
) -> None:
    assert bool(explained(tmp_path, {0: HEAD + OLD, 2: OLD}, 3, known)) == gone


def test_any_segment_of_a_group_may_have_been_copied_before(tmp_path: Path) -> None:
    whole = {0: HEAD + OLD + batch(4) + batch(5), 2: OLD, 4: batch(4) + batch(5, b"x")}
    assert explained(tmp_path, whole, 5, Cluster()) == [2]


@pytest.mark.parametrize(
    ("newest", "gone"),
    [
        (batch(6), [2, 4, 6]),
        (batch(6) + batch(7), [2, 4, 6]),
        # Nothing of it, or other bytes: what holds offsets behind all is no merged segment.
        (b"", []),
        (batch(6, b"x"), []),
    ],
)
def test_the_newest_segment_of_a_copy_may_have_been_rolled_since(
    tmp_path: Path, newest: bytes, gone: list[int]
) -> None:
    merged = HEAD + OLD + batch(4) + batch(6)
    known = Cluster(compacted=frozenset("t"))
    of = first_pass(tmp_path, {0: merged, 2: OLD, 4: b"", 6: newest})
    told = reaching(of, b0=6)
    found = superseded(of, told, Clusters({"c": known}))
    assert [one.base_offset for one in found] == gone
    leave_out(of, found, told)
    (partition,) = of.partitions
    assert partition.newest_base == (7 if gone else 6)
    assert partition.segments[0].next_base_offset == (7 if gone else 2)
