"""Conditions: what may still be truncated, or was not flushed, when it was copied."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.verdict import (
    DUMP_BEFORE_EVENT,
    UNSTABLE_TAIL,
    Excuse,
    inconclusive,
)
from schemas.dump_partition import NEVER_CLEANED
from udfs.rules.extent import is_replicated
from udfs.rules.logic import surely


def unstable_tail(offset: str = "offset_last") -> Excuse:
    """At or above the high watermark a batch may still be truncated."""
    return inconclusive(
        UNSTABLE_TAIL, lambda: ~is_replicated(F.col(offset), F.col("replicated_below"))
    )


def unstable_damage() -> Excuse:
    """Damage at or above the high watermark in what was not flushed: an incomplete write."""

    def at_end() -> Column:
        above: Column = ~is_replicated(F.col("offset_first"), _high_watermark())
        return F.col("active") & above

    return inconclusive(UNSTABLE_TAIL, lambda: at_end() | _not_flushed())


def unflushed_damage() -> Excuse:
    """The same in a segment that is not the newest one."""
    return inconclusive(UNSTABLE_TAIL, _not_flushed)


def _high_watermark() -> Column:
    return F.coalesce("checkpoint_high_watermark", "replicated_below")


def holds_no_offset() -> Column:
    """Whether offsets go on behind damage as if it were not there."""
    return surely(F.col("next_offset") == F.col("previous_last_offset") + 1)


def _not_flushed() -> Column:
    """Whether a closed segment with damage need not have reached the disk when the broker ended.

    A segment is flushed some time after it was rolled (`UnifiedLog.roll`). After a power failure
    the broker truncates at the damage in it (`LogLoader.recoverLog`), all that is behind included.
    What is below the high watermark must be there, but where no offset is missing, nothing is.
    """
    above = holds_no_offset() | ~is_replicated(F.col("offset_first"), _high_watermark())
    closed = ~F.col("active") & ~F.col("clean_shutdown")
    torn: Column = closed & _ends_above_recovery_point("next_base_offset") & above
    return torn


def _ends_above_recovery_point(segment_end: str) -> Column:
    """Whether a segment need not be on disk, as far as the recovery point tells.

    `segment_end`: the column with the base offset of the next segment, null for the newest one,
    which counts, as all do where the recovery point is not known.
    """
    above = F.col(segment_end) > F.col("checkpoint_recovery_point")
    return F.coalesce(above, F.lit(True))


def unsettled_index(offset: str) -> tuple[Excuse, ...]:
    """The index of a broker without a clean shutdown may be of another state than its segment.

    For entries of all indexes of a segment, and for what an index lacks. Reads `segment_end` (base
    offset of the next segment, null for the newest) and the column `offset`, that of the entry or
    of the batch without one.
    - A segment is flushed with its indexes (`LogSegment.flush`), some time after it was rolled.
      After a power failure, an index of what is above the recovery point may lack entries or have
      zeros in their place. The broker then makes it anew (`LogSegment.recover`).
    - The cleaner replaces a segment and its indexes one after the other, while they are copied.
    - A follower truncates both at or above the high watermark, and fetches other batches there; an
      index that was copied before has entries of what is no longer in the log.
    """

    def not_of_one_state() -> Column:
        cleaned = F.col("cleaning") != NEVER_CLEANED
        return ~F.col("clean_shutdown") & (_ends_above_recovery_point("segment_end") | cleaned)

    def above() -> Column:
        # What an entry says may be anything; its segment ends where the next one begins.
        within = F.least(F.col(offset), F.col("segment_end") - 1)
        unstable: Column = ~F.col("clean_shutdown") & ~is_replicated(within, _high_watermark())
        return unstable

    return (
        inconclusive(DUMP_BEFORE_EVENT, not_of_one_state),
        inconclusive(UNSTABLE_TAIL, above),
    )
