"""Texts of kafka-dump-log: they give the rows that the dumped bytes give, whatever was printed."""

import io
import tarfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from split_rows import rows_of_split

from schemas import log_row
from tests.wire_writer import txn_index as index_writer
from udfs.arrow import text_section
from udfs.arrow.batches import DecodeOptions
from udfs.wire.errors import WireError
from udfs.wire.offsets.offsets_log import GroupKey
from udfs.wire.side_files import txn_index
from udfs.wire.text import text_dump
from udfs.wire.text.text_batches import TEXT_CUT, Gathered, Gatherer
from udfs.wire.text.text_offsets import read_key, read_offset, split_printed
from udfs.wire.text.text_sections import Section, sections
from udfs.wire.text.text_txn_log import read_state

DUMPS = Path(__file__).resolve().parent.parent / "dumps"
OPTIONS = DecodeOptions(1 << 28, 1 << 28, 86_400_000, True)
HEADERS = replace(OPTIONS, with_records=False)
OF_RUNS = (log_row.RUN, log_row.REGULAR, log_row.OFFSET_DISCONTINUITY, log_row.ABORTED)
# Where something lies, which is a line in a text; and what a text does not tell.
PLACES = {
    "position", "length", "first_position", "last_position", "first_length", "last_length",
    "marker_position", "marker_length", "split_start", "digests", "first_found", "end",
    "final_position", "final_length", "lowest_position", "highest_position", "previous_position",
    "start_ms", "base_timestamp", "found",
}  # fmt: skip


def split(path: str, size: int, section: Section | None) -> dict[str, Any]:
    folder, name = path.split("/")[-2:]
    return {
        "partition_index": 0, "file_index": 0, "partition": int(folder.rpartition("-")[2]),
        "topic": folder.rpartition("-")[0], "topic_partitions": 5, "high_watermark": None,
        "kind": "segment" if name.endswith(".log") else "txn_index", "start": 0, "length": size,
        "base_offset": int(name.partition(".")[0]), "next_base_offset": None, "cleaned_below": 0,
        "file_size": size, "cuts": None, "cleaner_reach": None, "single_copy": False,
        "snapshots": None, "beside": None, "log_base": int(name.partition(".")[0]),
        "log_start": None,
        "first_byte": section and section.first_byte,
        "first_line": section and section.first_line,
        "with_records": section and section.with_records,
        "decoded": section and section.decoded,
    }  # fmt: skip


def told(value: Any) -> Any:
    """A row without places; blocks of regular transactions unpacked."""
    if isinstance(value, dict):
        return {
            name: sorted(of) if name == "partitions" and of else told(of)
            for name, of in value.items()
            if name not in PLACES and of is not None
        }
    if isinstance(value, bytes):
        return [told(row) for row in pa.ipc.open_stream(value).read_all().to_pylist()]
    return value


def rows(
    path: str, data: bytes, section: Section | None, options: DecodeOptions = OPTIONS
) -> list[Any]:
    given = split(path, len(data), section)
    return [told(row) for row in rows_of_split(io.BytesIO(data), given, options)]


def assert_told_without_records(path: str, text: bytes, stored: bytes) -> None:
    """What the bytes give without decompression; markers are told by their checksums."""
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith(b"| ")]
    shallow = b"".join(lines)
    (section,) = sections(io.BytesIO(shallow), len(shallow))
    from_text, from_bytes = (
        [row for row in rows(path, data, of, HEADERS) if row["kind"] in OF_RUNS]
        for data, of in ((shallow, section), (stored, None))
    )
    assert from_text == from_bytes, path


@pytest.mark.parametrize("name", ["v28-legacy-format", "v39-tv0", "tv2-skipped-markers"])
def test_a_text_gives_the_rows_of_the_bytes_that_were_dumped(name: str) -> None:
    compared = defaultdict(int)
    with tarfile.open(DUMPS / f"{name}.tar.gz") as archive:
        files = {one.name: one for one in archive.getmembers() if one.isfile()}

        def content(path: str) -> bytes:
            opened = archive.extractfile(files[path])
            assert opened is not None
            return opened.read()

        for path in files:
            if "/oracle/dump-log/" not in path or not path.endswith(("log.txt", "txnindex.txt")):
                continue
            if "__cluster_metadata" in path:
                continue
            stored = path.replace("/oracle/dump-log/", "/dump/broker-").removesuffix(".txt")
            text = content(path)
            (section,) = sections(io.BytesIO(text), len(text))
            from_text = rows(stored, text, section)
            assert from_text == rows(stored, content(stored), None), path
            for row in from_text:
                compared[row["kind"]] += 1
            if name != "v28-legacy-format":
                assert_told_without_records(stored, text, content(stored))
    assert {log_row.RUN, log_row.TXN_LOG_RECORD, log_row.SUMMARY} <= compared.keys()


def test_an_entry_of_an_index_is_a_line_of_its_text() -> None:
    """Evidence shows so many bytes or lines."""
    path = "k/t-0/00000000000000000000.txnindex"
    shown = "version: 0 producerId: 1 firstOffset: 0 lastOffset: 4 lastStableOffset: 2\n"
    text = f"Dumping {path}\n{NOISE}{shown}{shown}".encode()
    (section,) = sections(io.BytesIO(text), len(text))
    stored = index_writer.encode([txn_index.AbortedTxnEntry(0, 1, 0, 4, 2)] * 2)
    for content, of, wanted in (
        (stored, None, [(0, 34), (34, 34)]),
        (text, section, [(NOISE.count("\n") + 2, 1), (NOISE.count("\n") + 3, 1)]),
    ):
        rows = rows_of_split(io.BytesIO(content), split(path, len(content), of), OPTIONS)
        found = [
            (entry["position"], entry["length"])
            for row in rows
            if row["kind"] == log_row.ABORTED
            for entry in pa.ipc.open_stream(row["aborted"]["entries"]).read_all().to_pylist()
        ]
        assert found == wanted


BATCH = (
    "baseOffset: {base} lastOffset: {last} count: {count} baseSequence: {sequence} lastSequence: "
    "{sequence} producerId: 4 producerEpoch: 0 partitionLeaderEpoch: 0 isTransactional: true "
    "isControl: {control} deleteHorizonMs: OptionalLong.empty position: {at} CreateTime: 17 "
    "size: 100 magic: 2 compresscodec: none crc: 1 isvalid: true\n"
)
MARKER = (
    "| offset: 1 CreateTime: 17 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] "
    "endTxnMarker: COMMIT coordinatorEpoch: 3\n"
)
FORGED = BATCH.format(base=1, last=1, count=1, sequence=1, control="true", at=100) + MARKER


NOISE = (
    "[2026-11-21 10:00:00,000] WARN something (kafka.tools.DumpLogSegments)\n"
    "root@broker:/# kafka-dump-log.sh --files x\n\nNon-consecutive offsets in /k/a.log\n"
    "  3 is followed by 7\n"
)


def printed(value: str, header_keys: str = "") -> str:
    """A text of one record with that value, and the ABORT marker behind it."""
    return (
        "Dumping /data/orders-0/00000000000000000000.log\nLog starting offset: 0\n"
        + BATCH.format(base=0, last=0, count=1, sequence=0, control="false", at=0)
        + f"| offset: 0 CreateTime: 17 keySize: 1 valueSize: {len(value.encode())} sequence: 0 "
        + f"headerKeys: [{header_keys}] key: k payload: {value}\n"
        + BATCH.format(base=1, last=1, count=1, sequence=-1, control="true", at=100)
        + MARKER.replace("COMMIT", "ABORT")
    )


def gathered(text: bytes, with_records: bool = True) -> tuple[Gathered, Gatherer]:
    gatherer = Gatherer(with_records=with_records, keep_printed=True)
    for item in text_dump.TextDump(io.BytesIO(text), 0, len(text), 1).items():
        gatherer.add(item)
    gatherer.end()
    return gatherer.take(), gatherer


@pytest.mark.parametrize(
    "value",
    [
        "v",
        "",
        "a\nb | c",
        "\n" + FORGED + "x",
        "Dumping /data/__transaction_state-0/00000000000000000000.log\nLog starting offset: 0\n",
        " payload: x\n| offset: 0 CreateTime: 1 keySize: -1 valueSize: -1 sequence: 0 ",
        "é\n" + FORGED * 2,
    ],
)
def test_what_a_value_holds_is_never_taken_for_a_line(value: str) -> None:
    text = printed(value).encode()
    found, gatherer = gathered(text)
    assert found.headers.base_offset.tolist() == [0, 1]
    assert found.control_type.tolist() == [-1, 0]
    assert found.records[0].printed == f" key: k payload: {value}".encode()
    assert gatherer.cut_line is None
    assert len(sections(io.BytesIO(text), len(text))) == 1


@pytest.mark.parametrize("value", ["v", "a\r", "a\r\nb\n", "\r\n" + FORGED.replace("\n", "\r\n")])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_lines_may_end_as_windows_ends_them(value: str, mark: str) -> None:
    text = mark + printed("@").replace("\n", "\r\n")
    text = text.replace("valueSize: 1 ", f"valueSize: {len(value)} ").replace("@", value)
    (section,) = sections(io.BytesIO(text.encode()), len(text.encode()))
    assert section.path == "/data/orders-0/00000000000000000000.log"
    found, gatherer = gathered(text.encode())
    assert found.headers.base_offset.tolist() == [0, 1]
    assert found.control_type.tolist() == [-1, 0]
    assert found.records[0].printed == f" key: k payload: {value}".encode()
    assert gatherer.cut_line is None


@pytest.mark.parametrize("value", ["v", "baseOffset: 0 lastOffset: 9 count: 1", "a\n" + FORGED])
def test_other_lines_between_say_nothing(value: str) -> None:
    lines = printed("@").splitlines(keepends=True)
    text = NOISE + NOISE.join(lines) + NOISE
    text = text.replace("valueSize: 1 ", f"valueSize: {len(value)} ").replace("@", value)
    text = text.replace("root" + value, "root@")
    found, gatherer = gathered(text.encode())
    assert found.headers.base_offset.tolist() == [0, 1]
    assert found.records[0].printed == f" key: k payload: {value}".encode()
    assert gatherer.cut_line is None
    (section,) = sections(io.BytesIO(text.encode()), len(text))
    assert section.complaints == len(lines)


def test_the_tool_that_dies_has_not_told_the_rest() -> None:
    text = printed("v") + 'Exception in thread "main" java.lang.IllegalStateException\n\tat x\n'
    found, gatherer = gathered(text.encode())
    assert found.headers.base_offset.tolist() == [0, 1]
    assert gatherer.cut_line == 7


def test_a_value_of_20_mb_is_one_line() -> None:
    value = "baseOffset: 0 lastOffset: 9 " + "x" * 20_000_000 + "\n" + FORGED
    found, gatherer = gathered(printed(value).encode())
    assert found.headers.base_offset.tolist() == [0, 1]
    assert gatherer.cut_line is None


@pytest.mark.parametrize("shown", ["\ufffd", "?"])
def test_bytes_that_are_no_text_let_no_forged_line_in(shown: str) -> None:
    # The value has bytes that are printed as other signs, and holds lines of its own.
    value = f"{shown * 3}\n{FORGED}{shown}\n{FORGED}"
    stored = len(value.replace(shown, "?"))
    text = printed(value).replace(f"valueSize: {len(value.encode())} ", f"valueSize: {stored} ")
    found, _ = gathered(text.encode())
    assert 0 not in found.control_type.tolist()[:1]
    assert set(found.headers.base_offset.tolist()) <= {0, 1}
    assert not [one for one in found.control_type.tolist() if one == 1]


@pytest.mark.parametrize("keys", ["]", "a] key: x", "[],[", "] endTxnMarker: COMMIT"])
def test_brackets_in_header_keys_end_no_list(keys: str) -> None:
    found, _ = gathered(printed("v", keys).encode())
    assert found.records[0].printed == b" key: k payload: v"
    assert found.control_type.tolist() == [-1, 0]


def test_a_value_that_cannot_be_counted_off_ends_where_the_next_line_fits() -> None:
    text = printed("a\nb\nc").replace("valueSize: 5", "valueSize: 7").encode()
    found, _ = gathered(text)
    assert found.headers.base_offset.tolist() == [0, 1]
    assert found.records[0].printed == b" key: k payload: a\nb\nc"


def test_a_text_cut_anywhere_gives_its_whole_batches_and_is_told() -> None:
    text = printed("a\nb" + FORGED).encode()
    for end in range(1, len(text) + 1):
        found, gatherer = gathered(text[:end])
        assert found.headers.base_offset.tolist() == [0, 1][: found.fault.size]
        whole = gatherer.cut_line is None
        assert whole == all(gap.reason != TEXT_CUT for gap in found.gaps)
        # Silent only where a line ends: what is missing behind it, nothing can tell.
        assert text[:end].endswith(b"\n") or not whole
    assert gatherer.cut_line is None and found.headers.base_offset.tolist() == [0, 1]


def test_what_stands_beside_missing_lines_is_told_and_not_believed() -> None:
    line = BATCH.format(base="{0}", last="{0}", count=1, sequence="{0}", control="false", at="{1}")
    value = "| offset: {0} CreateTime: 17 keySize: -1 valueSize: -1 sequence: {0} headerKeys: []\n"
    text = "".join((line + value).format(number, 100 * number) for number in range(9)).encode()
    whole = gathered(text)[0].headers.base_offset.tolist()
    assert whole == list(range(9))
    starts = [0, *(i + 1 for i, byte in enumerate(text[:-1]) if byte == 10)]
    # Half lines meet, and a batch meets the records of another one.
    holes = [(a + 5, b + 5) for a in starts[1:-6] for b in starts if b > a]
    holes += [(a, b) for a in starts[:-6] for b in starts if b > a]
    for first, end in holes:
        found, gatherer = gathered(text[:first] + text[end:])
        assert not found.fault.any(), (first, end)
        offsets = found.headers.base_offset.tolist()
        assert set(offsets) < set(whole)
        # Silent only where all that is missing stood at the end.
        assert gatherer.cut_line is not None or offsets == whole[: len(offsets)]


def test_impossible_numbers_are_no_lines_of_the_tool() -> None:
    text = printed("v")
    for name in (
        "lastOffset: 0",
        "producerId: 4",
        "size: 100",
        "baseSequence: 0",
        "CreateTime: 17",
    ):
        forged = text.replace(name, name.split()[0] + " " + "9" * 19)
        found, _ = gathered(forged.encode())
        assert found.fault.size < 2


def test_a_marker_whose_checksum_tells_nothing_is_not_guessed() -> None:
    text = printed("v").replace(MARKER.replace("COMMIT", "ABORT"), "")
    found, gatherer = gathered(text.encode(), with_records=False)
    assert found.headers.base_offset.tolist() == [0]
    assert gatherer.cut_line == 5


def test_blocks_of_any_size_give_the_same_items(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (printed("a\nb") * 3 + printed("x" * 5000)).encode()

    def items() -> list[Any]:
        found = text_dump.TextDump(io.BytesIO(text), 0, len(text), 1).items()
        return [(item.kind, item.line, item.lines, item.at, item.printed) for item in found]

    expected = items()
    monkeypatch.setattr(text_dump, "LOOK_AHEAD", 600)
    for size in (1, 7, 1000):
        monkeypatch.setattr(text_dump, "BLOCK_BYTES", size)
        assert items() == expected


def test_stretches_of_a_long_section_join_where_they_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    line = BATCH.format(base="{0}", last="{0}", count=1, sequence="{0}", control="false", at="{1}")
    text = "Dumping /data/orders-0/00000000000000000000.log\n" + "".join(
        line.format(number, 100 * number) + "some other line\n" * (number % 3)
        for number in range(9)
    )
    (section,) = sections(io.BytesIO(text.encode()), len(text))
    monkeypatch.setattr(text_section, "BATCHES_AT_ONCE", 2)
    given = split("orders-0/00000000000000000000.log", len(text), section)
    found = [
        row["summary"] | {"start": row["split_start"]}
        for row in rows_of_split(io.BytesIO(text.encode()), given, OPTIONS)
        if row["kind"] == log_row.SUMMARY
    ]
    assert len(found) > 2 and sum(one["batches"] for one in found) == 9
    ends = [one["end"] for one in found[:-1]]
    assert ends == [one["first_found"] for one in found[1:]]
    assert ends == [one["start"] for one in found[1:]]


HEAD = "baseOffset: 7 lastOffset: 9"
PRODUCER = (
    "baseSequence: 1 lastSequence: 3 producerId: 4 producerEpoch: 2 partitionLeaderEpoch: 6 "
    "isTransactional: true"
)
SIZE = "size: 90 magic: 2 compresscodec: LZ4 crc: 1"
SHAPES = {
    "0.11": f"{HEAD} {PRODUCER} position: 0 CreateTime: 5 isvalid: true {SIZE}",
    "1.0": f"{HEAD} {PRODUCER} isControl: false position: 0 CreateTime: 5 isvalid: true {SIZE}",
    "2.0": f"{HEAD} count: 3 {PRODUCER} isControl: false position: 0 CreateTime: 5 isvalid: true "
    + SIZE,
    "2.2": f"{HEAD} count: 3 {PRODUCER} isControl: false position: 0 CreateTime: 5 {SIZE} "
    "isvalid: true",
    "3.2": f"{HEAD} count: 3 {PRODUCER} isControl: false deleteHorizonMs: OptionalLong.empty "
    f"position: 0 CreateTime: 5 {SIZE.replace('LZ4', 'lz4')} isvalid: true",
}


@pytest.mark.parametrize("release", SHAPES)
def test_lines_of_all_releases_tell_the_same_batch(release: str) -> None:
    found, _ = gathered(f"{SHAPES[release]}\n".encode(), with_records=False)
    columns = [column.tolist()[0] for column in found.headers]
    assert columns == [1, 1, 7, 6, 0x13, 2, 5, 5, 4, 2, 1, 3, 2, 1]


def test_records_without_batch_lines_are_gathered_by_position() -> None:
    record = (
        "offset: {0} position: {1} CreateTime: 5 isvalid: true keysize: 1 valuesize: 1 magic: 2 "
        "compresscodec: GZIP producerId: 3 producerEpoch: 1 sequence: {2} isTransactional: true "
        "headerKeys: []{3}\n"
    )
    marker = " endTxnMarker: COMMIT coordinatorEpoch: 8"
    lines = [(0, 0, 0, ""), (1, 0, 1, ""), (2, 80, 2, marker), (3, 99, -1, marker)]
    text = "".join(record.format(*line) for line in lines)
    found, _ = gathered(text.encode())
    assert found.headers.base_offset.tolist() == [0, 2, 3]
    assert found.headers.last_sequence.tolist() == [1, 2, -1]
    # Data have sequences: a header key that ends like a marker makes none of them.
    assert found.headers.control.tolist() == [False, False, True]
    assert found.alone


PLAIN = " payload: producerId:5,producerEpoch:1,state={},txnLastUpdateTimestamp=7,txnTimeoutMs=9"
JSON = (
    ' key: {{"type":"0","data":{{"transactionalId":"a\\n=,"}}}} payload: {{"{}":"{}","data":'
    '{{"producerId":5,"producerEpoch":1,"transactionTimeoutMs":9,"transactionStatus":{},'
    '"transactionPartitions":{},"transactionLastUpdateTimestampMs":7,'
    '"transactionStartTimestampMs":6{}}}}}'
)
TWO = '[{"topic":"t","partitionIds":[0,2]}]'


@pytest.mark.parametrize(
    ("text", "value_size", "status", "partitions", "start", "version"),
    [
        (" key: transactionalId=a\n=," + PLAIN.format("Ongoing,partitions=Set(t-0, t-2)"), 52,
         1, ["t-0", "t-2"], None, -1),
        (" key: transaction_metadata::transactionalId=a\n=,"
         + PLAIN.format("CompleteAbort,partitions=[]"), 37, 5, [], None, -1),
        (JSON.format("version", 1, 2, TWO, ',"clientTransactionVersion":2'), 60,
         2, ["t-0", "t-2"], 6, 2),
        (JSON.format("version", 1, 2, TWO, ""), 60, 2, ["t-0", "t-2"], 6, 0),
        (JSON.format("type", 0, '"PrepareAbort"', TWO, ""), 60, 3, ["t-0", "t-2"], 6, -1),
        (JSON.format("version", 0, 0, "null", ""), 37, 0, None, 6, -1),
    ],
)  # fmt: skip
def test_states_of_all_releases(
    text: str, value_size: int, status: int, partitions: Any, start: Any, version: int
) -> None:
    name, state = read_state(text.encode(), 8, value_size)
    assert name == "a\n=,"
    assert state is not None
    listed = state.partitions
    flat = None if listed is None else [f"{t}-{n}" for t, group in listed for n in group]
    assert flat == partitions
    assert (state.producer_id, state.producer_epoch, state.timeout_ms) == (5, 1, 9)
    assert (state.status, state.start_ms, state.last_update_ms) == (status, start, 7)
    assert state.client_transaction_version == version


def test_an_expired_id_and_what_an_old_text_does_not_tell() -> None:
    key = " key: transaction_metadata::transactionalId=a payload: x"
    assert read_state(f"{key} payload: <DELETE>".encode(), 15, -1) == ("a payload: x", None)
    with pytest.raises(WireError, match="protocol is not printed"):
        read_state((key + PLAIN.format("Empty,partitions=[]")).encode(), 15, 39)


PLAIN_COMMIT = "offset_commit::group=a payload: \nb,partition=t.x-1-2 payload: offset=7,metadata=m"
JSON_COMMIT = (
    '{"type":"1","data":{"group":"a payload: \\nb","topic":"t.x-1","partition":2}} payload: '
    '{"version":"3","data":{"offset":7,"leaderEpoch":-1,"metadata":"","commitTimestamp":5}}'
)


@pytest.mark.parametrize(
    "text", ["offset::a payload: \nb:t.x-1:2 payload: 7:m", PLAIN_COMMIT, JSON_COMMIT]
)
def test_commits_of_all_releases(text: str) -> None:
    group, topic = "a payload: \nb", "t.x-1"
    key, value = split_printed(f" key: {text}".encode(), 10 + len(group) + len(topic))
    assert read_key(key) == GroupKey(1, group, topic, 2)
    assert value is not None and read_offset(value) == 7


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("group_metadata::group=a payload: ", GroupKey(2, "a payload: ")),
        ('{"metadata":"a payload: "}', GroupKey(2, "a payload: ")),
        ('{"type":"2","data":{"group":"a payload: "}}', GroupKey(2, "a payload: ")),
        ('{"type":"3","data":{"groupId":"a payload: "}}', GroupKey(3, "a payload: ")),
        ("Unknown record type 99 at offset 5, skipping.", GroupKey(99, None)),
    ],
)
def test_groups_of_all_releases(text: str, key: GroupKey) -> None:
    told, value = split_printed(f" key: {text} payload: x".encode(), 15)
    assert (read_key(told), value) == (key, b"x")
