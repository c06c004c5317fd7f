"""A closed segment ends in bytes that are not a batch.

What it finds: bytes after the last batch of a segment that is not the newest, and zeros after the
last batch of the newest segment of a broker that stopped cleanly.

Why it is wrong: a broker trims a segment when it rolls, and all segments when it stops, and trusts
them when it starts. It would append after the zeros, and readers would stop before them.

When it is legal: not after a clean shutdown. Without one, zeros at the end of the newest segment
are preallocated space (log.preallocate) or the result of a crash. A closed segment is flushed some
time after it was rolled: if it ends above the recovery point, a power failure may leave such bytes
at or above the high watermark, and recovery truncates there; then the finding is inconclusive.
So are zeros of a running broker behind which nothing is missing: the segment may have been copied
before it was rolled, and trimmed.

Evidence: the bytes.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.conditions.settled import holds_no_offset, unflushed_damage
from jobs.verify.contexts.frame import zeros_of_a_clean_stop
from jobs.verify.verdict import DUMP_BEFORE_EVENT, inconclusive
from udfs.arrow.frames import ZERO_BYTES
from udfs.rules.logic import surely


def _preallocated() -> Column:
    """Whether these are zeros that a running broker cut off after the segment was copied.

    It does when it rolls the segment (`LogSegment.onBecomeInactiveSegment`).
    """
    zeros = surely(F.col("reason_of_failure") == ZERO_BYTES)
    return ~F.col("clean_shutdown") & zeros & holds_no_offset()


CHECK = Check(
    code="closed_segment_tail_garbage",
    severity=ERROR,
    context="frame",
    source="LocalLog.roll",
    fires=lambda: F.col("tail") & (~F.col("active") | zeros_of_a_clean_stop()),
    excuses=(unflushed_damage(), inconclusive(DUMP_BEFORE_EVENT, _preallocated)),
    expected=lambda: F.lit("the last batch ends the file"),
    found=lambda: text("{byte_length} bytes ({reason_of_failure})"),
    message=lambda: text(
        "The segment was closed, but has {byte_length} bytes after its last batch that are not a "
        "batch."
    ),
)
