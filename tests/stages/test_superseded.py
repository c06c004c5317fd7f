"""Segments that a cleaner replaced under a copy: which a swap explains, what is left of them."""

from pathlib import Path

import pytest

from jobs.collect.collect import collect
from jobs.decode.splits import plan_splits
from jobs.model.cluster import Cluster, Clusters
from jobs.model.dump import Dump
from jobs.model.superseded import SUPERSEDED, Reach, leave_out, superseded

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
        # An old segment that reaches on itself is more than one swap.
        ({"b0": 3, "b2": 5}, [4]),
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
    touched = leave_out(of, superseded(of, reaching(of, b0=3), Clusters()))
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
    assert leave_out(of, []) == set()


@pytest.mark.parametrize(
    ("merged", "known", "explained"),
    [
        (b"first" + b"old", Cluster(), True),
        (b"first" + b"other", Cluster(), False),
        (b"first" + b"ol", Cluster(), False),
        # With no byte of its own it is not the segment before the old one.
        (b"old", Cluster(), False),
        (b"first" + b"old", Cluster(never_compacted=frozenset("t")), False),
        (b"first" + b"other", Cluster(compacted=frozenset("t")), True),
    ],
)
def test_a_first_pass_that_took_nothing_left_all_bytes(
    tmp_path: Path, merged: bytes, known: Cluster, explained: bool
) -> None:
    dump(tmp_path, cleaner=None)
    (tmp_path / "meta.properties").write_text("node.id=1\ncluster.id=c\n")
    for base, content in ((0, merged), (2, b"old")):
        (tmp_path / "t-0" / f"{base:020}.log").write_bytes(content)
    of = collect([tmp_path])
    found = superseded(of, reaching(of, b0=3), Clusters({"c": known}))
    assert [one.base_offset for one in found] == ([2] if explained else [])
