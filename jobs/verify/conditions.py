"""Named conditions for excuses, so that all checks use the same ones.

They read columns of `jobs.replay.partitions.partition_info`, which most contexts join, or columns
of one context, which their docstrings name.
"""

from collections.abc import Callable
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.verdict import (
    ADMIN_ABORT_POSSIBLE,
    CLEANED_RANGE,
    CONFIG_UNKNOWN,
    DUMP_BEFORE_EVENT,
    MISSING_RANGE,
    NO_INITIAL_STATE,
    OPERATOR_ABORT,
    OTHER_OUTCOME,
    REPLICA_LAGS,
    SIDE_FILES_NOT_DUMPED,
    STATE_MAY_HAVE_EXPIRED,
    UNSTABLE_TAIL,
    VERSION_DEPENDENT,
    Excuse,
    explained,
    inconclusive,
    suspect,
)
from schemas.dump_partition import CLEANED, CLEANING_UNKNOWN, NEVER_CLEANED, RANGES
from udfs.rules.absence import Range, most_missing, overlaps, within_reach
from udfs.rules.extent import MAX_OFFSET, is_replicated
from udfs.rules.logic import surely
from udfs.rules.memory import may_be_gone_with_the_head


def one_instant(coordinator_clean_shutdown: str) -> Column:
    """Whether partition and coordinator log are of one moment: one broker, stopped cleanly."""
    return F.col("single_broker") & F.col("clean_shutdown") & F.col(coordinator_clean_shutdown)


def missing_between(first: Column, last: Column) -> Column:
    """Whether an offset between `first` and `last`, both inclusive, is missing for any reason."""
    return _any_of("missing", first, last)


def between_counts(behind_earlier: str, before_later: str) -> Column:
    """How many offsets are missing between two batches at most, by their running numbers.

    The names of two columns `absent_to_…` (`jobs.replay.partitions.counted_on`). Ranges of a log
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

    Array of structs (first, end, producer_id), of all producers; `first`, `last` inclusive.
    """
    names = ("first", "end", "producer_id")
    emptied = F.transform("emptied", lambda one: F.struct(*(one[name] for name in names)))
    both = F.concat(F.col("missing"), F.coalesce(emptied, F.array().cast(RANGES)))
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


def gone_between(first: Column, last: Column) -> Column:
    """`lost_between` without batches that are there and say nothing (`schemas.log_row.MISSING`)."""
    return _any_of("gone", first, last)


def _any_of(ranges: str, first: Column, last: Column, of_the_producer: bool = False) -> Column:
    def counts(one: Column) -> Column:
        there: Column = overlaps(Range(one["first"], one["end"]), first, last)
        return there & _may_be_of_the_producer(one) if of_the_producer else there

    return F.exists(ranges, counts)


def _before_log(data: Column) -> Column:
    """Whether an offset of data lies before the log, where only a producer snapshot knows of it."""
    return data < F.col("first_base")


# What the copy of a partition lacks, and where its files begin (`schemas.dump_partition`).
LOST_OFFSETS = ("holes", "missing", "emptied", "first_base")


def marker_lost(data: Column, first: Column, last: Column) -> Column:
    """Whether the marker of data may be missing between `first` and `last`, both inclusive.

    `data`: an offset of the data. The cleaner keeps the marker of data that are still there; of
    data before the log, of which only a producer snapshot knows, it may have taken or emptied it.
    """
    taken = marker_missing_between(first, last)
    return F.when(_before_log(data), taken).otherwise(lost_between(first, last))


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
    """Of data before the log the cleaner may have taken the marker, too (context `transaction`)."""
    return explained(
        MISSING_RANGE,
        lambda: F.col("behind_data_gap") & _before_log(F.col("last_offset")),
    )


def ended_before_snapshot() -> Excuse:
    """A producer snapshot after the gap has the transaction ended (context `transaction`)."""
    return explained(MISSING_RANGE, lambda: F.col("ended_in_snapshot"))


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


def unstable_tail(offset: str = "offset_last") -> Excuse:
    """At or above the high watermark a batch may still be truncated."""
    return inconclusive(UNSTABLE_TAIL, lambda: ~is_replicated(F.col(offset), F.col("stable_below")))


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
    return F.coalesce("checkpoint_high_watermark", "stable_below")


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


def judged_on_a_longer_copy() -> Excuse:
    """A transaction that is open at the end of a copy is judged on the longest copy."""
    return explained(REPLICA_LAGS, lambda: F.col("outlasted"))


def state_may_have_expired() -> Excuse:
    """The broker may have forgotten the producer in between (producer.id.expiration.ms)."""
    return inconclusive(STATE_MAY_HAVE_EXPIRED, lambda: F.col("state_may_have_expired"))


def lies_in_told_copy() -> tuple[Excuse, ...]:
    """What a leader told can be compared with its copy from `begins` on (context `told`).

    The copy begins there or before, lacks nothing behind it, and goes up to the high watermark
    that was told before it was fetched. A copy that was damaged or cut later does not.
    """
    return (
        inconclusive(
            NO_INITIAL_STATE,
            lambda: F.col("begins") < F.greatest("first_base", "log_start_offset"),
        ),
        inconclusive(
            DUMP_BEFORE_EVENT,
            lambda: F.coalesce(
                F.col("data_end_offset") < F.col("told_high_watermark"), F.lit(True)
            ),
        ),
        # An emptied marker still ended something: the leader knows what.
        inconclusive(
            MISSING_RANGE,
            lambda: (
                missing_behind(F.col("begins") - 1)
                | (
                    F.col("producer_id").isNotNull()
                    & marker_missing_between(F.col("begins"), F.lit(MAX_OFFSET))
                )
            ),
        ),
    )


def taken_from_the_leader() -> tuple[Excuse, ...]:
    """The cleaner may have taken from the leader what an earlier run had fetched (context `told`).

    A replica that reads a cleaned log, and leads later, takes nothing from a marker that is empty
    (`ProducerAppendInfo.append`) or from data that are gone. What one run fetched while the leader
    stayed the same, that leader has read too.
    """

    def compacted() -> Column:
        return (F.col("cleaning") == CLEANED) | F.col("compacted_once")

    def may_be() -> Column:
        return F.col("cleaning") == CLEANING_UNKNOWN

    return (
        inconclusive(CLEANED_RANGE, lambda: F.col("of_earlier_run") & compacted()),
        inconclusive(CONFIG_UNKNOWN, lambda: F.col("of_earlier_run") & may_be()),
    )


def not_replicated_yet(when: Callable[[], Column]) -> Excuse:
    """A leader knows what lies above its high watermark, which nobody can fetch."""
    return inconclusive(UNSTABLE_TAIL, when)


def _below_the_start(offset: str) -> Column:
    below: Column = may_be_gone_with_the_head(F.col(offset), F.col("log_start_offset"))
    return below


def log_start_unknown(concerned: Callable[[], Column] = lambda: F.lit(True)) -> Excuse:
    """Without the log-start-offset-checkpoint nobody knows how far DeleteRecords came.

    What lies below the log start a broker may have forgotten (`udfs.rules.memory`), and the cleaner
    indexes no transaction that ends there. Brokers from 0.11 on always have the file (KIP-107).
    """
    return inconclusive(
        SIDE_FILES_NOT_DUMPED, lambda: ~F.col("has_log_start_checkpoint") & concerned()
    )


def forgotten_with_the_head(offset: str) -> Excuse:
    """A broker may have forgotten producers with the head of the log (`udfs.rules.memory`).

    `offset`: the column with the last offset of the earlier state, from a snapshot or from the
    first segment below the log start offset.
    """
    return suspect(VERSION_DEPENDENT, lambda: _below_the_start(offset))


def data_forgotten_with_the_head() -> Excuse:
    """The same of data (context `run`), whose marker may lie above the log start.

    A rebuild reads that marker, and without a batch only sequence 0 is accepted behind it; as where
    a broker up to 2.3 had forgotten all.
    """

    def forgotten() -> Column:
        begins = (F.col("first_sequence") == 0) | ~F.col("client_data")
        of_data = begins & _below_the_start("previous.last_offset")
        return of_data | _below_the_start("state_offset")

    return suspect(VERSION_DEPENDENT, forgotten)


def forgotten_in_place(offset: str) -> Excuse:
    """The same for batches in the first segment; the column `offset` as above.

    It may be that of a marker: behind one, without a batch, only sequence 0 is accepted, too.
    Without state any sequence is accepted since Kafka 2.5. If a snapshot at the log start offset
    remains, nothing was rebuilt without it, and only a broker up to 2.3 forgot: it accepted only 0.
    """
    return suspect(
        VERSION_DEPENDENT,
        lambda: (F.col(offset) >= F.col("first_base")) & _below_the_start(offset),
    )


def forgotten_behind_a_marker() -> Excuse:
    """From 1.0.0 to 2.4.0 data with old event times expire despite a new marker (KAFKA-9144).

    A broker up to 2.4 accepts only sequence 0 from a producer without state. A topic that KRaft
    created was on newer brokers only.
    """

    def forgotten() -> Column:
        begins = (F.col("first_sequence") == 0) & ~F.col("created_once")
        return F.col("data_may_have_expired") & begins

    return suspect(VERSION_DEPENDENT, forgotten)


def fence_may_be_forgotten() -> Excuse:
    """Up to 2.3 any rise of the log start offset forgets a producer without data of its epoch.

    That is the state after a marker of a higher epoch (`ProducerStateManager.isProducerRetained`).
    DeleteRecords and retention raise it, and nobody knows when; a broker up to 2.4 then accepts
    only sequence 0. A topic that KRaft created was on newer brokers only, and a COMMIT that raised
    the epoch of its data was written by a newer one (transaction.version 2).
    """

    def raised() -> Column:
        ended = F.col("transaction_number") == F.col("data_transaction_number") + 1
        return ended & _raised_by_commit(F.col("previous"), "last_offset")

    return suspect(
        VERSION_DEPENDENT, lambda: _head_went() & (F.col("first_sequence") == 0) & ~surely(raised())
    )


def _raised_by_commit(data: Column, last: str) -> Column:
    """Whether the marker before is a COMMIT that raised the epoch of `data`, which it ended.

    `data`: a struct; `last`: the name of its last offset. Not where the COMMIT's own data, and the
    marker of these, may be missing in between; nor where their transaction does not begin its
    epoch: it may have come late, behind its own marker, and the COMMIT of the next instance ended
    it.
    """
    marker = F.col("previous_marker")
    by_one: Column = marker["commit"] & (marker["epoch"] == data["epoch"] + 1)
    begin = F.col("coordinator_topic") | (F.col("newest_first_sequence") == 0)
    most = most_missing(data["absent_to_last"], marker["absent_to_marker"])
    gone = marker_missing_between(data[last] + 1, marker["offset"] - 1, most=most)
    return by_one & begin & ~gone


def markers_may_be_forgotten(harmless: Callable[[], Column]) -> tuple[Excuse, ...]:
    """The same for a marker that ends no data, and is `harmless`: nothing is decided by it.

    Without data of the epoch of the marker before, the state also has no timestamp up to 2.4.0, and
    is gone when the broker looks next (KAFKA-9144). With such data it goes as they do, and where
    the log began is not known of a running or killed broker.
    """

    def alone() -> Column:
        return F.col("first_offset").isNull() & ~F.col("created_once") & harmless()

    def has_data() -> Column:
        kept = ~_below_the_start("previous_data.offset") & ~F.col("data_may_have_expired")
        return surely(F.col("state_has_batches") & kept)

    def raised() -> Column:
        ended = F.col("previous_closed_data")
        return surely(ended & _raised_by_commit(F.col("previous_data"), "offset"))

    return (
        suspect(VERSION_DEPENDENT, lambda: alone() & ~has_data() & ~raised()),
        log_start_unknown(alone),
        # The log start from which a broker of 4.0 rebuilt is in its checkpoint.
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("clean_shutdown") & alone() & ~raised()),
    )


def is_marker_again() -> Column:
    """Whether the row is a marker, and nothing of its producer lies behind another of its epoch."""
    same_epoch: Column = F.col("previous_marker.epoch") == F.col("marker_epoch")
    return (F.col("all_batches") == 0) & same_epoch


def _head_went() -> Column:
    """Whether the log start offset has risen, and brokers may have been older than KRaft."""
    return (F.col("log_start_offset") > 0) & ~F.col("created_once")


def marker_of_what_began_anew() -> tuple[Excuse, ...]:
    """A marker that ends such data, as in `began_anew_where_the_start_is_unknown`.

    What was forgotten of the producer was forgotten as a whole, the marker before with it.
    """

    def anew() -> Column:
        begins = ~F.col("coordinator_topic") & (F.col("first_sequence") == 0)
        return begins & ~F.col("created_once")

    return _where_the_start_is_unknown(anew)


def _where_the_start_is_unknown(concerned: Callable[[], Column]) -> tuple[Excuse, ...]:
    """The log start was not copied, or may be higher than the checkpoint of a running broker."""
    return (
        log_start_unknown(concerned),
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("clean_shutdown") & concerned()),
    )


def began_anew_where_the_start_is_unknown() -> tuple[Excuse, ...]:
    """A producer begins at 0 again, on a log of which nobody knows where it began at that moment.

    Up to 2.3 it was forgotten with the head of the log (`udfs.rules.memory`), and its client then
    began anew in its epoch (`TransactionManager.startSequencesAtBeginning`, up to 2.4): after each
    DeleteRecords of Kafka Streams. The checkpoint of a running or killed broker is older than the
    log. A topic that KRaft created was on newer brokers only, nobody deletes a group's offsets so,
    and a batch that is there byte for byte did not begin anew.
    """

    def anew() -> Column:
        begins = F.col("client_data") & (F.col("first_sequence") == 0) & ~F.col("same_bytes")
        return begins & ~F.col("created_once")

    return _where_the_start_is_unknown(anew)


def may_begin_anew() -> Column:
    """Whether the broker may have forgotten what was before a run (context `run`).

    It then took the run for the first of its producer, up to 2.4 with sequence 0 alone. A batch
    that is there byte for byte did not begin anew.
    """
    anew = (
        state_may_have_expired(),
        forgotten_in_place("state_offset"),
        forgotten_behind_a_marker(),
        *began_anew_where_the_start_is_unknown(),
    )
    head = (F.col("first_sequence") == 0) & _below_the_start("previous.last_offset")
    forgotten = reduce(or_, (surely(excuse.when()) for excuse in anew), surely(head))
    return forgotten & ~F.col("same_bytes")


def began_anew_above_the_start() -> Excuse:
    """An open transaction with all its data below the log start offset was forgotten with them.

    Its records cannot be read, so none is stored twice.
    """
    return explained(
        VERSION_DEPENDENT,
        lambda: (
            F.col("open_transaction")
            & F.col("transactional")
            & (F.col("first_sequence") == 0)
            & _below_the_start("previous.last_offset")
        ),
    )


def begun_and_gone() -> Excuse:
    """All data of the transaction are below the log start: see `forgotten_with_the_head`.

    A broker that has it open in the snapshot of its clean stop has not forgotten it.
    """
    return suspect(
        VERSION_DEPENDENT, lambda: _below_the_start("last_offset") & ~F.col("open_at_the_stop")
    )


def cleaned_between(first: Column) -> Column:
    """Whether the cleaner has passed the offsets from `first` on, and may have removed records."""
    passed: Column = within_reach(first, F.col("cleaned_below"))
    return (F.col("cleaning") == CLEANED) & passed


def cleaned_between_files(first: Column) -> Column:
    """The same of offsets that lie in no file: how far the one before went, nobody tells."""
    passed: Column = within_reach(first, F.coalesce("cleaner_checkpoint", "cleaned_below"))
    return (F.col("cleaning") == CLEANED) & passed


def cleaning_excuses() -> tuple[Excuse, ...]:
    """For traces that only the cleaner leaves: explained in its range, else inconclusive."""
    return (
        explained(
            CLEANED_RANGE,
            lambda: cleaned_between(F.col("offset_first")),
        ),
        inconclusive(CLEANED_RANGE, lambda: F.col("cleaning") == CLEANED),
        inconclusive(CONFIG_UNKNOWN, lambda: F.col("cleaning") == CLEANING_UNKNOWN),
    )


def is_torn() -> Column:
    """Whether, before transaction.version 2, an ABORT took the place of a COMMIT.

    Of the context `decided_partition`: the coordinator committed, this partition has no COMMIT
    marker, and another one has.
    """
    return (
        ~F.col("commit")
        & F.col("prepares").isNull()
        & (F.col("decidable") == 1)
        & F.col("unraised_offset").isNotNull()
        & F.col("replaces_decided")
        & ~F.col("other_short")
        & F.col("history_later")
        & surely(F.col("committed_somewhere"))
        & F.col("decided_commit")
        & ~F.col("decided_abort")
    )


def undecided_marker_excuses() -> tuple[Excuse, ...]:
    """A marker may have no Prepare record: an operator wrote it, or a copy is older.

    An operator's abort (`kafka-transactions.sh abort`, KIP-664) has the epoch of the open data; a
    marker that raised the epoch of its data is not one. If every decision about that epoch is one
    of transaction.version 2, whose markers raise the epoch, it must be an operator's. Otherwise,
    and if it ended no data, it is only possible; but not if the decision's marker is missing there.

    Decisions that an older copy of the coordinator's log lacks explain no marker that ended the
    data of a transaction which that copy has completed, if its own marker is missing there.
    """

    def aborts() -> Column:
        return ~F.col("commit") & F.col("raised_offset").isNull()

    def with_epoch_of_data() -> Column:
        return aborts() & F.col("unraised_offset").isNotNull()

    def ends_decided_data() -> Column:
        # Under version 2, what was decided later was about data of a higher epoch.
        return F.col("other_settled") & F.col("raised_offset").isNotNull()

    return (
        # Two markers prove it without the coordinator's log: epoch_committed_and_aborted.
        explained(
            OTHER_OUTCOME,
            lambda: (
                F.col("raised_both_ways") & (~F.col("history_later") | (F.col("decidable") == 0))
            ),
        ),
        # Of a transaction that was then committed: torn_transaction reports it.
        explained(
            OPERATOR_ABORT,
            lambda: (
                with_epoch_of_data()
                & F.col("committed_place").isNotNull()
                & ~F.col("replaces_decided")
            ),
        ),
        explained(
            OPERATOR_ABORT,
            lambda: (
                with_epoch_of_data() & (F.col("decided_with_transaction_version_1") == F.lit(False))
            ),
        ),
        inconclusive(ADMIN_ABORT_POSSIBLE, lambda: aborts() & ~F.col("replaces_decided")),
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("history_later") & ~ends_decided_data()),
    )
