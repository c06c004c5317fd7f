"""A real dump of magic 0, 1 and 2, record by record against what the broker's own tool read.

Without Spark. The dump is Kafka 2.8.2 with three generations of clients: plain messages and
wrappers of every codec, both kinds of timestamps, a compacted topic, logs whose format changes.
"""

import gzip
import re
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import oracle
import pytest
from log_builder import LogBuilder

from tests.wire_writer import batches as writer
from tests.wire_writer import offsets_log as group_writer
from tests.wire_writer import txn_log as txn_writer
from udfs.arrow.batches import DecodedBatches, DecodeOptions, decode_batches
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.frames import FrameWalker
from udfs.arrow.offsets_split import offsets_split
from udfs.arrow.rows import RowBuilder, whole_rows
from udfs.arrow.segment import read_segment
from udfs.arrow.txn_log_rows import txn_log_rows
from udfs.wire.batches import faults
from udfs.wire.batches.batch_layout import MAX_OFFSET_SPAN
from udfs.wire.batches.batch_records import iter_batch
from udfs.wire.offsets import offsets_log

DUMP = Path(__file__).resolve().parent.parent / "dumps/v28-legacy-format.tar.gz"
LIMIT = 1 << 28
OPTIONS = DecodeOptions(LIMIT, LIMIT, 0, with_records=True)
WHOLE_FILE = {
    "topic": "t", "base_offset": 0, "next_base_offset": None, "start": 0, "cleaned_below": 0,
    "cuts": None, "cleaner_reach": None, "snapshots": None, "high_watermark": None,
    "log_start": None,
    "partition_index": 0, "file_index": 0,
    "file_size": 1 << 20, "beside": None, "single_copy": True,
}  # fmt: skip
# Not a divisor of anything: seams come to lie at every place of a message.
SPLIT_BYTES = 211
# Of truncations and changed bytes; each costs milliseconds.
STEP = 5
BATCH = re.compile(
    r"(?:offset: |baseOffset: \d+ lastOffset: )(?P<last>\d+) .*position: (?P<position>\d+) .*"
    r"magic: (?P<magic>\d)"
)
RECORD = re.compile(
    r"\| offset: (?P<offset>\d+) .*keySize: (?P<key>-?\d+) valueSize: (?P<value>-?\d+) "
    r"\w+: (?P<timestamp>-?\d+) "
)


class Told(NamedTuple):
    """What a segment holds: (position, last offset, magic) of batches, and its records.

    A record is (offset, size of the key, size of the value, timestamp in ms), sizes -1 for null.
    """

    batches: list[tuple[int, ...]]
    records: list[tuple[int, ...]]


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("legacy")
    with tarfile.open(DUMP) as archive:
        archive.extractall(folder, filter="data")
    return folder / "v28-legacy-format"


def segments(scenario: Path) -> Iterator[tuple[Path, Path]]:
    """Every segment, and the text that the broker's tool printed of it."""
    for log in sorted(scenario.glob("dump/broker-0/*/*.log")):
        yield log, scenario / "oracle/dump-log/0" / log.parent.name / f"{log.name}.txt"


def told_by_the_broker(text: Path) -> Told:
    told = Told([], [])
    for line in text.read_text("utf-8").splitlines():
        if record := RECORD.match(line):
            told.records.append(
                tuple(int(record[name]) for name in ("offset", "key", "value", "timestamp"))
            )
        elif batch := BATCH.match(line):
            told.batches.append(tuple(int(batch[name]) for name in ("position", "last", "magic")))
    return told


def decoded(
    log: Path, start: int = 0, length: int | None = None
) -> tuple[ByteRange, DecodedBatches]:
    size, base = log.stat().st_size, int(log.stem)
    with log.open("rb", buffering=0) as file:
        source = ByteRange(file, start, size if length is None else length, size)
        frames = FrameWalker(source, LIMIT, base, base + MAX_OFFSET_SPAN).walk()
    assert frames.damages == []
    return source, decode_batches(source, frames.positions, log.parent.name, OPTIONS)


def told_by_us(log: Path) -> Told:
    source, read = decoded(log)
    headers, told = read.headers, Told([], [])
    columns = (headers.position, headers.last_offset, headers.magic)
    told.batches.extend(zip(*(column.tolist() for column in columns), strict=True))
    for i, (start, length) in enumerate(zip(headers.position, headers.length, strict=True)):
        records = list(iter_batch(source.data[start : start + length].tobytes(), LIMIT))
        assert len(records) == headers.record_count[i]
        for one in records:
            timestamp = headers.base_timestamp[i] + one.timestamp_delta
            told.records.append(
                (
                    int(headers.base_offset[i]) + one.offset_delta,
                    -1 if one.key is None else len(one.key),
                    -1 if one.value is None else len(one.value),
                    int(headers.max_timestamp[i] if headers.log_append_time[i] else timestamp),
                )
            )
    return told


def test_every_batch_and_record_is_what_the_broker_read(scenario: Path) -> None:
    old = 0
    for log, text in segments(scenario):
        ours = told_by_us(log)
        assert ours == told_by_the_broker(text), log
        old += sum(batch[2] < 2 for batch in ours.batches)
    assert old == 1196


def test_the_only_faults_are_what_the_cleaner_left(scenario: Path) -> None:
    faulty = set()
    for log, _ in segments(scenario):
        read = decoded(log)[1]
        for fault in read.fault[(read.headers.magic < 2) & (read.fault != 0)].tolist():
            faulty.add((log.parent.name, int(log.stem), fault))
    assert faulty == {("m1kv-0", 0, faults.COUNT_BELOW_RANGE)}


def test_splits_find_the_batches_that_begin_in_them(scenario: Path) -> None:
    for log, _ in segments(scenario):
        whole = decoded(log)[1].headers.position
        found = [
            decoded(log, start, SPLIT_BYTES)[1].headers.position + start
            for start in range(0, log.stat().st_size, SPLIT_BYTES)
        ]
        assert np.concatenate([whole[:0], *found]).tolist() == whole.tolist(), log


def test_consumers_received_the_offsets_that_we_read(scenario: Path) -> None:
    compared = 0
    for told in oracle.partitions(scenario):
        name = f"{told['topic']}-{told['partition']}"
        folder = scenario / "dump/broker-0" / name
        stored = list(oracle.stored_batches(folder))
        last = max((batch.last_offset for batch in stored), default=-1)
        assert last + 1 == told["log_end_offset"], name
        aborted = [entry._asdict() for entry in oracle.index_entries(folder)]
        for isolation, end in (
            ("read_committed", told["last_stable_offset"]),
            ("read_uncommitted", told["log_end_offset"]),
        ):
            answer = scenario / "oracle" / isolation / f"{name}.txt"
            if answer.exists():
                compared += 1
                start = told["log_start_offset"]
                committed = isolation == "read_committed"
                seen = oracle.visible_offsets(stored, aborted, start, end, committed)
                assert seen == oracle.read_offsets(answer), (isolation, name)
    assert compared == 36


def summary_of(data: bytes) -> dict[str, Any]:
    source = ByteRange(BytesIO(data), 0, len(data), len(data))
    *_, last = read_segment(source, WHOLE_FILE, OPTIONS)
    summary: dict[str, Any] = whole_rows([last]).column("summary")[0].as_py()
    return summary


def test_no_truncation_and_no_changed_byte_costs_more_than_its_batch() -> None:
    builder = LogBuilder()
    for line in (
        "v0 size=40", "v0 n=3 codec=gzip", "v0 codec=lz4_old", "v1 null_value",
        "v1 deltas=0,2 codec=snappy logappend", "plain n=2", "v1 n=2 codec=lz4",
    ):  # fmt: skip
        builder.add(line)
    whole = bytes(builder.segments[0])
    ends = [one.end for one in builder.placed]
    assert summary_of(whole)["batches"] == len(ends)
    for size in range(0, len(whole), STEP):
        assert summary_of(whole[:size])["batches"] == sum(end <= size for end in ends)
    for at in range(0, len(whole), STEP):
        changed = bytearray(whole)
        changed[at] ^= 0xFF
        assert summary_of(bytes(changed))["batches"] >= len(ends) - 1, at


def test_offset_commits_are_read_in_every_format(tmp_path: Path) -> None:
    group = offsets_log.GroupKey(1, "g", "t", 0)
    key = group_writer.encode_key(group)
    value = [
        group_writer.encode_offset_commit(offsets_log.OffsetCommit(1, n, "", 0)) for n in range(6)
    ]
    inside = [writer.legacy_message(n, key, value[3 + n], magic=1) for n in range(2)]
    log = tmp_path / "__consumer_offsets-0/00000000000000000000.log"
    log.parent.mkdir()
    log.write_bytes(
        writer.legacy_message(0, key, value[1], magic=0)
        + writer.legacy_message(1, key, None, magic=1)
        + writer.legacy_message(3, None, gzip.compress(b"".join(inside)), magic=1, attributes=1)
        + writer.batch(4, [writer.record(0, 0, key, value[5])], base_timestamp=0)
    )
    source, read = decoded(log)
    split = {"start": 0, "partition": 0, "topic_partitions": 1, "file_index": 0}
    offsets = offsets_split(source, read, split, LIMIT)
    commits, _ = offsets.commits()
    assert list(offsets.faults()) == []
    assert commits.offset.tolist() == [0, 1, 2, 3, 4]
    assert commits.committed[~commits.tombstone].tolist() == [1, 3, 4, 5]
    assert commits.tombstone.tolist() == [False, True, False, False, False]


def test_transactional_ids_are_read_in_every_format(tmp_path: Path) -> None:
    key = txn_writer.encode_key("id")
    log = tmp_path / "__transaction_state-0/00000000000000000000.log"
    log.parent.mkdir()
    log.write_bytes(
        writer.legacy_message(0, key, None, magic=1, timestamp=7)
        + writer.batch(1, [writer.record(0, 0, key, None)], base_timestamp=8)
    )
    source, read = decoded(log)
    builder = RowBuilder({"partition_index": 0, "file_index": 0, "start": 0})
    (rows,) = txn_log_rows(builder, source, read.headers, LIMIT, False)
    entries = whole_rows([rows]).column("txn_log_record").to_pylist()
    found = [(row["offset"], row["timestamp"], row["tombstone"], row["error"]) for row in entries]
    assert found == [(0, 7, True, None), (1, 8, True, None)]
