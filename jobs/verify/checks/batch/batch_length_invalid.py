"""A batch has an impossible length.

What it finds: bytes in the middle of a segment whose length field is below the minimum of the
format, extends beyond the end of the file, or covers a later batch that is proven to be valid.

Why it is wrong: a broker cannot find the next batch (FileLogInputStream) and stops reading the
segment.

When it is legal: only at the end of the active segment, where active_tail_torn reports it.

Evidence: the damaged bytes.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.conditions.settled import unstable_damage

# How the header at the damage fails, by the names of udfs/arrow/frames.py.
LENGTH_FAULTS = ("length_invalid", "batch_cut", "header_cut", "zero_bytes")

CHECK = Check(
    code="batch_length_invalid",
    severity=ERROR,
    context="frame",
    source="FileLogInputStream.nextBatch",
    fires=lambda: (
        (
            F.col("reason_of_failure").isin(*LENGTH_FAULTS)
            | ((F.col("reason_of_failure") == "crc_mismatch") & ~F.col("complete_frame"))
        )
        & ~F.col("tail")
    ),
    excuses=(unstable_damage(),),
    expected=lambda: F.lit("a length within the format and the file"),
    found=lambda: text("{reason_of_failure}"),
    message=lambda: text(
        "No batch can be read at byte {byte_position}: {byte_length} bytes up to the next "
        "batch are lost."
    ),
)
