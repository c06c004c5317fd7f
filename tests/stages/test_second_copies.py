"""A partition in two log directories of one broker: which of them the broker used at last."""

from pathlib import Path
from typing import Any

from jobs.collect.collect import collect
from jobs.collect.second_copies import SECOND_COPY, UNDECIDED
from jobs.model.dump import Dump
from tests.wire_writer import batches as writer

SEGMENT = "00000000000000000000.log"
IDS = ("AAAAAAAAAAAAAAAAAAAAAA", "BBBBBBBBBBBBBBBBBBBBBB")


def put(path: Path, content: str | bytes = b"") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def partition(folder: Path, batches: int, base: int = 0, **said: Any) -> None:
    """Batches of one record. said: topic_id, leader_epoch."""
    log = b"".join(
        writer.batch(base + number, [writer.record(0)], base_timestamp=0)
        for number in range(batches)
    )
    put(folder / f"{base:020d}.log", log)
    if "topic_id" in said:
        put(folder / "partition.metadata", f"version: 0\ntopic_id: {said['topic_id']}\n")
    if "leader_epoch" in said:
        put(folder / "leader-epoch-checkpoint", f"0\n1\n{said['leader_epoch']} 0\n")


def directory(folder: Path, epoch: int | None = None, **marks: int) -> Path:
    """A log directory of broker 1. epoch: of a clean stop; marks: high watermarks of t_0, t_1…"""
    put(folder / "meta.properties", "version=1\nnode.id=1\ncluster.id=c\n")
    if epoch is not None:
        put(folder / ".kafka_cleanshutdown", f'{{"version":0,"brokerEpoch":{epoch}}}')
    if marks:
        lines = [f"{name.replace('_', ' ')} {mark}" for name, mark in marks.items()]
        put(folder / "replication-offset-checkpoint", "\n".join(["0", str(len(lines)), *lines, ""]))
    return folder


def audited(dump: Dump) -> list[str]:
    return [f"{one.segments[0].path.split('/')[0]} {one.partition}" for one in dump.partitions]


def notes(dump: Dump) -> dict[str, str | None]:
    return {one.path: one.note for one in dump.files if one.path.endswith(".log") and one.note}


def test_the_directory_of_the_later_stop_counts_though_its_topic_was_made_again(
    tmp_path: Path,
) -> None:
    old, new = directory(tmp_path / "old", 5), directory(tmp_path / "new", 9)
    partition(old / "t-0", 3, base=900, topic_id=IDS[0])
    partition(old / "t-1", 3)
    partition(new / "t-0", 1, topic_id=IDS[1])
    dump = collect([tmp_path])
    assert audited(dump) == ["new 0", "old 1"]
    assert notes(dump) == {f"old/t-0/{900:020d}.log": SECOND_COPY}
    # What only the old one has is of another moment than the rest.
    assert [one.clean_shutdown for one in dump.partitions] == [True, False]


def test_directories_of_one_stop_are_of_one_moment(tmp_path: Path) -> None:
    for number in range(2):
        partition(directory(tmp_path / f"disk-{number}", 5) / f"t-{number}", 1)
    dump = collect([tmp_path])
    assert [one.clean_shutdown for one in dump.partitions] == [True, True]


def test_a_directory_that_stopped_earlier_is_of_another_moment(tmp_path: Path) -> None:
    for number in range(2):
        partition(directory(tmp_path / f"disk-{number}", 5 + number) / f"t-{number}", 1)
    dump = collect([tmp_path])
    assert [one.clean_shutdown for one in dump.partitions] == [False, True]


def test_of_one_topic_the_later_leader_epoch_counts(tmp_path: Path) -> None:
    """A disk was taken out, and its only replica made anew, empty, with the next leader."""
    partition(directory(tmp_path / "a", t_0=9) / "t-0", 9, topic_id=IDS[0], leader_epoch=0)
    partition(directory(tmp_path / "b", t_0=1) / "t-0", 1, topic_id=IDS[0], leader_epoch=2)
    assert audited(collect([tmp_path])) == ["b 0"]


def test_the_copy_that_was_fetched_anew_has_other_segments(tmp_path: Path) -> None:
    partition(directory(tmp_path / "a", t_0=12) / "t-0", 2, base=10, leader_epoch=1)
    partition(directory(tmp_path / "b", t_0=40) / "t-0", 40, leader_epoch=1)
    assert audited(collect([tmp_path])) == ["b 0"]


def test_of_a_topic_that_was_made_again_the_other_partitions_tell_nothing(tmp_path: Path) -> None:
    """The other one may be on its way: fetched anew, and behind the old copy as yet."""
    old, new = directory(tmp_path / "a", t_0=9, t_1=5), directory(tmp_path / "b", t_0=1, t_1=8)
    partition(old / "t-0", 9, topic_id=IDS[0])
    partition(new / "t-0", 1, topic_id=IDS[1])
    for folder, batches in ((old, 5), (new, 8)):
        partition(folder / "t-1", batches, leader_epoch=0)
    dump = collect([tmp_path])
    assert audited(dump) == ["b 1"]
    assert dump.unread == {("t", 0)}


def test_a_leader_epoch_without_a_batch_tells_nothing(tmp_path: Path) -> None:
    for name, epochs in (("a", "0 0\n2 20"), ("b", "0 0")):
        folder = directory(tmp_path / name, t_0=20, t_1=90 if name == "a" else 180)
        for number in range(2):
            partition(folder / f"t-{number}", 20)
        lines = epochs.split("\n")
        put(folder / "t-0/leader-epoch-checkpoint", "\n".join(["0", str(len(lines)), *lines, ""]))
    assert audited(collect([tmp_path])) == ["a 0", "b 1"]


def test_where_nothing_tells_none_of_the_two_counts(tmp_path: Path) -> None:
    for name, topic_id in zip("ab", IDS, strict=True):
        partition(directory(tmp_path / name, t_0=3) / "t-0", 3, topic_id=topic_id)
        partition(tmp_path / name / f"only-{name}-0", 1)
    dump = collect([tmp_path])
    assert [one.topic for one in dump.partitions] == ["only-a", "only-b"]
    assert notes(dump) == dict.fromkeys([f"a/t-0/{SEGMENT}", f"b/t-0/{SEGMENT}"], UNDECIDED)
    assert dump.unread == {("t", 0)}


def test_an_idle_topic_tells_nothing_of_one_that_was_made_again(tmp_path: Path) -> None:
    for name, topic_id in zip("ab", IDS, strict=True):
        folder = directory(tmp_path / name, t_0=3, t_1=2)
        partition(folder / "t-0", 3, topic_id=topic_id)
        partition(folder / "t-1", 2, topic_id=IDS[0], leader_epoch=0)
    dump = collect([tmp_path])
    assert audited(dump) == ["a 1"]
    assert dump.unread == {("t", 0)}


def test_of_each_topic_the_copy_that_has_come_further_counts(tmp_path: Path) -> None:
    for name, marks in (("a", {"t_0": 2, "t_1": 1}), ("b", {"t_0": 1, "t_1": 2})):
        folder = directory(tmp_path / name, **marks)
        for number in range(2):
            partition(folder / f"t-{number}", marks[f"t_{number}"])
    assert audited(collect([tmp_path])) == ["a 0", "b 1"]


def test_of_two_equal_copies_the_first_counts(tmp_path: Path) -> None:
    for name in "ab":
        partition(directory(tmp_path / name, 5, t_0=3) / "t-0", 3, topic_id=IDS[0], leader_epoch=0)
    dump = collect([tmp_path])
    assert audited(dump) == ["a 0"]
    assert [one.clean_shutdown for one in dump.partitions] == [True]


def test_of_three_copies_whose_order_is_a_circle_none_counts(tmp_path: Path) -> None:
    for name, mark, epoch in (("a", 10, 5), ("b", 20, None), ("c", 30, 3)):
        said = {} if epoch is None else {"leader_epoch": epoch}
        partition(directory(tmp_path / name, t_0=mark) / "t-0", mark, topic_id=IDS[0], **said)
    dump = collect([tmp_path])
    assert audited(dump) == []
    assert set(notes(dump).values()) == {UNDECIDED}
    assert dump.unread == {("t", 0)}


def test_of_three_copies_the_last_one_counts(tmp_path: Path) -> None:
    for name, topic_id, epoch in (("a", 0, 5), ("b", 1, 5), ("c", 0, 9)):
        folder = directory(tmp_path / name, epoch, t_0=3)
        partition(folder / "t-0", 3, topic_id=IDS[topic_id])
    dump = collect([tmp_path])
    assert audited(dump) == ["c 0"]
    assert set(notes(dump).values()) == {SECOND_COPY}
    assert not dump.unread


def test_a_directory_in_use_counts_though_its_checkpoint_is_from_before_its_first_record(
    tmp_path: Path,
) -> None:
    """Checkpoints of a running broker are copied before the log."""
    old, new = directory(tmp_path / "old", 5, t_0=9), directory(tmp_path / "used", t_0=0)
    partition(old / "t-0", 9, topic_id=IDS[0], leader_epoch=0)
    partition(new / "t-0", 3, topic_id=IDS[0], leader_epoch=2)
    dump = collect([tmp_path])
    assert audited(dump) == ["used 0"]


def test_a_directory_in_use_that_is_empty_may_be_the_one(tmp_path: Path) -> None:
    old, new = directory(tmp_path / "old", 5, t_0=9), directory(tmp_path / "used", t_0=0)
    partition(old / "t-0", 9, topic_id=IDS[0], leader_epoch=0)
    partition(new / "t-0", 0, topic_id=IDS[0], leader_epoch=2)
    dump = collect([tmp_path])
    assert audited(dump) == []
    assert dump.unread == {("t", 0)}
