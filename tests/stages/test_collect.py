"""What lies in a broker's directories: which files are the log, and what is left out and told."""

import os
from collections import Counter
from pathlib import Path

import pytest

from jobs.audit.coverage import not_loaded
from jobs.collect.classification import NO_REGULAR_FILE, NOT_LOOKED_INTO, OUTSIDE, REPLACED
from jobs.collect.collect import collect
from jobs.collect.second_copies import SECOND_COPY
from jobs.model.dump import Dump
from tests.wire_writer import batches as writer


def log(first: int, batches: int) -> bytes:
    """Batches of two records each."""
    return b"".join(
        writer.batch(first + 2 * i, [writer.record(0), writer.record(1)], base_timestamp=0)
        for i in range(batches)
    )


def put(path: Path, content: bytes = b"") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def broker(folder: Path, number: int = 1) -> Path:
    put(folder / "meta.properties", f"version=1\nnode.id={number}\ncluster.id=c\n".encode())
    return folder


def segments(dump: Dump, partition: int = 0) -> list[tuple[str, int | None, int | None]]:
    return [
        (Path(one.path).name, one.base_offset, one.next_base_offset)
        for one in dump.partitions[partition].segments
    ]


def left_out(dump: Dump) -> dict[str, str | None]:
    return {one.path: one.note for one in dump.files if one.status == "skipped"}


SWAPPED = (
    ("00000000000000000000.log", log(0, 5)),
    ("00000000000000000000.index", b""),
    ("00000000000000000010.log", log(10, 5)),
    ("00000000000000000010.txnindex", b""),
    ("00000000000000000020.log", log(20, 1)),
    # What is left of offsets 0 to 19; its end is torn.
    ("00000000000000000000.log.swap", log(0, 2) + log(18, 1) + log(20, 1)[:70]),
    ("00000000000000000000.index.swap", b""),
)


@pytest.mark.parametrize(
    ("further", "adopted"),
    [
        ((), True),
        (("00000000000000000040.log.cleaned",), True),
        (("00000000000000000000.log.cleaned",), False),
    ],
    ids=["all renamed", "a later one is not written", "one at or below is not written"],
)
def test_an_interrupted_swap_ends_as_a_broker_would_end_it(
    tmp_path: Path, further: tuple[str, ...], adopted: bool
) -> None:
    for name, content in (*SWAPPED, *((name, b"") for name in further)):
        put(broker(tmp_path) / "t-0" / name, content)
    dump = collect([tmp_path])
    if not adopted:
        assert [base for _, base, _ in segments(dump)] == [0, 10, 20]
        assert "t-0/00000000000000000000.log.swap" in left_out(dump)
        return
    assert segments(dump) == [
        ("00000000000000000000.log.swap", 0, 20),
        ("00000000000000000020.log", 20, None),
    ]
    replaced = {path for path, note in left_out(dump).items() if note == REPLACED}
    assert replaced == {f"t-0/{name}" for name, _ in SWAPPED[:4]}
    kinds = Counter(one.kind for one in dump.files if one.status == "audited")
    assert (kinds["segment"], kinds["offset_index"]) == (2, 1)


def test_a_broker_with_several_log_directories_is_one_broker(tmp_path: Path) -> None:
    first, second = (broker(tmp_path / "b-1" / f"kafka-logs-{n}") for n in (1, 2))
    put(first / "t-0/00000000000000000000.log", log(0, 1))
    put(first / "t-1/00000000000000000000.log", log(0, 1))
    put(second / "t-2/00000000000000000000.log", log(0, 1))
    # Left behind when a disk failed, and a copy that is being made.
    put(second / "t-0/00000000000000000000.log", log(0, 3))
    put(second / f"t-1.{'0' * 32}-future/00000000000000000000.log", log(0, 1))
    dump = collect([tmp_path])
    found = [(one.topic, one.partition, one.broker, one.replica_set) for one in dump.partitions]
    assert found == [("t", 1, 1, None), ("t", 0, 1, None), ("t", 2, 1, None)]
    assert [one.partition_index for one in dump.partitions] == [0, 1, 2]
    for file in dump.files:
        if file.partition_index is not None:
            owner = dump.partitions[file.partition_index]
            assert (file.topic, file.partition) == (owner.topic, owner.partition)
    notes = left_out(dump)
    assert notes["b-1/kafka-logs-1/t-0/00000000000000000000.log"] == SECOND_COPY
    assert "folder marked -future" in notes.values()


@pytest.mark.parametrize(
    ("recovery_points", "stopped"),
    [
        (b"0\n1\nt 0 1\n", True),
        (b"0\n0\n", False),
        (b"0\n1\nt 1 1\n", False),
        # Nothing tells it where the dump lacks the file.
        (None, True),
    ],
    ids=["stopped", "start failed", "start failed later", "recovery points not copied"],
)
def test_a_start_that_failed_lists_what_was_loaded_by_then(
    tmp_path: Path, recovery_points: bytes | None, stopped: bool
) -> None:
    """As written by brokers of 3.3.2 and 4.1.0 that found no controller, and of 2.8.2 later."""
    for number in (1, 2):
        folder = broker(tmp_path / f"b-{number}", number)
        put(folder / ".kafka_cleanshutdown")
        put(folder / "log-start-offset-checkpoint", b"0\n0\n")
        if recovery_points is not None:
            put(folder / "recovery-point-offset-checkpoint", recovery_points)
    # The other directory has no partition, so there is nothing to list.
    put(tmp_path / "b-1/t-0/00000000000000000000.log", log(0, 1))
    dump = collect([tmp_path])
    # Who left out files of the partition may have left out lines, too.
    assert dump.partitions[0].clean_shutdown
    put(tmp_path / "b-1/t-0/leader-epoch-checkpoint", b"0\n0\n")
    dump = collect([tmp_path])
    (partition,) = dump.partitions
    assert partition.clean_shutdown is stopped
    assert partition.has_log_start_checkpoint is stopped
    assert dump.not_loaded == ({} if stopped else {"b-1": ["t-0"]})
    told = [] if stopped else ["b-1: recovery-point-offset-checkpoint lacks 1 partition (t-0)"]
    assert [one.split(": the broker")[0] for one in not_loaded(dump)] == told


def test_nothing_is_left_out_in_silence(tmp_path: Path) -> None:
    one = broker(tmp_path / "b-1")
    put(one / "t-0/00000000000000000000.log", log(0, 1))
    put(one / "t-0/inner/file")
    put(one / "t-0/00000000000000000000.log.deleted")
    put(one / "remote-log-index-cache/deep/file")
    put(one / f"t-1.{'a' * 32}-stray/00000000000000000000.log")
    os.mkfifo(one / "t-0/pipe")
    put(tmp_path / "notes.txt")
    put(tmp_path / "elsewhere/more/file")
    dump = collect([tmp_path])
    assert left_out(dump) == {
        "b-1/t-0/inner": NOT_LOOKED_INTO,
        "b-1/t-0/00000000000000000000.log.deleted": (
            ".deleted file: renamed to be deleted, no part of the log"
        ),
        "b-1/t-0/pipe": NO_REGULAR_FILE,
        "b-1/remote-log-index-cache/deep": NOT_LOOKED_INTO,
        f"b-1/t-1.{'a' * 32}-stray/00000000000000000000.log": "folder marked -stray",
        "notes.txt": OUTSIDE,
        "elsewhere": NOT_LOOKED_INTO,
    }
    assert dump.unreadable == []


@pytest.mark.parametrize(
    "name", ["t-0/99999999999999999999.log", "t-9999999999/00000000000000000000.log"]
)
def test_numbers_that_kafka_cannot_have_name_no_segment(tmp_path: Path, name: str) -> None:
    put(broker(tmp_path) / name, log(0, 1))
    put(tmp_path / "t-1/00000000000000000000.log", log(0, 1))
    assert [(one.topic, one.partition) for one in collect([tmp_path]).partitions][-1] == ("t", 1)
    assert sum(len(one.segments) for one in collect([tmp_path]).partitions) == 1
