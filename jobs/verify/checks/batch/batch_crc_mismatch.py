"""The checksum of a batch is wrong.

What it finds: a batch of plausible length whose stored checksum does not match its bytes.

Why it is wrong: the checksum covers all that the producer wrote. A broker that reads such a batch
throws CorruptRecordException, and consumers stop.

When it is legal: never below the high watermark. At the end of the active segment it may be an
incomplete write.

Evidence: the damaged bytes.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.conditions.settled import unstable_damage

CHECK = Check(
    code="batch_crc_mismatch",
    severity=ERROR,
    context="frame",
    source="DefaultRecordBatch.ensureValid",
    fires=lambda: (F.col("reason_of_failure") == "crc_mismatch") & F.col("complete_frame"),
    excuses=(unstable_damage(),),
    expected=lambda: F.lit("a matching checksum"),
    found=lambda: F.lit("another checksum"),
    message=lambda: text(
        "The checksum of the batch at byte {byte_position} does not match its bytes: they changed "
        "after they were written."
    ),
)
