"""A closed segment ends in bytes that are not a batch.

What it finds: bytes after the last batch of a segment that is not the newest, and zeros after the
last batch of the newest segment of a broker that stopped cleanly.

Why it is wrong: a broker trims a segment when it rolls, and all segments when it stops, and trusts
them when it starts. It would append after the zeros, and readers would stop before them.

When it is legal: never. Without a clean shutdown, zeros at the end of the newest segment are
preallocated space (log.preallocate) or the result of a crash.

Evidence: the bytes.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.contexts.frame import zeros_of_a_clean_stop

CHECK = Check(
    code="closed_segment_tail_garbage",
    severity=ERROR,
    context="frame",
    source="LocalLog.roll",
    fires=lambda: F.col("tail") & (~F.col("active") | zeros_of_a_clean_stop()),
    excuses=(),
    expected=lambda: F.lit("the last batch ends the file"),
    found=lambda: text("{byte_length} bytes ({reason_of_failure})"),
    message=lambda: text(
        "The segment was closed, but has {byte_length} bytes after its last batch that are not a "
        "batch."
    ),
)
