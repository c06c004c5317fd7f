"""Conditions: what is missing, damaged, emptied or gone between two offsets.

They read columns of `jobs.replay.partitions.partition_info`, which most contexts join, or columns
of one context, which their docstrings name.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.verdict import (
    MISSING_RANGE,
    Excuse,
    explained,
)
from schemas.dump_partition import NEVER_CLEANED
from udfs.rules.absence import Range, most_missing, overlaps
from udfs.rules.extent import MAX_OFFSET
from udfs.rules.logic import surely


def missing_between(first: Column, last: Column) -> Column:
    """Whether an offset between `first` and `last`, both inclusive, is missing for any reason."""
    return _any_of("missing", first, last)


def between_counts(behind_earlier: str, before_later: str) -> Column:
    """How many offsets are missing between two batches at most, by their running numbers.

    The names of two columns `absent_to_…` (`jobs.replay.holes.counted_on`). Ranges of a log
    with many of them are merged, and what is there between those counts as missing; this is exact.
    Null where one of the two is not known, as of states in front of the log.
    """
    most: Column = most_missing(F.col(behind_earlier), F.col(before_later))
    return most


def own_missing_between(first: Column, last: Column, most: Column | None = None) -> Column:
    """`missing_between`, but of batches that say nothing only those of the row's producer.

    `most`: `between_counts` of the batches around both; null, or None, where nothing tells.
    """
    among = _any_of("missing", first, last, of_the_producer=True)
    return among if most is None else F.coalesce(most > 0, F.lit(True)) & among


def marker_missing_between(
    first: Column, last: Column, epoch: Column | None = None, most: Column | None = None
) -> Column:
    """`own_missing_between`, or a marker of that producer there that the cleaner has emptied.

    The batch is left, and tells its producer and epoch; several that became one range do not.
    `epoch`: the one that the marker has; null, or None, where it may have several. `most`: as of
    `own_missing_between`.
    """

    def may_be_its_own(one: Column) -> Column:
        there: Column = overlaps(Range(one["first"], one["end"]), first, last)
        if epoch is None:
            return there & _may_be_of_the_producer(one)
        of_epoch = F.coalesce(one["producer_epoch"] == epoch, F.lit(True))
        return there & _may_be_of_the_producer(one) & of_epoch

    return own_missing_between(first, last, most) | surely(F.exists("emptied", may_be_its_own))


def unread_between(first: Column, last: Column) -> Column:
    """What is missing there for any reason, and markers that the cleaner has emptied.

    Array of structs (first, end, producer_id, producer_epoch: of an emptied marker), of all
    producers; `first`, `last` inclusive.
    """

    def with_epoch(one: Column) -> Column:
        no_epoch = F.lit(None).cast("int").alias("producer_epoch")
        return F.struct(one["first"], one["end"], one["producer_id"], no_epoch)

    missing = F.transform("missing", with_epoch)
    both = F.coalesce(F.concat(missing, "emptied"), missing)
    return F.filter(both, lambda one: overlaps(Range(one["first"], one["end"]), first, last))


def _may_be_of_the_producer(one: Column) -> Column:
    """Whether a range may hold something of the row's producer: its owner is that, or unknown."""
    owned: Column = F.coalesce(one["producer_id"] == F.col("producer_id"), F.lit(True))
    return owned


def lost_between(first: Column, last: Column) -> Column:
    """Whether an offset is damaged or missing that the cleaner is not known to have removed.

    For records that no cleaner removes: the marker of data that are present, the last of a key. A
    batch that is there and says nothing counts where it has the row's producer.
    """
    return _any_of("holes", first, last, of_the_producer=True)


def data_lost_between(first: Column, last: Column) -> Column:
    """`lost_between`, or data of the row's producer there whose header contradicts itself.

    Nothing is known of their sequence and their records, but they are no marker.
    """

    def its_own(one: Column) -> Column:
        there: Column = overlaps(Range(one["first"], one["end"]), first, last)
        return there & surely(one["producer_id"] == F.col("producer_id"))

    return lost_between(first, last) | F.exists("missing", its_own)


def gone_between(first: Column, last: Column) -> Column:
    """`lost_between` without batches that are there and say nothing (`schemas.log_row.MISSING`)."""
    return _any_of("gone", first, last)


def _any_of(ranges: str, first: Column, last: Column, of_the_producer: bool = False) -> Column:
    def counts(one: Column) -> Column:
        there: Column = overlaps(Range(one["first"], one["end"]), first, last)
        return there & _may_be_of_the_producer(one) if of_the_producer else there

    return F.exists(ranges, counts)


def _may_lie_below_the_start(data: Column) -> Column:
    """Whether an offset of data may lie below the log start, where the cleaner forgets the data.

    By the checkpoint, or by what a running broker has in memory (`log_start_known`).
    """
    may: Column = (data < F.col("log_start_offset")) | ~F.col("log_start_known")
    return may


# What the copy of a partition lacks, where its log begins, and from where on it is of one moment
# (`partition_info`).
LOST_OFFSETS = (
    "holes", "missing", "emptied", "first_base", "log_start_offset", "log_start_known",
    "one_moment_from",
)  # fmt: skip


def marker_lost(
    data: Column,
    first: Column,
    last: Column,
    commit: Column | None = None,
    file_end: Column | None = None,
) -> Column:
    """Whether the marker of data may be missing between `first` and `last`, both inclusive.

    `data`: an offset of the data. The cleaner keeps the marker of data that are still there
    (`udfs.rules.absence`). Of data before the log, of which only a producer snapshot knows, and of
    data below the log start it may have taken or emptied it; not if that is a COMMIT (`commit`, of
    data that are there; None where that is not known). And in a copy that is not of one moment
    wherever the marker lies in another file than the data. `file_end`: where theirs ends,
    exclusive, null for the newest one; None where that is not known.
    """
    below = _may_lie_below_the_start(data)
    forgotten = below if commit is None else below & ~commit
    several_moments = data < F.coalesce("one_moment_from", F.lit(MAX_OFFSET))
    in_other_file = first
    if file_end is not None:
        in_other_file = F.greatest(first, F.coalesce(file_end, F.lit(MAX_OFFSET + 1)))
    taken_since = several_moments & marker_missing_between(in_other_file, last)
    return F.when(forgotten, marker_missing_between(first, last)).otherwise(
        lost_between(first, last) | taken_since
    )


def marker_lost_behind(
    data: Column, open_at: Column | None = None, until: Column | None = None
) -> Column:
    """`marker_lost` anywhere after the data that end at offset `data`; false for a null.

    `open_at`: offset of a producer snapshot that has the transaction open, null for none: its
    marker does not lie before it. `until`: offset of a batch that is later than the marker, null
    for none: it does not lie behind that.
    """
    first = data + 1 if open_at is None else F.greatest(data + 1, open_at)
    last = F.lit(MAX_OFFSET) if until is None else F.coalesce(until, F.lit(MAX_OFFSET))
    return surely(marker_lost(data, first, last))


def end_may_be_another() -> Column:
    """Whether the marker of a transaction need not be that of its data; false for a marker alone.

    Where a batch of the producer may be lost between the two, the marker of the data may be, and
    the data of the marker. Asks `LOST_OFFSETS` of the copy.
    """
    behind = F.col("last_offset") + 1
    return surely(marker_lost(F.col("last_offset"), behind, F.col("marker_offset") - 1))


def first_since() -> Column:
    """From when on a transaction with data is surely the first of its epoch in the copy, ms.

    The marker before it has a lower epoch, and none that may have this one is missing or emptied
    in between, nor gone with the head of the log. A log without that marker may be that of a topic
    that was made again: only from its first moment of a broker's clock on (there_since_ms, null for
    none). Null where it is not. Asks `LOST_OFFSETS` of the copy.
    """
    before, epoch = F.col("previous_marker_offset"), F.col("producer_epoch")
    behind = F.coalesce(before + 1, F.lit(0))
    gone = marker_missing_between(behind, F.col("first_offset") - 1, epoch)
    since = F.when(before.isNotNull(), F.lit(0)).when(
        F.col("first_base") == 0, F.col("there_since_ms")
    )
    return F.when((F.col("previous_epoch") < epoch) & ~gone, since)


def marker_gone_with_the_head() -> Excuse:
    """Of data before the log the cleaner may have taken the marker, too (context `transaction`).

    And of data below the log start, if nothing is lost behind them that no cleaner takes.
    """

    def gone() -> Column:
        data = F.col("last_offset")
        taken = (data < F.col("log_start_offset")) & ~surely(
            lost_between(data + 1, F.lit(MAX_OFFSET))
        )
        return F.col("behind_data_gap") & ((data < F.col("first_base")) | taken)

    return explained(MISSING_RANGE, gone)


def ended_before_snapshot() -> Excuse:
    """A producer snapshot after the gap has the transaction ended (context `transaction`)."""
    return explained(MISSING_RANGE, lambda: F.col("marker_was_there"))


def missing_behind(offset: Column) -> Column:
    """`missing_between` anywhere after `offset` (exclusive); false for a null."""
    return surely(missing_between(offset + 1, F.lit(MAX_OFFSET)))


def number_missing(first: Column, last: Column, most: Column) -> Column:
    """How many offsets of the row's producer are missing between the two, inclusive, at most.

    `most`: `between_counts` of batches around both; null where nothing tells.
    """

    def share(total: Column, one: Column) -> Column:
        both = F.least(one["end"], last + 1) - F.greatest(one["first"], first)
        # Where offsets go back, ranges may overlap: of any size, in a log that was damaged.
        return F.coalesce(F.try_add(total, F.greatest(both, F.lit(0))), F.lit(MAX_OFFSET))

    own = F.filter("missing", _may_be_of_the_producer)
    return F.least(F.aggregate(own, F.lit(0).cast("long"), share), most)


def number_untold(last: Column) -> Column:
    """How many offsets may be missing behind `last`, one in front of the log, and before its base.

    A snapshot at the start of a log may be of a state long before it, where a cleaner passed: a
    follower fetches the next batch that is left. If it begins a segment with that, it writes what
    it knew before the gap as the snapshot there (`UnifiedLog.roll`). 0 where `last` is null.
    """
    gap = F.col("first_base") - 1 - last
    may_be: Column = (F.col("cleaning") != NEVER_CLEANED) & (gap > 0)
    return F.when(may_be, gap).otherwise(F.lit(0).cast("long"))
