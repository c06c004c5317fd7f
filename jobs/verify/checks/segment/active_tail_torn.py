"""The newest segment ends in the middle of a batch.

What it finds: bytes after the last batch of the newest segment that are not a complete batch.

Why it is of interest: it is not an error. The copy raced with an append, the file is preallocated,
or a crash left it so; a broker truncates these bytes when it starts.

When it is legal: always. Zeros after a clean shutdown are reported by closed_segment_tail_garbage.

Evidence: the bytes.
"""

from pyspark.sql import functions as F

from jobs.verify.check import INFO, Check, text
from jobs.verify.contexts.frame import zeros_of_a_clean_stop
from jobs.verify.verdict import ALSO_LEGAL, suspect

CHECK = Check(
    code="active_tail_torn",
    severity=INFO,
    context="frame",
    source="FileLogInputStream.nextBatch",
    fires=lambda: F.col("tail") & F.col("active") & ~zeros_of_a_clean_stop(),
    excuses=(suspect(ALSO_LEGAL),),
    expected=lambda: F.lit("the last batch ends the file"),
    found=lambda: text("{byte_length} bytes ({reason_of_failure})"),
    message=lambda: text(
        "The newest segment ends with {byte_length} bytes that are not a complete batch."
    ),
)
