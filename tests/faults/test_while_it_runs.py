"""What goes wrong while an audit runs: the quick half of `make faults`, without processes."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from laws.run import OWN, read_scenario
from pyspark.sql import SparkSession

from faults.changing import audit_changed, wrong_in
from jobs.audit.audit import Request
from jobs.audit.identity import of_incomplete
from jobs.cli import failures
from jobs.cli.commands.export import Exported, closing_words
from jobs.collect.collect import collect
from jobs.decode.decode import decode_options
from jobs.decode.splits import plan_splits
from jobs.export.export import ExportRequest, Range
from jobs.model.settings import load
from jobs.model.unread import UNREAD, leave_out_unread
from jobs.spark import delta_tables
from jobs.spark.files import are_there, are_there_by_hadoop, write_by_hadoop, write_files
from schemas.tables import TABLES
from tests.wire_writer import batches as writer
from udfs.arrow.read_again import read_again
from udfs.arrow.read_pack import read_packs

SEGMENT = "00000000000000000000.log"
BATCH = writer.batch(0, [writer.record(0)], base_timestamp=0)
# Of every kind one, and one that harms nothing.
SLICE = [("truncated", 1), ("removed", 1), ("cut", 1), ("merged", 1), ("grown", 1), ("appended", 1)]


def put(path: Path, content: bytes = b"") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


@pytest.mark.slow
@pytest.mark.spark
def test_files_that_change_before_they_are_read_accuse_nobody(spark: SparkSession) -> None:
    told = audit_changed(spark, read_scenario(OWN / "mixed-clients.tar.gz"), SLICE)
    assert wrong_in(told) is None
    assert {change for change, _ in told.left_out} == {"truncated", "removed", "cut", "merged"}
    assert told.incomplete


def test_a_partition_with_a_file_that_was_not_read_is_left_out(tmp_path: Path) -> None:
    for name in ("a-0", "a-1"):
        put(tmp_path / name / SEGMENT, BATCH)
        put(tmp_path / name / "00000000000000000000.txnindex")
        put(tmp_path / name / "notes.txt")
    dump = collect([tmp_path])
    places = {one.path: one.file_index for one in dump.files}
    assert not leave_out_unread(dump, {places["a-1/notes.txt"]}).files, "nothing is judged by it"
    gone = leave_out_unread(dump, {places["a-0/00000000000000000000.txnindex"]})
    assert gone.files == {number for path, number in places.items() if path.startswith("a-0/")}
    assert [one.partition for one in dump.partitions] == [1]
    assert {one.note for one in dump.files if one.path.startswith("a-0/")} == {UNREAD}


def test_a_partition_of_which_a_file_vanishes_while_it_is_listed_is_left_out(
    tmp_path: Path,
) -> None:
    for name in ("a-0", "a-1"):
        put(tmp_path / name / SEGMENT, BATCH)
    # To the listing it is what a file is that is gone a moment later.
    (tmp_path / "a-0" / "00000000000000000007.log").symlink_to("gone")
    (tmp_path / "a-1" / "00000000000000000007.log.deleted").symlink_to("gone")
    dump = collect([tmp_path])
    assert [one.partition for one in dump.partitions] == [1], "what was deleted is not missed"
    assert [one.note for one in dump.files if one.path.startswith("a-0/")] == [UNREAD, UNREAD]
    assert "a-0/00000000000000000007.log: No such file or directory" in dump.unreadable


def test_a_closed_segment_that_became_longer_was_replaced(tmp_path: Path) -> None:
    later = writer.batch(1, [writer.record(0)], base_timestamp=0)
    put(tmp_path / "a-0" / SEGMENT, BATCH)
    put(tmp_path / "a-0" / "00000000000000000001.log", later)
    dump = collect([tmp_path])
    splits = plan_splits(dump, 1 << 20)

    def refused() -> list[str]:
        """The files that are not read as they were listed."""
        parts = read_packs([splits], decode_options(load(None), "records"))
        rows = [row for part in parts for row in part.to_pylist() if row["summary"]]
        told = {row["file_index"] for row in rows if row["summary"]["shrank"]}
        return [one.path for one in dump.files if one.file_index in told]

    put(tmp_path / "a-0" / "00000000000000000001.log", later + BATCH)
    assert refused() == [], "the newest segment of a running broker grows"
    put(tmp_path / "a-0" / SEGMENT, BATCH + later)
    assert refused() == [f"a-0/{SEGMENT}"]


def test_what_is_not_read_is_not_exported_silently(tmp_path: Path) -> None:
    for name in ("a-0", "b-0", "__consumer_offsets-0"):
        put(tmp_path / name / SEGMENT, BATCH)
    dump = collect([tmp_path])
    leave_out_unread(dump, {one.file_index for one in dump.files})
    request = Request([tmp_path], "out", None, "records", load(None))
    one = Range(0, "c", 0, None, 0, 1, 1, 1)
    for topics, named in (
        ((), "2 partition folders"),
        (("a",), "1 partition folders"),
        (("c",), ""),
    ):
        wanted = ExportRequest("read_committed", topics)
        text, code = closing_words(Exported([one], 1, [], []), request, wanted, dump)
        assert code == (3 if named else 0)
        assert f"Lost: {named}" in text if named else "Lost" not in text


def test_a_file_that_is_looked_up_again_must_be_as_long_as_it_was(tmp_path: Path) -> None:
    put(tmp_path / "a-0" / SEGMENT, BATCH)
    place = str(tmp_path), f"a-0/{SEGMENT}"
    with read_again(*place, 0, len(BATCH), len(BATCH)) as source:
        assert source.data.tobytes() == BATCH
    put(tmp_path / "a-0" / SEGMENT, BATCH[:-1])
    with (
        pytest.raises(OSError, match="became shorter") as raised,
        read_again(*place, 0, len(BATCH), len(BATCH)),
    ):
        pass
    said = failures.sentence(RuntimeError(f"x\nOSError: {raised.value}\n at y"))
    assert said is not None
    assert said.startswith(f"a-0/{SEGMENT} was deleted or truncated during the audit: run the same")


@pytest.mark.spark
def test_two_audits_at_once_write_each_table_once(spark: SparkSession, tmp_path: Path) -> None:
    schema = [field for field in TABLES["check_run"] if field.name != "audit_id"]
    types = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema)
    rows = spark.createDataFrame([tuple(None for _ in schema)], types)
    failed: list[Exception] = []

    def write(identity: str) -> None:
        try:
            delta_tables.append(rows, str(tmp_path), "check_run", identity)
        except Exception as error:  # a thread would lose it
            failed.append(error)

    for identities in (("a", "b", "a"), ("c", "c", "d")):
        writers = [threading.Thread(target=write, args=(one,)) for one in identities]
        for one in writers:
            one.start()
        for one in writers:
            one.join()
    assert failed == []
    table = delta_tables.read(spark, str(tmp_path), "check_run")
    assert table is not None
    assert sorted(row.audit_id for row in table.collect()) == ["a", "b", "c", "d"]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("write", "there"),
    [(write_files, are_there), (write_by_hadoop, are_there_by_hadoop)],
    ids=["local", "hadoop"],
)
def test_a_report_is_replaced_as_a_whole_or_not_at_all(
    spark: SparkSession,
    tmp_path: Path,
    write: Callable[..., None],
    there: Callable[[SparkSession, str, Mapping[str, bytes]], bool],
) -> None:
    old, new = {"a": b"1", "b": b"2", "sums": b"3"}, {"a": b"4", "b": b"5", "sums": b"6"}
    write(spark, str(tmp_path), old)
    assert there(spark, str(tmp_path), old)
    broken = {**new, "b": None}  # cannot be written, as on a full disk
    with pytest.raises(TypeError):
        write(spark, str(tmp_path), broken)  # type: ignore[arg-type]
    assert there(spark, str(tmp_path), old)
    write(spark, str(tmp_path), new)
    assert there(spark, str(tmp_path), new)
    assert {path.name for path in tmp_path.iterdir() if path.suffix != ".crc"} == set(new)
    put(tmp_path / "c", b"of another audit")
    assert not there(spark, str(tmp_path), new | {"c": b"7"})
    assert not there(spark, str(tmp_path), new | {"d": b"8"})
    write(spark, str(tmp_path), new, ["c", "d"])
    assert there(spark, str(tmp_path), new)
    assert not (tmp_path / "c").exists()


def test_an_incomplete_audit_is_another_one() -> None:
    assert of_incomplete("id", []) == "id"
    crashed = of_incomplete("id", ["check sequence_gap crashed: at 17:04 in task 3."])
    assert crashed != "id"
    assert crashed == of_incomplete("id", ["check sequence_gap crashed: at 18:00 in task 9."])
    assert crashed != of_incomplete("id", ["check offset_gap crashed: at 17:04 in task 3."])


def test_what_is_full_is_told_with_its_place(tmp_path: Path) -> None:
    said = failures.sentence(OSError("No space left on device"), str(tmp_path / "not" / "there"))
    assert said is not None
    assert said.startswith("a disk is full: ")
    assert f"bytes are free at --out {tmp_path}/not/there, " in said
    assert "at spark.local.dir " in said
