"""A batch names a compression codec that does not exist.

What it finds: a batch with codec 5, 6 or 7, a message of magic 0 or 1 with codec 4 or above, or a
compressed control batch.

Why it is wrong: no codec has that number, zstd came after magic 1, and markers are never
compressed (`MemoryRecords.writeEndTransactionalMarker`). Kafka reads a marker all the same if its
bytes are compressed as its header says, and so it is one here. Of any other nobody knows what it
was, and other checks count it as a batch that may be a marker.

When it is legal: never.

Evidence: the batch.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.contexts.frame import has_fault
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches import faults


def _codec() -> Column:
    return F.col("attributes").bitwiseAND(layout.CODEC_MASK)


CHECK = Check(
    code="batch_codec_invalid",
    severity=ERROR,
    context="frame",
    source="CompressionType.forId",
    fires=lambda: has_fault(faults.CODEC_INVALID),
    excuses=(),
    expected=lambda: F.lit("codec 0 to 4, or 0 to 3 in magic 0 and 1; none for a control batch"),
    found=lambda: text("codec {codec}", codec=_codec()),
    message=lambda: F.when(
        F.col("attributes").bitwiseAND(layout.CONTROL_MASK) != 0,
        text("The control batch at offset {offset_first} has codec {codec}.", codec=_codec()),
    ).otherwise(
        text(
            "The batch at offset {offset_first} cannot be decompressed: its codec number is "
            "{codec}.",
            codec=_codec(),
        )
    ),
)
