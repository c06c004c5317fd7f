"""Truncating a segment at any byte, or flipping any byte, never crashes the audit."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from wire.vectors import PARTITION

from jobs import main
from jobs._audit import Request
from jobs._progress import Progress
from jobs._settings import load

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
    facts = done.replayed.facts.select("partition_index", "topic", "partition", "batches")
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
