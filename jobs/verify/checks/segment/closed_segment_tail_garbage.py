"""A closed segment ends in bytes that are no batch.

What it finds: bytes behind the last batch of a segment that is not the newest, and zeros behind
that of the newest one of a broker that stopped cleanly.

Why it is wrong: a broker trims a segment when it rolls, and all of them when it stops, and trusts
them when it starts: it would write behind the zeros, and reading would end in front of them.

When it is legal: never. Without the marker of a clean shutdown zeros at the end of the newest
segment are room for more (log.preallocate) or the trace of a crash.

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
        "The segment was closed, but ends with {byte_length} bytes behind its last batch that are "
        "no batch."
    ),
)
