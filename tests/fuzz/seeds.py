"""What the fuzzer changes: files of real brokers, and what only other clients write."""

import io
import json
import random
import struct
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from second_opinion.random_logs import RandomLog

from tests.wire_writer import batches as writer
from udfs.wire.batches.batch_records import iter_batch
from udfs.wire.errors import WireError

DUMPS = Path(__file__).resolve().parent.parent / "dumps"
ARCHIVES = ("v28-legacy-format", "v39-tv0", "tv2-skipped-markers", "mixed-clients")
LARGEST = 3000
LARGEST_TEXT = 6000
EACH_KIND = 40
RANDOM_LOGS = 60
LIMIT = 1 << 20
SUFFIXES = {
    ".log": "segment",
    ".txnindex": "txn_index",
    ".snapshot": "producer_snapshot",
    ".index": "offset_index",
    ".timeindex": "time_index",
    "leader-epoch-checkpoint": "leader_epoch_checkpoint",
    "-offset-checkpoint": "checkpoint",
    "meta.properties": "properties",
}
MANIFEST = json.dumps(
    {
        "format": 1,
        "fetched": True,
        "directories": [
            {"path": "t-0", "copy_start_ms": 1_700_000_000_000, "high_watermark": 7,
             "log_start": 0, "end_offset": 9, "settled": True},
        ],
        "not_fetched": [{"topic": "t", "partition": 1}],
    }
).encode()  # fmt: skip
ANSWERS = json.dumps(
    {
        "format": 1,
        "cluster_id": "c",
        "partitions": {"t": 3},
        "answers": [
            {"request": "DescribeConfigs", "answer": {"results": [
                {"resource_type": 2, "resource_name": "t",
                 "configs": [{"name": "cleanup.policy", "value": "compact"}]},
                {"resource_type": 4, "resource_name": "1",
                 "configs": [{"name": "producer.id.expiration.ms", "value": "86400000"},
                             {"name": "transaction.max.timeout.ms", "value": "900000"}]},
            ]}},
        ],
    }
).encode()  # fmt: skip


class Seed(NamedTuple):
    """Bytes to start from. `kind`: what they are; `topic`, `base`: of a segment."""

    kind: str
    data: bytes
    topic: str = "t"
    base: int = 0


def kind_of(name: str) -> str | None:
    return next((kind for suffix, kind in SUFFIXES.items() if name.endswith(suffix)), None)


def whole_batches(data: bytes, largest: int) -> bytes:
    """The head of a segment that ends with a batch."""
    end = 0
    for at, size in frames(data):
        if at + size > largest and end:
            break
        end = at + size
    return data[:end]


def frames(data: bytes) -> Iterator[tuple[int, int]]:
    """Position and size of the batches that stand one after another from the start."""
    at = 0
    while at + 17 <= len(data):
        (length,) = struct.unpack_from(">i", data, at + 8)
        if length < 14 or at + 12 + length > len(data):
            return
        yield at, 12 + length
        at += 12 + length


def _of_archives() -> Iterator[Seed]:
    for name in ARCHIVES:
        with tarfile.open(DUMPS / f"{name}.tar.gz") as archive:
            for one in archive:
                if not one.isfile() or not one.size:
                    continue
                opened = archive.extractfile(one)
                assert opened is not None
                content = opened.read(1 << 20)
                yield from _of_file(one.name, content)


def _of_file(path: str, content: bytes) -> Iterator[Seed]:
    *_, folder, name = path.split("/")
    if "/oracle/dump-log/" in path:
        yield Seed("text", content[:LARGEST_TEXT], folder)
        return
    kind = kind_of(name) if "/dump/" in path else None
    if kind is None:
        return
    if kind != "segment":
        yield Seed(kind, content[:LARGEST], folder.rpartition("-")[0])
        return
    topic, base = folder.rpartition("-")[0], int(name.partition(".")[0])
    cut = whole_batches(content, LARGEST)
    if cut:
        yield Seed("metadata_log" if topic == "__cluster_metadata" else kind, cut, topic, base)


def _of_records(segments: list[Seed]) -> Iterator[Seed]:
    """Keys, values and plain sections of the records of internal topics."""
    names = {"__transaction_state": "txn", "__consumer_offsets": "group",
             "__cluster_metadata": "metadata"}  # fmt: skip
    for one in segments:
        if one.topic not in names:
            continue
        for at, size in frames(one.data):
            try:
                records = list(iter_batch(one.data[at : at + size], LIMIT))
            except WireError:
                continue
            for record in records[:3]:
                yield Seed(f"{names[one.topic]}_key", record.key or b"")
                yield Seed(f"{names[one.topic]}_value", record.value or b"")


def _made() -> Iterator[Seed]:
    """Codecs in all their forms, and logs of random shapes."""
    for i in range(RANDOM_LOGS):
        log = RandomLog(random.Random(i))
        for base, content in log.segments.items():
            yield Seed("segment", bytes(content), "t", base)
        for content in log.snapshots.values():
            yield Seed("producer_snapshot", content)
    for size in (0, 1, 30, 700, 70_000):
        plain = bytes(97 + i * i % 26 for i in range(size))
        for codec in range(1, 5):
            yield Seed(f"codec_{codec}", writer.compress(codec, plain))
        yield Seed("codec_2", writer.snappy_raw(plain))
        yield Seed("codec_3", writer.lz4_of_magic_0(plain))
    for codec in range(1, 5):
        yield Seed(f"codec_{codec}", writer.compress(codec, bytes(1 << 22)))
    yield Seed("manifest", MANIFEST)
    yield Seed("answers", ANSWERS)


@cache
def seeds() -> dict[str, list[Seed]]:
    """All seeds by kind, at most EACH_KIND of one kind and topic, the same in every run."""
    chance = random.Random(1)
    found: dict[tuple[str, str], list[Seed]] = defaultdict(list)
    first = list(_of_archives())
    of_segments = [one for one in first if one.kind in ("segment", "metadata_log")]
    for one in [*first, *_of_records(of_segments), *_made()]:
        internal = one.topic if one.topic.startswith("__") else ""
        found[one.kind, internal].append(one)
    by_kind: dict[str, list[Seed]] = defaultdict(list)
    for (kind, _), of_kind in sorted(found.items()):
        by_kind[kind] += chance.sample(of_kind, min(EACH_KIND, len(of_kind)))
    return dict(by_kind)


def opened(data: bytes) -> io.BytesIO:
    return io.BytesIO(data)
