"""A batch names a compression codec that does not exist.

What it finds: a batch with codec 5, 6 or 7, a message of magic 0 or 1 with codec 4 or above, or a
compressed control batch.

Why it is wrong: no codec has that number, zstd came after magic 1, and markers are never
compressed.

When it is legal: never.

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.contexts.frame import has_fault
from udfs.wire.batches import faults

CHECK = Check(
    code="batch_codec_invalid",
    severity=ERROR,
    context="frame",
    source="CompressionType.forId",
    fires=lambda: has_fault(faults.CODEC_INVALID),
    excuses=(),
    expected=lambda: F.lit("codec 0 to 4, or 0 to 3 in magic 0 and 1; none for a control batch"),
    found=lambda: text("codec {codec}", codec=F.col("attributes").bitwiseAND(7)),
    message=lambda: text(
        "The batch at offset {offset_first} cannot be decompressed: its codec number is {codec}.",
        codec=F.col("attributes").bitwiseAND(7),
    ),
)
