"""A batch has a magic byte that no Kafka release writes.

What it finds: bytes in the middle of a segment whose magic byte is not 0, 1 or 2. Also a batch at
the end of a segment that is complete except for that byte: its checksum is valid, or it ends with
the file.

Why it is wrong: there is no such format version (RecordBatch.CURRENT_MAGIC_VALUE is 2).

When it is legal: bytes at the end of the active segment that are not a complete batch are reported
by active_tail_torn.

Evidence: the damaged bytes.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.conditions.settled import unstable_damage

CHECK = Check(
    code="batch_magic_unknown",
    severity=ERROR,
    context="frame",
    source="FileLogInputStream.nextBatch",
    fires=lambda: (F.col("reason_of_failure") == "magic_unknown") & ~F.col("tail"),
    excuses=(unstable_damage(),),
    expected=lambda: F.lit("magic 0, 1 or 2"),
    found=lambda: F.lit("another magic byte"),
    message=lambda: text(
        "No batch can be read at byte {byte_position}: {byte_length} bytes up to the next "
        "batch are lost."
    ),
)
