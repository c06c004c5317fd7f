"""Damage never crashes the audit, is told, and costs no batch that it does not touch."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from wire.vectors import PARTITION

from benchmarks import damage
from jobs import main
from jobs.audit.audit import Request
from jobs.cli.progress import Progress
from jobs.model.settings import load
from tests.wire_writer import batches as writer
from udfs.wire import codecs
from udfs.wire.batches import batch_layout as layout

SEGMENT = f"{0:020d}.log"
STEP = 3
NOT_UNDER_THE_CHECKSUM = range(17)


def write(folder: Path, content: bytes) -> None:
    folder.mkdir(parents=True)
    (folder / SEGMENT).write_bytes(content)


@pytest.mark.spark
def test_no_truncation_and_no_flipped_byte_crashes(spark: SparkSession, tmp_path: Path) -> None:
    for size in range(0, len(PARTITION), STEP):
        write(tmp_path / "dump" / f"cut-{size}", PARTITION[:size])
    for at in range(0, len(PARTITION), STEP):
        flipped = bytearray(PARTITION)
        flipped[at] ^= 0xFF
        write(tmp_path / "dump" / f"flip-{at}", bytes(flipped))
    request = Request([tmp_path / "dump"], "", None, "records", load())
    done = main.audit(spark, request, Progress(None, quiet=True))
    assert {outcome.status for outcome in done.verified.outcomes} == {"ran"}
    assert done.verdict.incomplete == []
    facts = done.replayed.partition_info.select("partition_index", "topic", "partition", "batches")
    rows = {(row.topic, row.partition): row for row in facts.collect()}
    damaged = {
        (row.topic, row.partition)
        for row in done.read.damages.join(F.broadcast(facts), on="partition_index").collect()
    }
    for (topic, number), row in rows.items():
        if topic == "flip":
            # One byte costs one batch at most; the others are all read.
            assert row.batches >= 9, number
            assert row.batches == 10 or (topic, number) in damaged, number
    done.release()


def test_the_page_is_what_becomes_of_damaged_segments() -> None:
    found = damage.results(damage.ROUNDS)
    told = damage.PAGE_OF_DOCS.read_text("utf-8")
    assert damage.page(damage.table(found), told) == told, "run: python -m benchmarks.damage"
    assert found.pop("none").told.total() == 0
    for kind, one in found.items():
        assert one.read >= one.outside * 0.999, kind
        assert one.accused == 0, kind
        assert not one.silent or "name" in kind or "empty" in kind, kind
        assert not one.altered or "no checksum" in kind or "anywhere" in kind, kind


# Prints what each bomb is found to be, and by how many KiB all of them made the process grow.
READ_BOMBS = """
import pickle, resource, sys
from udfs.wire.batches import batch_layout as layout
from udfs.wire import codecs
from tests.wire_writer import batches as writer
from udfs.wire.errors import WireError
used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
bombs, limit = pickle.load(sys.stdin.buffer)
before, found = used(), []
for codec, bomb in bombs.items():
    try:
        codecs.decompress(codec, bomb, limit)
    except WireError as error:
        found.append(error.reason)
print(*found, used() - before)
"""


def test_a_bomb_costs_no_more_memory_than_the_limit() -> None:
    limit = 16 << 20
    every = (codecs.GZIP, codecs.SNAPPY, codecs.LZ4, codecs.ZSTD)
    bombs = {codec: damage.bomb_section(codec) for codec in every}
    done = subprocess.run(
        [sys.executable, "-c", READ_BOMBS],
        input=pickle.dumps((bombs, limit)),
        cwd=damage.ROOT, capture_output=True, check=True,
    )  # fmt: skip
    *reasons, grown = done.stdout.decode().split()
    assert reasons == ["decompressed_size_limit"] * len(every)
    assert int(grown) << 10 < 3 * limit


def test_what_a_damaged_batch_holds_is_no_batch_of_the_log() -> None:
    inner = writer.batch(7, [writer.record(0, 0, None, b"inner")], base_timestamp=0)
    behind = writer.batch(9, [writer.record(0, 0, None, b"behind")], base_timestamp=0)
    for holds_it in (
        writer.legacy_message(5, b"key", inner, magic=0),
        writer.legacy_message(5, b"key", inner, magic=1, timestamp=0),
        writer.batch(5, [writer.record(0, 0, b"key", inner)], base_timestamp=0),
    ):
        flipped = bytearray(holds_it)
        flipped[holds_it.index(b"key")] ^= 1
        content = bytes(flipped) + behind
        assert damage.batch_positions(content, 0) == [len(holds_it)]
    # The last of them, with a length that leads to the batch behind the next one.
    swallowed = bytearray(holds_it + inner + behind)
    length = len(holds_it) + len(inner) - layout.LOG_OVERHEAD
    swallowed[layout.LENGTH : layout.LOG_OVERHEAD] = length.to_bytes(4, "big")
    ends = [len(holds_it), len(holds_it) + len(inner)]
    assert damage.batch_positions(bytes(swallowed), 0) == ends
