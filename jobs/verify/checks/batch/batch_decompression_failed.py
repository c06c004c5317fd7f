"""The records of a batch cannot be decompressed.

What it finds: a batch with a valid checksum whose records cannot be decompressed, or decompress to
more than the limit max_decompressed_bytes.

Why it is wrong: the compressed data were already broken when the producer sent them; no consumer
can read them.

When it is legal: never. Snappy without framing is accepted, and so are concatenated gzip and zstd
streams, and the wrong lz4 header checksum of old clients in messages of magic 0. A batch above the
limit may be sound: it was not read.

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.contexts.frame import has_fault
from jobs.verify.verdict import CONFIG_UNKNOWN, inconclusive
from udfs.wire.batches import faults

CHECK = Check(
    code="batch_decompression_failed",
    severity=ERROR,
    context="frame",
    source="DefaultRecordBatch.compressedIterator",
    fires=lambda: has_fault(faults.DECOMPRESSION_FAILED | faults.DECOMPRESSED_SIZE_LIMIT),
    excuses=(inconclusive(CONFIG_UNKNOWN, lambda: has_fault(faults.DECOMPRESSED_SIZE_LIMIT)),),
    expected=lambda: F.lit("records that decompress within the limit"),
    found=lambda: F.when(
        has_fault(faults.DECOMPRESSED_SIZE_LIMIT), F.lit("more than the limit")
    ).otherwise(F.lit("undecodable bytes")),
    message=lambda: text(
        "The records of the batch at offset {offset_first} {problem}.",
        problem=F.when(
            has_fault(faults.DECOMPRESSED_SIZE_LIMIT),
            F.lit("decompress to more than max_decompressed_bytes and were not checked"),
        ).otherwise(F.lit("cannot be decompressed")),
    ),
    needs_records=True,
)
