"""A closed segment ends in bytes that are no batch.

What it finds: bytes behind the last batch of a segment that is not the newest.

Why it is wrong: a broker trims a segment when it rolls and never writes to it again.

When it is legal: never.

Evidence: the bytes.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text

CHECK = Check(
    code="closed_segment_tail_garbage",
    severity=ERROR,
    context="frame",
    source="LocalLog.roll",
    fires=lambda: F.col("tail") & ~F.col("active"),
    excuses=(),
    expected=lambda: F.lit("the last batch ends the file"),
    found=lambda: text("{byte_length} bytes ({reason_of_failure})"),
    message=lambda: text(
        "The closed segment ends with {byte_length} bytes behind its last batch that are no batch."
    ),
)
