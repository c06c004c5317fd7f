"""Context `run`: one row is batches of a producer, with its state before them."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small
from jobs.verify.conditions.began_anew import may_begin_anew
from jobs.verify.conditions.missing import (
    between_counts,
    data_lost_between,
    marker_lost,
    number_missing,
    number_untold,
    own_missing_between,
)
from jobs.verify.contexts.append_bound import with_latest_append
from jobs.verify.contexts.context import Context, with_paths
from udfs.rules.logic import surely
from udfs.rules.memory import at_least_later, may_have_expired
from udfs.rules.producer_step import LAST_EPOCH, Batch, ProducerState, follows, sequence_distance

# Up to which moment the broker may have expired producers is asked of these alone.
PAUSED = "paused"
# What the checks of a run ask of the copy of its partition.
OF_COPY = (
    "partition_index", "topic", "partition", "broker", "coordinator_topic", "start_known",
    "replicated_below", "cleaning", "cleaned_below", "cleaner_checkpoint", "log_start_offset",
    "has_log_start_checkpoint", "log_start_known", "clean_shutdown", "created_once", "first_base",
    "holes", "missing", "emptied", "set_backs", "one_moment_from",
)  # fmt: skip


def _follows() -> Column:
    """Whether the run goes on as a broker that remembers its producer demands."""
    batch = Batch(F.col("producer_epoch"), F.col("first_sequence"))
    known = ProducerState(F.col("state_epoch"), F.col("previous.epoch"), F.col("expected_sequence"))
    unsequenced = F.col("coordinator_topic")
    mode = F.col("transactional") | ~F.col("open_transaction")
    bump_inside = F.col("open_transaction") & (F.col("producer_epoch") > F.col("previous.epoch"))
    first_ever = F.col("state_epoch").isNull() & (unsequenced | (F.col("first_sequence") == 0))
    as_expected: Column = (
        (follows(batch, known, unsequenced) | first_ever)
        & mode
        & ~surely(bump_inside)
        & (F.col("producer_epoch") < LAST_EPOCH)
    )
    return as_expected


def _with_memory(rows: DataFrame, goes_on: Column, expiration_ms: int) -> DataFrame:
    """Adds whether the producer may have been forgotten before the run: …_may_have_expired.

    state_: by its state; data_, marker_: by the data before, and by their marker. pause_or_break:
    where it is worth telling that.
    """
    expired = may_have_expired(
        F.col("state_timestamp"), F.col("latest_append_ms"), F.col("open_transaction"),
        expiration_ms,
    )  # fmt: skip
    # What counted from 1.0.0 to 2.4.0. A retry that is there again is wrong all the same.
    of_data = may_have_expired(
        F.col("previous.last_timestamp"), F.col("latest_append_ms"), F.col("open_transaction"),
        expiration_ms,
    )  # fmt: skip
    # What counts since 2.4.1 (`ProducerAppendInfo.appendEndTxnMarker`).
    of_marker = may_have_expired(
        F.col("previous.marker_timestamp"), F.col("latest_append_ms"), F.col("open_transaction"),
        expiration_ms,
    )  # fmt: skip
    # Without any clock nothing bounds the moment of the append.
    unbounded = F.col("latest_append_ms").isNull() & ~F.col("open_transaction")
    known = F.col("state_timestamp").isNotNull()
    return rows.select(
        "*",
        surely(known & (expired | unbounded)).alias("state_may_have_expired"),
        surely(of_data & ~F.col("same_bytes")).alias("data_may_have_expired"),
        surely(of_marker).alias("marker_may_have_expired"),
        (F.col(PAUSED) | ~surely(goes_on)).alias("pause_or_break"),
    )


def _knows_epoch() -> Column:
    """Whether an earlier batch of the epoch of the run is known."""
    return F.col("previous").isNotNull() & (F.col("previous.epoch") == F.col("producer_epoch"))


def _into_chain(name: str) -> Column:
    """How far a sequence is from the first one of the chain that `previous` ends."""
    steps: Column = sequence_distance(F.col("chain.first_sequence"), F.col(name))
    return steps


def _repeats() -> Column:
    """Whether the sequences of the first batch were written before."""
    chain_end = _into_chain("previous.last_sequence")
    first, last = _into_chain("first_sequence"), _into_chain("first_batch_last_sequence")
    return _knows_epoch() & (first <= last) & (last <= chain_end)


def _joins_earlier() -> Column:
    """Whether the run goes on where sequences were before the chain that `previous` ends.

    Or where they would be had that chain been right: what is wrong is that chain. Where a broker
    may have forgotten what was before it, the chain may be right, and nothing can join that.

    Where two chains alternate, as of two clients with one producer id, each joins its own part
    before the other's: they have one cause, which is told where the second chain begins.
    """
    # Only a chain that is reported, or alternates with one that is, excuses what comes after it:
    # of the same epoch, or of a higher one that did not begin at 0. After missing offsets it may
    # begin anywhere.
    outlier = (F.col("previous.epoch") == F.col("chain.epoch_before")) | (
        F.col("chain.first_sequence") != 0
    )
    skipped = sequence_distance(F.col("chain.sequence_before"), F.col("first_sequence"))
    missing = own_missing_between(
        F.col("chain.offset_before") + 1,
        F.col("chain.first_offset") - 1,
        between_counts("chain.absent_to_before", "chain.absent_to_first"),
    )
    joins: Column = (
        (F.col("chain.epoch_before") == F.col("producer_epoch"))
        & outlier
        & ((skipped == 1) | (skipped == _into_chain("previous.last_sequence") + 2))
        & ~surely(missing)
        & (F.col("chain_begin.offset") == F.col("chain.first_offset"))
        & ~F.col("chain_begin.forgotten")
    )
    return joins


def _with_chain_begin(rows: DataFrame) -> DataFrame:
    """Adds chain_begin: the newest run before that begins a chain against the rules.

    offset: its first; forgotten: what was before it may have been forgotten by then.
    """
    ends = F.coalesce("marker_offset", "last_offset")
    order = Window.partitionBy("partition_index", "producer_id").orderBy(ends, "start_offset")
    begin = F.struct(F.col("first_offset").alias("offset"), may_begin_anew().alias("forgotten"))
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    newest = F.last(F.when(F.col("begins_chain"), begin), ignorenulls=True).over(before)
    return rows.withColumn("chain_begin", newest)


def _before_the_run() -> list[Column]:
    """Offsets between the data before and the run.

    lost_before, missing_before, offsets_missing_before: whether offsets since the data before are
    lost, or missing, and how many; offsets_untold_before: of these in front of the log.
    marker_lost_before: the marker of the data before may be gone.
    overlaps: the log itself goes back here.
    """
    last = F.col("previous.last_offset")
    in_front = number_untold(last)
    unseen = F.coalesce(last + 1, F.lit(0)), F.col("first_offset") - 1
    most = between_counts("previous.absent_to_last", "absent_to_first")
    return [
        data_lost_between(*unseen).alias("lost_before"),
        marker_lost(last, *unseen).alias("marker_lost_before"),
        (own_missing_between(*unseen, most) | (in_front > 0)).alias("missing_before"),
        (number_missing(*unseen, most) + in_front).alias("offsets_missing_before"),
        in_front.alias("offsets_untold_before"),
        surely(F.col("first_offset") <= last).alias("overlaps"),
    ]


def _places() -> list[Column]:
    """Where a finding lies: the first batch of the run, and what is before it."""
    last_of_batch = F.col("first_offset") + sequence_distance(
        F.col("first_sequence"), F.col("first_batch_last_sequence")
    )
    return [
        F.col("first_offset").alias("offset_first"),
        last_of_batch.alias("offset_last"),
        F.col("first_position").alias("byte_position"),
        F.col("first_length").alias("byte_length"),
        F.col("previous.position").alias("previous_position"),
        F.col("previous.length").alias("previous_length"),
        F.col("previous_marker.position").alias("previous_marker_position"),
        F.col("previous_marker.length").alias("previous_marker_length"),
    ]


def run_context(
    states: DataFrame,
    partition_info: DataFrame,
    files: DataFrame,
    expiration_ms: int,
    now: int | None,
    clock_tolerance_ms: int,
    folded: int,
) -> Context:
    """Runs with data, from `jobs.replay.producers.producer_states`.

    `now`: the moment to which ages refer, ms; `clock_tolerance_ms`: of brokers' clocks.

    Added: client_data (sequences mean something), state_offset (of the newest batch or marker
    before), sequence_known (an earlier batch of the same epoch is known), latest_append_ms (see
    `with_latest_append`), same_bytes (a batch with the checksum of the first one is among the
    newest before it), state_may_have_expired (by then), data_may_have_expired (the same of a broker
    that asks data alone, and not of the same bytes), pause_or_break (the client's clock shows a
    pause, or the run breaks a rule), the columns of `_before_the_run`, chain_begin (see
    `_with_chain_begin`), repeats and joins_earlier.

    All checks judge the first batch of the run, and `offset_last` is the last offset of that
    batch, so that no finding depends on how the decoder cut the data into runs.
    """
    # A run that follows folded transactions was found regular with them (point 6 of the folding
    # contract, udfs/wire/batches/fold.py).
    judged = F.col("has_data") & ~F.col("follows") & ~F.col("initial")
    rows = inner(
        states.filter(judged), small(partition_info.select(*OF_COPY)), on="partition_index"
    )
    paused = surely(
        at_least_later(F.col("state_timestamp"), F.col("first_timestamp"), expiration_ms)
    )
    rows = rows.withColumn(PAUSED, paused)

    def regular() -> Column:
        return _follows() & ~F.col(PAUSED)

    def enrich(selected: DataFrame) -> DataFrame:
        same_bytes = (F.col("first_checksum") >= 0) & F.array_contains(
            "known_checksums", F.col("first_checksum")
        )
        bounded = with_latest_append(selected, states, now, clock_tolerance_ms)
        stated = bounded.drop("set_backs").select(
            "*",
            surely(same_bytes).alias("same_bytes"),
            (~F.col("coordinator_topic")).alias("client_data"),
            F.greatest("previous.last_offset", "previous_marker.offset").alias("state_offset"),
        )
        remembered = _with_memory(stated, _follows(), expiration_ms)
        named = with_paths(
            _with_chain_begin(remembered),
            files,
            file="file_index",
            previous_file="previous.file_index",
            previous_marker_file="previous_marker.file_index",
        )
        return named.select(
            "*",
            surely(_knows_epoch()).alias("sequence_known"),
            *_before_the_run(),
            surely(_repeats()).alias("repeats"),
            surely(_joins_earlier()).alias("joins_earlier"),
            *_places(),
            F.lit(None).cast("string").alias("transactional_id"),
        )

    return Context("run", rows, regular, enrich, folded)
