"""What is a broker, a partition, or neither: by what lies in a folder, whatever it is called."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.audit.coverage import not_in_the_dump, nothing_read
from jobs.collect.classification import NO_REGULAR_FILE, NO_SEGMENT, NO_TEXT_NAME
from jobs.collect.collect import collect
from jobs.model.dump import Dump
from jobs.model.errors import UsageError
from jobs.model.unread import UNREAD
from tests.wire_writer import batches as writer

SEGMENT = "00000000000000000000.log"
BATCH = writer.batch(0, [writer.record(0)], base_timestamp=0)


def put(path: Path, content: bytes = b"") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def told(dump: Dump) -> list[tuple[str, int, int | None, str]]:
    return [(one.topic, one.partition, one.broker, one.segments[0].path) for one in dump.partitions]


@pytest.mark.parametrize("name", ["kafka-0", "data", "kraft-combined-logs", "a-1.b-2", "topic-7"])
@pytest.mark.parametrize("properties", [True, False])
@pytest.mark.parametrize("levels", [0, 1, 2, 4])
def test_a_broker_is_one_under_any_name(
    tmp_path: Path, name: str, properties: bool, levels: int
) -> None:
    folder = tmp_path.joinpath(*["copies"] * (levels - 1), name) if levels else tmp_path / name
    put(folder / "h-0" / SEGMENT, BATCH)
    put(folder / "server.log", b"[2026-01-01] INFO\n")
    if properties:
        put(folder / "meta.properties", b"node.id=3\n")
    dump = collect([tmp_path if levels else folder])
    below = "/".join(["copies"] * (levels - 1) + [name]) + "/" if levels else ""
    assert told(dump) == [("h", 0, 3 if properties else None, f"{below}h-0/{SEGMENT}")]
    assert [one.path for one in dump.files if one.path.endswith("server.log")] == [
        f"{below}server.log"
    ]


def test_a_partition_with_partitions_in_it_is_both(tmp_path: Path) -> None:
    put(tmp_path / "kafka-0" / SEGMENT, BATCH)
    put(tmp_path / "kafka-0" / "h-0" / SEGMENT, BATCH)
    expected = {"h": f"kafka-0/h-0/{SEGMENT}", "kafka": f"kafka-0/{SEGMENT}"}
    for dump in (collect([tmp_path]), collect([tmp_path / "kafka-0"])):
        assert {one.topic: one.segments[0].path for one in dump.partitions} == expected
        assert len({one.path for one in dump.files}) == len(dump.files) == 2


def test_meta_properties_makes_it_a_broker(tmp_path: Path) -> None:
    put(tmp_path / "kafka-0" / "meta.properties", b"node.id=3\n")
    put(tmp_path / "kafka-0" / SEGMENT, BATCH)
    put(tmp_path / "kafka-0" / "h-0" / SEGMENT, BATCH)
    assert told(collect([tmp_path])) == [("h", 0, 3, f"kafka-0/h-0/{SEGMENT}")]


def test_several_and_nested_brokers(tmp_path: Path) -> None:
    put(tmp_path / "meta.properties", b"node.id=1\ncluster.id=c\n")
    put(tmp_path / "h-0" / SEGMENT, BATCH)
    put(tmp_path / "disk-2" / "h-1" / SEGMENT, BATCH)
    put(tmp_path / "old" / "kafka-7" / "meta.properties", b"node.id=7\n")
    put(tmp_path / "old" / "kafka-7" / "h-0" / SEGMENT, BATCH)
    dump = collect([tmp_path])
    # Without a meta.properties of its own a folder is of the broker in which it lies.
    assert told(dump) == [
        ("h", 0, 1, f"h-0/{SEGMENT}"),
        ("h", 1, 1, f"disk-2/h-1/{SEGMENT}"),
        ("h", 0, 7, f"old/kafka-7/h-0/{SEGMENT}"),
    ]
    assert [one.broker for one in dump.directories] == [1, 7]


def test_a_copy_into_itself_is_a_second_copy(tmp_path: Path) -> None:
    put(tmp_path / "meta.properties", b"node.id=1\ncluster.id=c\n")
    put(tmp_path / "h-0" / SEGMENT, BATCH)
    put(tmp_path / "h-0" / "h-0" / SEGMENT, BATCH)
    assert told(collect([tmp_path])) == [("h", 0, 1, f"h-0/{SEGMENT}")]


def test_a_folder_without_a_segment_is_no_partition(tmp_path: Path) -> None:
    put(tmp_path / "h-0" / SEGMENT, BATCH)
    put(tmp_path / "kafka-1" / "server.log", b"text")
    put(tmp_path / "h-1" / "leader-epoch-checkpoint", b"0\n0\n")
    dump = collect([tmp_path])
    assert [(one.topic, one.partition) for one in dump.partitions] == [("h", 0)]
    notes = {one.path: one.note for one in dump.files if one.status == "skipped"}
    assert notes == {
        "kafka-1/server.log": NO_SEGMENT,
        "h-1/leader-epoch-checkpoint": NO_SEGMENT,
    }


@pytest.mark.parametrize(
    "name", ["server.log", "123.log", f"{SEGMENT}.txt", "99999999999999999999.log"]
)
def test_no_segment_is_no_dump(tmp_path: Path, name: str) -> None:
    put(tmp_path / "kafka-0" / name, b"text")
    for dump in (tmp_path, tmp_path / "kafka-0"):
        with pytest.raises(UsageError, match="is not a dump: expected a broker's log directory"):
            collect([dump])


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({f"h-0/{SEGMENT}": b""}, "it has 1 segment, all empty, the first is h-0/"),
        ({f"h-0/{SEGMENT}": b"xy"}, "1 segment without a readable batch"),
        ({f"__cluster_metadata-0/{SEGMENT}": BATCH}, "only __cluster_metadata"),
        ({f"h-0.{'0' * 32}-delete/{SEGMENT}": BATCH}, "outside partitions .*marked -delete"),
        ({f"h-0.{'0' * 32}-stray/{SEGMENT}.deleted": BATCH}, "no segment of a partition"),
        ({"meta.properties": b"node.id=1\n"}, "no segment of a partition"),
    ],
)
def test_why_nothing_was_read(tmp_path: Path, files: dict[str, bytes], said: str) -> None:
    for name, content in files.items():
        put(tmp_path / name, content)
    sentence = nothing_read(collect([tmp_path]))
    assert sentence.startswith("No batch was read from the dump: ")
    assert sentence.endswith("audit again.")
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(sentence)


def test_what_a_checkpoint_lists_is_missed(tmp_path: Path) -> None:
    put(tmp_path / "a" / "meta.properties", b"node.id=1\ncluster.id=c\n")
    put(tmp_path / "a" / "h-0" / SEGMENT, BATCH)
    put(tmp_path / "a" / f"h-3.{'0' * 32}-delete" / SEGMENT, BATCH)
    put(
        tmp_path / "a" / "replication-offset-checkpoint",
        b"0\n5\nh 0 1\nh 1 7\nh 2 7\nh 3 7\nh 4 7\n",
    )
    put(tmp_path / "a" / "cleaner-offset-checkpoint", b"0\n1\nk 0 5\n")
    # The other disk of the broker has one of them.
    put(tmp_path / "b" / "meta.properties", b"node.id=1\ncluster.id=c\n")
    put(tmp_path / "b" / "h-1" / SEGMENT, BATCH)
    # Another broker's copy is another one.
    put(tmp_path / "c" / "meta.properties", b"node.id=2\ncluster.id=c\n")
    put(tmp_path / "c" / "h-2" / SEGMENT, BATCH)
    dump = collect([tmp_path])
    assert [(one.topic, one.partition, one.broker, one.listed_in) for one in dump.missing] == [
        ("h", 2, 1, "a/replication-offset-checkpoint"),
        # A retired folder may lie beside the log directory that has the partition now.
        ("h", 3, 1, "a/replication-offset-checkpoint"),
        ("h", 4, 1, "a/replication-offset-checkpoint"),
        ("k", 0, 1, "a/cleaner-offset-checkpoint"),
    ]
    assert list(not_in_the_dump(dump, dump.missing)) == [
        "4 partitions on broker 1 that a/cleaner-offset-checkpoint, "
        "a/replication-offset-checkpoint list are not in the dump: h-2, h-3, h-4, k-0."
    ]


def test_many_missing_partitions_are_one_sentence(tmp_path: Path) -> None:
    put(tmp_path / "h-0" / SEGMENT, BATCH)
    lines = "".join(f"t {number} 5\n" for number in range(5000))
    put(tmp_path / "replication-offset-checkpoint", f"0\n5000\n{lines}".encode())
    dump = collect([tmp_path])
    (sentence,) = not_in_the_dump(dump, dump.missing)
    assert sentence.startswith("5,000 partitions that replication-offset-checkpoint lists")
    assert sentence.endswith("and 4,990 more.")


def test_odd_files_are_listed_and_not_opened(tmp_path: Path) -> None:
    put(tmp_path / "h-0" / SEGMENT, BATCH)
    os.mkfifo(tmp_path / "meta.properties")
    os.mkfifo(tmp_path / "h-0" / "partition.metadata")
    (tmp_path / "replication-offset-checkpoint").symlink_to("/dev/zero")
    (tmp_path / "cleaner-offset-checkpoint").mkdir()
    (tmp_path / "dump-manifest.json").symlink_to("dump-manifest.json")
    with (tmp_path / "log-start-offset-checkpoint").open("wb") as file:
        file.truncate(8 << 30)
    put(tmp_path / "h-1" / SEGMENT, BATCH)
    with (tmp_path / "h-1" / "00000000000000000000.txnindex").open("wb") as file:
        file.truncate(8 << 30)
    put(tmp_path / "h-2" / SEGMENT, BATCH)
    os.mkfifo(tmp_path / "h-2" / "00000000000000000000.txnindex")
    (tmp_path / "h-0" / os.fsdecode(b"\xff\xfe.log")).touch()
    (tmp_path / os.fsdecode(b"x\xff-0")).mkdir()
    dump = collect([tmp_path])
    # An index that is there, and that nobody can read, may have what the log needs.
    assert [one.partition for one in dump.partitions] == [0]
    said = {line.split(":")[0].split(" ")[0] for line in dump.unreadable}
    assert said == {
        "meta.properties",
        "replication-offset-checkpoint",
        "cleaner-offset-checkpoint",
        "log-start-offset-checkpoint",
        "dump-manifest.json",
        "h-1/00000000000000000000.txnindex",
        "h-2/00000000000000000000.txnindex",
    }
    notes = {one.path: one.note for one in dump.files}
    assert notes["meta.properties"] == notes["h-0/partition.metadata"] == NO_REGULAR_FILE
    assert notes[f"h-1/{SEGMENT}"] == notes[f"h-2/{SEGMENT}"] == UNREAD
    assert notes["h-0/\\xff\\xfe.log"] == NO_TEXT_NAME
    assert all(one.path.isprintable() and one.below_root.isprintable() for one in dump.files)


@pytest.mark.parametrize(
    "properties",
    [
        "node.id=²",
        "node.id=99999999999",
        f"node.id={'9' * 5000}",
        "node.id=-1",
        "node.id=",
        "broker.id=٣",
        "node.id=1 2",
        "cluster.id=\\uZZ",
        "node.id=\\ud800",
    ],
)
def test_an_identity_that_is_none_is_told(tmp_path: Path, properties: str) -> None:
    put(tmp_path / "meta.properties", properties.encode())
    put(tmp_path / "h-0" / SEGMENT, BATCH)
    dump = collect([tmp_path])
    assert dump.partitions[0].broker is None
    (line,) = dump.unreadable
    assert line.startswith("meta.properties: ")
    assert len(line) < 200


@pytest.mark.parametrize("name", ["caf\udce9-0", "caf\udce9"])
def test_a_folder_whose_name_is_no_text_is_one_row(tmp_path: Path, name: str) -> None:
    put(tmp_path / "h-0" / SEGMENT, BATCH)
    put(tmp_path / name / SEGMENT, BATCH)
    dump = collect([tmp_path])
    assert told(dump) == [("h", 0, None, f"h-0/{SEGMENT}")]
    notes = {one.path: one.note for one in dump.files if one.status == "skipped"}
    assert notes == {name.replace("\udce9", "\\xe9"): NO_TEXT_NAME}
    assert all(one.root.isprintable() for one in dump.files)


def test_half_a_character_is_none(tmp_path: Path) -> None:
    put(tmp_path / "meta.properties", b"node.id=1\ncluster.id=a\\ud83d\\ude00\\ud800\\u0000\n")
    put(tmp_path / "h-0" / SEGMENT, BATCH)
    assert collect([tmp_path]).partitions[0].cluster_id == "a\U0001f600\ufffd\0"


@pytest.mark.parametrize(
    ("closed", "told"),
    [
        (["b"], ["b: Permission denied"]),
        (["rack/c"], ["rack/c: Permission denied"]),
        (["b/h-0"], ["b/h-0: Permission denied"]),
        # Nothing else shows that it is a log directory.
        (["rack/d/h-0"], ["rack/d/h-0: Permission denied"]),
        (["b", "rack"], ["b: Permission denied", "rack: Permission denied"]),
        (["lost+found"], []),
    ],
)
def test_a_folder_that_may_not_be_listed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: list[str], told: list[str]
) -> None:
    """It may be a broker's."""
    for name in ("a", "b", "rack/c"):
        put(tmp_path / name / "meta.properties", f"node.id={ord(name[-1])}\n".encode())
        put(tmp_path / name / "h-0" / SEGMENT, BATCH)
    put(tmp_path / "rack/d/h-0" / SEGMENT, BATCH)
    put(tmp_path / "lost+found" / "file", b"")
    listed = Path.iterdir

    def refuse(path: Path) -> Iterator[Path]:
        if path.is_relative_to(tmp_path) and path.relative_to(tmp_path).as_posix() in closed:
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", refuse)
    assert sorted(collect([tmp_path]).unreadable) == told
