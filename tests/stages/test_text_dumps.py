"""Texts of kafka-dump-log as a dump: what is listed of them, and what is refused."""

from pathlib import Path

import pytest

from jobs._errors import UsageError
from jobs.collect import collect
from jobs.commands.export import check_has_bytes

BATCH = (
    "baseOffset: {0} lastOffset: {0} count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 "
    "producerEpoch: -1 partitionLeaderEpoch: 0 isTransactional: false isControl: false position: 0 "
    "CreateTime: 17 size: 70 magic: 2 compresscodec: none crc: 1 isvalid: true\n"
)
RECORD = "| offset: {0} CreateTime: 17 keySize: 5 valueSize: -1 sequence: -1 headerKeys: []{1}\n"
STATE = ' key: {"type":"0","data":{"transactionalId":"a"}} payload: <DELETE>'


def text(path: str, base: int = 0, printed: str | None = "") -> str:
    start = f"Dumping {path}/{base:020d}.log\nLog starting offset: {base}\n" + BATCH.format(base)
    return start if printed is None else start + RECORD.format(base, printed)


def test_joined_texts_are_listed_as_the_files_that_were_dumped(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text("/k/orders-0", 5) + text("/k/orders-1"))
    (tmp_path / "b.txt").write_text("[a warning]\n" + text("C:\\k\\orders-0") + text("/k/orders-0"))
    (tmp_path / "notes.txt").write_text("no dump\n")
    dump = collect([tmp_path])
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
    assert [file.note for file in dump.files].count("told by another text of the dump already") == 2


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


def test_a_file_that_is_no_text_and_one_without_metadata_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("something else\n")
    with pytest.raises(UsageError, match="nor a text"):
        collect([file])
    with pytest.raises(UsageError, match="is no dump"):
        collect([tmp_path])
    file.write_text(text("/k/orders-0", printed=None) + "| key: a payload: b\n")
    with pytest.raises(UsageError, match="--skip-record-metadata"):
        collect([file])
    file.write_text(text("."))
    with pytest.raises(UsageError, match="of which partition"):
        collect([file])
