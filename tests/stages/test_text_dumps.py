"""Texts of kafka-dump-log as a dump: what is listed of them, and what is refused."""

from pathlib import Path

import pytest

from jobs.audit.coverage import _left_out_by_texts
from jobs.cli.commands.export import check_has_bytes
from jobs.collect.collect import collect
from jobs.decode.splits import files_beside, snapshot_bounds
from jobs.model.errors import UsageError

BATCH = (
    "baseOffset: {0} lastOffset: {0} count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 "
    "producerEpoch: -1 partitionLeaderEpoch: 0 isTransactional: false isControl: false position: 0 "
    "CreateTime: 17 size: 70 magic: 2 compresscodec: none crc: 1 isvalid: true\n"
)
RECORD = "| offset: {0} CreateTime: 17 keySize: 5 valueSize: -1 sequence: -1 headerKeys: []{1}\n"
PRODUCER = "producerId: 7 producerEpoch: 2 coordinatorEpoch: 3 currentTxnFirstOffset: None \n"
STATE = ' key: {"type":"0","data":{"transactionalId":"a"}} payload: <DELETE>'


def text(path: str, base: int = 0, printed: str | None = "") -> str:
    start = f"Dumping {path}/{base:020d}.log\nLog starting offset: {base}\n" + BATCH.format(base)
    return start if printed is None else start + RECORD.format(base, printed)


def test_joined_texts_are_listed_as_the_files_that_were_dumped(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text("/k/orders-0", 5) + text("/k/orders-1"))
    (tmp_path / "b.txt").write_text("[a warning]\n" + text("C:\\k\\orders-0") + text("/k/orders-0"))
    (tmp_path / "notes.txt").write_text("no dump\n")
    dump = collect([tmp_path])
    other = dump.files[-1]
    assert (other.path, other.status) == ("notes.txt", "skipped")
    assert other.note == "not a text of kafka-dump-log"
    listed = [(p.partition, [file.base_offset for file in p.segments]) for p in dump.partitions]
    assert listed == [(0, [0, 5]), (1, [0]), (0, [0])]
    first = dump.files[0]
    assert first.path == "a.txt!/orders-0/00000000000000000005.log"
    assert (first.status, first.size, first.next_base_offset) == ("audited", 402, None)
    assert first.text is not None
    assert (first.text.first_line, first.text.batch_line, first.text.end_line) == (1, 3, 5)
    with pytest.raises(UsageError, match="no records to export"):
        check_has_bytes(dump)


def test_folders_below_are_brokers_and_a_file_is_told_once(tmp_path: Path) -> None:
    for broker in ("one", "two"):
        (tmp_path / broker).mkdir()
        (tmp_path / broker / "a.txt").write_text(text("/k/orders-0"))
        (tmp_path / broker / "b.txt").write_text(text("/k/orders-0"))
    dump = collect([tmp_path])
    assert [len(one.segments) for one in dump.partitions] == [1, 1]
    assert [file.note for file in dump.files].count("already in another text of the dump") == 2


def test_what_a_text_leaves_out_is_not_audited_and_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(
        text("/k/orders-0")
        + text("/k/orders-1", printed=None)
        + text("/k/__transaction_state-0")
        + text("/k/__transaction_state-1", printed=STATE)
    )
    notes = {file.path.split("/")[1]: file.note for file in collect([tmp_path]).files}
    assert notes["orders-0"] is None and notes["__transaction_state-1"] is None
    assert notes["orders-1"] is None
    assert "without --transaction-log-decoder" in str(notes["__transaction_state-0"])


def test_side_files_in_texts_lie_beside_their_segment(tmp_path: Path) -> None:
    def dumped(name: str, lines: str) -> str:
        return f"Dumping /k/orders-0/{name}\n{lines}"

    (tmp_path / "a.txt").write_text(
        dumped("00000000000000000005.index", "offset: 5 position: 0\n")
        + dumped("00000000000000000005.timeindex", "")
        + text("/k/orders-0", 5)
        + dumped("00000000000000000006.snapshot", PRODUCER)
        + dumped("00000000000000000007.snapshot", "")
        + "Mismatches in :/k/orders-0/00000000000000000005.index\n"
        + "  Index offset: 5, log offset: 6\n"
    )
    dump = collect([tmp_path])
    by_kind = {file.kind: file for file in dump.files if file.status == "audited"}
    assert by_kind.keys() == {"segment", "offset_index", "producer_snapshot"}
    index, segment = by_kind["offset_index"], by_kind["segment"]
    (beside,) = files_beside(dump)[segment.file_index]
    assert (beside["file_index"], beside["first_line"]) == (index.file_index, 1)
    # The first range begins with the log.
    assert snapshot_bounds(dump) == {0: [5, 6]}
    # One that tells no entry may be empty, or unreadable.
    empty = [file for file in dump.files if file.status == "skipped"]
    assert [file.kind for file in empty] == ["time_index", "producer_snapshot"]
    assert all("without an entry" in str(file.note) for file in empty)
    told = list(_left_out_by_texts(dump))
    assert any(sentence.startswith("1 error messages") for sentence in told)


def test_a_file_that_is_no_text_and_one_without_metadata_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("something else\n")
    with pytest.raises(UsageError, match="nor a text"):
        collect([file])
    with pytest.raises(UsageError, match="is not a dump"):
        collect([tmp_path])
    file.write_text(text("/k/orders-0", printed=None) + "| key: a payload: b\n")
    with pytest.raises(UsageError, match="--skip-record-metadata"):
        collect([file])
    file.write_text(text("/k/orders-0"), encoding="utf-16")
    with pytest.raises(UsageError, match=r"UTF-16.*iconv"):
        collect([tmp_path])
    file.write_text("something else\n", encoding="utf-16")
    with pytest.raises(UsageError, match="nor a text"):
        collect([file])
    file.write_text(text("."))
    with pytest.raises(UsageError, match="do not name their partition"):
        collect([file])
