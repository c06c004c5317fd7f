"""What is fed: each target takes bytes, and may raise nothing but the error that it documents."""

import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fuzz.seeds import Seed
from jobs.collect import broker_answers
from jobs.collect.collect import collect
from jobs.collect.log_directory import read_log_directory
from jobs.collect.manifest import NAME, ManifestError, read_manifest
from jobs.decode.splits import plan_splits
from jobs.model.errors import UsageError
from udfs.arrow.batches import DecodeOptions
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.export_split import export_split
from udfs.arrow.read_pack import _read_or_report, read_split
from udfs.arrow.rows import whole_rows
from udfs.storage.ahead import opened_ahead
from udfs.wire import codecs, varint
from udfs.wire.batches import records
from udfs.wire.batches.batch_records import iter_batch
from udfs.wire.coordinator import txn_log
from udfs.wire.coordinator.txn_log_values import read_values
from udfs.wire.errors import WireError
from udfs.wire.legacy.legacy_messages import iter_messages
from udfs.wire.metadata import metadata_log
from udfs.wire.offsets import offset_commits, offsets_log
from udfs.wire.side_files import (
    checkpoints,
    leader_epochs,
    producer_snapshot,
    sparse_index,
    txn_index,
)
from udfs.wire.text import text_offsets, text_txn_log
from udfs.wire.text.text_sections import sections

LIMIT = 1 << 20
# More would be held in memory than a section may have.
OPTIONS = DecodeOptions(LIMIT, LIMIT, 86_400_000, True)
HEADERS = DecodeOptions(LIMIT, LIMIT, 86_400_000, False)
CHECKPOINTS = (
    "replication-offset-checkpoint", "log-start-offset-checkpoint",
    "recovery-point-offset-checkpoint", "cleaner-offset-checkpoint",
)  # fmt: skip


class Target(NamedTuple):
    """`kinds` of seeds it is fed with, its share of all inputs, and the errors it may raise."""

    name: str
    kinds: tuple[str, ...]
    weight: float
    feed: Callable[[bytes, Seed], None]
    documented: tuple[type[Exception], ...] = (WireError,)


def split_of(kind: str, size: int, seed: Seed, number: int) -> dict[str, Any]:
    """A split of a file; `number` chooses among what the planner may say of its partition."""
    compared = number % 3 == 0
    return {
        "partition_index": 0, "file_index": 0, "partition": number % 5, "topic": seed.topic,
        "topic_partitions": 5, "coordinator_partitions": 5 if number % 2 else None, "kind": kind,
        "root": "", "path": "", "start": 0, "length": size, "file_size": size,
        "base_offset": seed.base, "next_base_offset": 50 if number % 4 == 1 else None,
        "cleaned_below": 20 if number % 4 == 2 else 0, "high_watermark": None if number % 2 else 30,
        "single_copy": bool(number % 2), "cuts": [10, 50] if compared else None,
        "cleaner_reach": 40 if compared else None, "buckets": 2 if compared else None,
        "beside": None, "log_base": seed.base, "log_start": number % 7,
        "snapshots": [0, 5, 60, 105] if number % 2 else None, "first_byte": None,
        "first_line": None, "with_records": None, "decoded": None,
    }  # fmt: skip


def drain(rows: Any) -> None:
    for _ in rows:
        pass


def number_of(data: bytes) -> int:
    """A number that depends on the input alone."""
    return len(data) + sum(data[:40])


def read(kind: str) -> Callable[[bytes, Seed], None]:
    """The way every file goes in an audit; a segment in several splits now and then."""

    def feed(data: bytes, seed: Seed) -> None:
        number = number_of(data)
        split = split_of(kind, len(data), seed, number)
        options = OPTIONS if number % 8 else HEADERS
        pieces = [(0, len(data))]
        if kind == "segment" and number % 5 == 0 and len(data) > 4:
            pieces = [(0, len(data) // 2), (len(data) // 2, len(data) - len(data) // 2)]
        for start, length in pieces:
            piece = split | {"start": start, "length": length}
            whole_rows(read_split(io.BytesIO(data), piece, options))

    return feed


def export(data: bytes, seed: Seed) -> None:
    number = number_of(data)
    split = split_of("segment", len(data), seed, number) | {
        "from_offset": number % 9, "end_offset": 1 << 40, "committed": bool(number % 3),
        "aborted_behind": [{"producer_id": 1, "first_offset": 3}],
        "outcomes_told": [{"producer_id": 1, "first_offset": 0, "last_offset": 9, "commit": False}],
    }  # fmt: skip
    source = ByteRange(io.BytesIO(data), 0, len(data), len(data))
    drain(export_split(source, split, OPTIONS))


def text(data: bytes, seed: Seed) -> None:
    for section in sections(io.BytesIO(data), len(data)):
        for kind in ("segment", "txn_index", "producer_snapshot", "offset_index", "time_index"):
            split = split_of(kind, len(data), seed, number_of(data)) | {
                "first_byte": section.first_byte, "first_line": section.first_line,
                "with_records": section.with_records, "decoded": section.decoded,
            }  # fmt: skip
            whole_rows(read_split(io.BytesIO(data), split, OPTIONS))


def lines_of_text(data: bytes, seed: Seed) -> None:
    for line in data.splitlines():
        for parse in (
            lambda it: text_txn_log.read_state(it, 9, 30),
            lambda it: text_offsets.split_printed(it, 30),
            text_offsets.read_key,
            text_offsets.read_offset,
        ):
            try:
                parse(line[line.find(b" key: ") :] if b" key: " in line else line)
            except WireError:
                continue


def decompressed(codec: int) -> Callable[[bytes, Seed], None]:
    def feed(data: bytes, seed: Seed) -> None:
        plain = codecs.decompress(codec, data, LIMIT)
        if len(plain) > LIMIT:
            raise AssertionError(f"{len(plain)} bytes, limit {LIMIT}")
        codecs.decompress_magic_0(codec, data, LIMIT)

    return feed


def each(*parsers: Callable[[Any], Any], as_text: bool = False) -> Callable[[bytes, Seed], None]:
    """All parsers, each of which may refuse."""

    def feed(data: bytes, seed: Seed) -> None:
        given = data.decode("utf-8", "replace") if as_text else data
        refused: WireError | None = None
        for parse in parsers:
            try:
                parse(given)
            except WireError as error:
                refused = error
        if refused:
            raise refused

    return feed


def columns_of_values(data: bytes) -> None:
    array = np.frombuffer(data, dtype=np.uint8)
    starts = np.array([0, len(data) // 2], dtype=np.int64)
    lengths = np.array([len(data), len(data) - len(data) // 2], dtype=np.int64)
    read_values(array, starts, lengths)
    offset_commits.read_commits(array, starts, lengths)


def sections_of_records(data: bytes) -> None:
    array = np.frombuffer(data, dtype=np.uint8)
    count = np.array([1 + len(data) % 5], dtype=np.int64)
    bounds = np.array([0], dtype=np.int64), np.array([len(data)], dtype=np.int64)
    records.find_spans(array, *bounds, count)
    drain(records.iter_records(data, 1 + len(data) % 5))


def one_batch(data: bytes, seed: Seed) -> None:
    if len(data) >= 61:
        drain(iter_batch(data, LIMIT))


def beside(name: str, read_it: Callable[[Path], Any]) -> Callable[[bytes, Seed], None]:
    """A small file of a log directory."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))

    def feed(data: bytes, seed: Seed) -> None:
        (folder / name).write_bytes(data)
        read_it(folder)

    return feed


def log_directory() -> Callable[[bytes, Seed], None]:
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    names = {"checkpoint": CHECKPOINTS, "properties": ("meta.properties",)}

    def feed(data: bytes, seed: Seed) -> None:
        of_kind = names[seed.kind]
        (folder / of_kind[number_of(data) % len(of_kind)]).write_bytes(data)
        read_log_directory(folder, "", lambda text: None)

    return feed


def whole_dump() -> Callable[[bytes, Seed], None]:
    """A dump of one partition with all that lies beside it, listed, planned and read."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    place = folder / "t-0"
    place.mkdir()
    names = {
        "segment": place / f"{0:020}.log", "txn_index": place / f"{0:020}.txnindex",
        "producer_snapshot": place / f"{0:020}.snapshot", "offset_index": place / f"{0:020}.index",
        "time_index": place / f"{0:020}.timeindex", "checkpoint": folder / CHECKPOINTS[0],
        "leader_epoch_checkpoint": place / "leader-epoch-checkpoint",
        "properties": folder / "meta.properties", "manifest": folder / NAME,
        "answers": folder / broker_answers.NAME,
    }  # fmt: skip
    names["segment"].write_bytes(b"")

    def feed(data: bytes, seed: Seed) -> None:
        names[seed.kind].write_bytes(data)
        dump = collect([folder])
        for split, opened in opened_ahead(plan_splits(dump, 1 << 40)):
            drain(_read_or_report(split, opened, OPTIONS))

    return feed


def targets() -> list[Target]:
    """All targets."""
    everything = ("segment", "txn_index", "producer_snapshot", "offset_index", "time_index",
                  "checkpoint", "leader_epoch_checkpoint", "properties", "manifest",
                  "answers")  # fmt: skip
    of_records = ("txn_key", "txn_value", "group_key", "group_value", "metadata_value")
    plain = ("checkpoint", "properties", "leader_epoch_checkpoint")
    return [
        Target("varints", of_records, 4, each(
            lambda it: varint.decode_unsigned_varint(it, 0), lambda it: varint.decode_varint(it, 0),
            lambda it: varint.decode_varlong(it, 0))),
        Target("coordinator records", ("txn_key", "txn_value"), 20,
               each(txn_log.decode_key, txn_log.decode_value)),
        Target("group records", ("group_key", "group_value"), 20, each(
            offsets_log.decode_key, offsets_log.decode_offset_commit,
            offsets_log.decode_group_metadata)),
        Target("metadata records", ("metadata_value",), 12, each(metadata_log.decode), ()),
        Target("values in columns", ("txn_value", "group_value"), 4, each(columns_of_values), ()),
        *[Target(f"codec {codec}", (f"codec_{codec}",), 6, decompressed(codec))
          for codec in range(1, 5)],
        Target("sections of records", ("segment",), 4, each(sections_of_records)),
        Target("old messages", ("segment",), 3, each(lambda it: drain(iter_messages(it)))),
        Target("one batch", ("segment", "metadata_log"), 6, one_batch),
        Target("producer snapshot", ("producer_snapshot",), 6,
               each(producer_snapshot.read_entries)),
        Target("indexes", ("txn_index", "offset_index", "time_index"), 6, each(
            txn_index.decode,
            lambda it: sparse_index.offset_index(np.frombuffer(it, dtype=np.uint8), 7),
            lambda it: sparse_index.time_index(np.frombuffer(it, dtype=np.uint8), 7))),
        Target("checkpoints and properties", plain, 8, each(
            checkpoints.parse_offset_checkpoint, checkpoints.parse_leader_epochs,
            checkpoints.parse_properties, leader_epochs.decode, as_text=True)),
        Target("lines of texts", ("text",), 2, lines_of_text, ()),
        Target("manifest", ("manifest",), 2, beside(NAME, read_manifest), (ManifestError,)),
        Target("broker answers", ("answers",), 2,
               beside(broker_answers.NAME, broker_answers.read_answers),
               (broker_answers.AnswersError,)),
        Target("log directory", ("checkpoint", "properties"), 1, log_directory(), ()),
        Target("segment", ("segment",), 6, read("segment"), ()),
        Target("metadata log", ("metadata_log",), 1, read("metadata_log"), ()),
        Target("metadata snapshot", ("metadata_log",), 0.3, read("metadata_snapshot"), ()),
        Target("earlier coordinator log", ("segment",), 0.3, read("earlier_coordinator_log"), ()),
        Target("snapshot of a partition", ("producer_snapshot",), 1, read("producer_snapshot"), ()),
        Target("txnindex of a partition", ("txn_index",), 1, read("txn_index"), ()),
        Target("index of a partition", ("offset_index",), 0.5, read("offset_index"), ()),
        Target("timeindex of a partition", ("time_index",), 0.5, read("time_index"), ()),
        Target("epochs of a partition", ("leader_epoch_checkpoint",), 0.5,
               read("leader_epoch_checkpoint"), ()),
        Target("export", ("segment",), 2, export, ()),
        Target("text", ("text",), 1.5, text, ()),
        Target("whole dump", everything, 0.4, whole_dump(), (UsageError,)),
    ]  # fmt: skip
