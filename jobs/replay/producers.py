"""Producer state by window functions: each run with what the broker knew before it.

The state of a producer id in a partition is its epoch, the last sequence of that epoch and its
open transaction (`ProducerStateEntry`, `ProducerAppendInfo`; docs/kafka-rules.md). A marker
with a new epoch clears the last sequence.
"""

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from udfs.rules.logic import surely
from udfs.rules.memory import KNOWN_BATCHES
from udfs.rules.producer_step import Batch, ProducerState, is_contiguous, next_sequence

# Rows before a run that hold so many, also where each is one batch or marker.
ROWS_OF_KNOWN = 10


def _data_struct() -> Column:
    """What later runs need to know of a run with data."""
    return F.struct(
        F.col("producer_epoch").alias("epoch"),
        "transactional",
        "first_offset",
        "last_offset",
        "first_sequence",
        "last_sequence",
        "last_timestamp",
        "marker_timestamp",
        "batches",
        "file_index",
        "split_start",
        F.col("last_position").alias("position"),
        F.col("last_length").alias("length"),
        "initial",
        "absent_to_last",
    )


def _marker_struct() -> Column:
    """What later runs need to know of a marker."""
    return F.struct(
        F.col("marker_offset").alias("offset"),
        F.col("marker_epoch").alias("epoch"),
        F.col("marker_commit").alias("commit"),
        "coordinator_epoch",
        F.col("marker_timestamp").alias("timestamp"),
        "file_index",
        F.col("marker_position").alias("position"),
        F.col("marker_length").alias("length"),
        "initial",
        "absent_to_marker",
    )


def _chain() -> tuple[Column, Column]:
    """(whether a chain of contiguous sequences begins in the run, the chain as a struct).

    A run that `follows` folded transactions is not next to `previous`; its columns `chain_*` say
    which chain began in between (point 6 of the folding contract, udfs/wire/batches/fold.py).
    """
    known = ProducerState(
        F.col("state_epoch"),
        F.col("previous.epoch"),
        next_sequence(F.col("previous.last_sequence")),
    )
    goes_on = is_contiguous(Batch(F.col("producer_epoch"), F.col("first_sequence")), known)
    begins = F.when(F.col("follows"), F.col("chain_first_sequence").isNotNull()).otherwise(
        F.col("has_data") & ~surely(goes_on)
    )
    follows = F.col("follows")
    epoch, sequence = F.col("previous.epoch"), F.col("previous.last_sequence")
    chain = F.struct(
        F.coalesce("chain_first_sequence", "first_sequence").alias("first_sequence"),
        F.when(follows, F.col("chain_epoch_before")).otherwise(epoch).alias("epoch_before"),
        F.when(follows, F.col("chain_sequence_before"))
        .otherwise(sequence)
        .alias("sequence_before"),
        F.when(~follows, F.col("previous.last_offset")).alias("offset_before"),
        F.when(~follows, F.col("first_offset")).alias("first_offset"),
        F.when(~follows, F.col("previous.absent_to_last")).alias("absent_to_before"),
        F.when(~follows, F.col("absent_to_first")).alias("absent_to_first"),
    )
    return begins, chain


def is_transactional_data() -> Column:
    """Whether a run has data of a transaction."""
    return F.col("has_data") & F.col("transactional")


def producer_states(runs: DataFrame) -> DataFrame:
    """Each run of `schemas.log_row.RUN_COLUMNS` with the state of its producer before it.

    A state of the snapshot at which the log begins is a run, too, before all others (`initial`).

    Added: has_data, has_marker, start_offset; the columns of `_known_before`; those of
    `_with_open_transaction`; begins_chain (contiguous sequences begin with the run); chain (those
    that `previous` ends: first_sequence, first_offset and absent_to_first, and epoch, last
    sequence, last offset and absent_to_last of the data before it; offsets and these null where it
    was folded away); those of `_with_expected`, but not checksums_before and last_checksums.

    Where a file is split changes none of this, except where `previous` begins and how many batches
    it has. A run that `follows` folded transactions has the past of the first of those (points 3
    and 6 of the folding contract, udfs/wire/batches/fold.py).
    """
    numbered = runs.select(
        "*",
        F.col("first_offset").isNotNull().alias("has_data"),
        F.col("marker_offset").isNotNull().alias("has_marker"),
        F.coalesce("first_offset", "marker_offset").alias("start_offset"),
    ).withColumn("initial", surely(F.col("initial")))
    # Where offsets go back in a log, a run may begin below the one before it. What its marker ends
    # was appended before that, whatever offsets it has: no checksum covers those.
    ends = F.coalesce("marker_offset", "last_offset")
    order = Window.partitionBy("partition_index", "producer_id").orderBy(ends, "start_offset")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    stated = numbered.select("*", *_known_before(order, before))
    opened = _with_open_transaction(stated, before)
    begins_chain, chain = _chain()
    chained = opened.select(
        "*",
        surely(begins_chain).alias("begins_chain"),
        _newest(F.when(begins_chain, chain), before).alias("chain"),
    )
    return _with_expected(chained)


def _newest(value: Column, before: WindowSpec) -> Column:
    """The value of the nearest earlier run that has one."""
    return F.last(value, ignorenulls=True).over(before)


def _known_before(order: WindowSpec, before: WindowSpec) -> list[Column]:
    """What a broker knows of the producer before the run.

    previous: struct of the nearest earlier run with data; previous_marker: of the nearest earlier
    marker. state_epoch, state_timestamp (ms): of the last batch or marker. highest_data_epoch,
    highest_marker_epoch, highest_coordinator_epoch: so far. transaction_number: markers before the
    run. checksums_before: of the newest batches of the ROWS_OF_KNOWN runs before it. And, of what
    comes after it, next_data_epoch: that of the next run, null where it has no data.
    """
    markers = F.sum(F.col("has_marker").cast("int")).over(before)
    next_data_epoch = F.lead(F.when(F.col("has_data"), F.col("producer_epoch"))).over(order)
    known = F.collect_list("last_checksums").over(order.rowsBetween(-ROWS_OF_KNOWN, -1))
    epoch = F.coalesce("marker_epoch", "producer_epoch")
    timestamp = F.coalesce("marker_timestamp", "last_timestamp")
    return [
        _newest(F.when(F.col("has_data"), _data_struct()), before).alias("previous"),
        _newest(F.when(F.col("has_marker"), _marker_struct()), before).alias("previous_marker"),
        F.lag(epoch).over(order).alias("state_epoch"),
        F.lag(timestamp).over(order).alias("state_timestamp"),
        F.max("producer_epoch").over(before).alias("highest_data_epoch"),
        F.max("marker_epoch").over(before).alias("highest_marker_epoch"),
        F.max("coordinator_epoch").over(before).alias("highest_coordinator_epoch"),
        F.coalesce(markers, F.lit(0)).alias("transaction_number"),
        F.flatten(known).alias("checksums_before"),
        next_data_epoch.alias("next_data_epoch"),
    ]


def _begin() -> Column:
    """The first batch of a transaction and the marker of its producer before it, as a struct.

    first_offset, first_sequence, absent_to_first; epoch_before, offset_before, absent_to_before: of
    that marker, null for none. What was folded away between the two tells its epoch alone.
    """
    return F.struct(
        "first_offset",
        "first_sequence",
        "absent_to_first",
        F.coalesce("marker_epoch_before", "previous_marker.epoch").alias("epoch_before"),
        F.col("previous_marker.offset").alias("offset_before"),
        F.col("previous_marker.absent_to_marker").alias("absent_to_before"),
    )


def _with_open_transaction(rows: DataFrame, before: WindowSpec) -> DataFrame:
    """Adds what was open of this producer before the run.

    data_transaction_number: that of the newest transactional data before it; open_transaction;
    open_first_offset: where that began; newest_begin: how the newest transaction began, open or not
    (`_begin`); state_has_batches: the state still has those of `previous`.
    """
    newest_data = F.when(is_transactional_data(), F.col("transaction_number"))
    # A marker of another epoch forgets them, whichever comes then (`maybeUpdateProducerEpoch`).
    epoch_before = F.when(F.col("has_data"), F.col("producer_epoch")).otherwise(
        F.col("state_epoch")
    )
    forgets = F.when(F.col("marker_epoch") != epoch_before, F.col("marker_offset"))
    rows = rows.select(
        "*",
        _newest(newest_data, before).alias("data_transaction_number"),
        _newest(forgets, before).alias("forgot_at"),
    )
    is_open = surely(F.col("data_transaction_number") == F.col("transaction_number"))
    opens = is_transactional_data() & ~F.col("open_transaction")
    opened_at = _newest(F.when(opens, F.col("first_offset")), before)
    opened_with = _newest(F.when(opens, _begin()), before)
    has_batches = F.col("previous.last_offset") > F.coalesce("forgot_at", F.lit(-1))
    return (
        rows.select("*", is_open.alias("open_transaction"))
        .select(
            "*",
            F.when(F.col("open_transaction"), opened_at).alias("open_first_offset"),
            opened_with.alias("newest_begin"),
            surely(has_batches).alias("state_has_batches"),
        )
        .drop("forgot_at")
    )


def _with_expected(rows: DataFrame) -> DataFrame:
    """Adds what the broker expects of the first batch of the run.

    expected_sequence: null where nothing is known of the producer; known_checksums: of the newest
    batches before the run, KNOWN_BATCHES at most.
    """
    known_in_epoch = (F.col("state_epoch") == F.col("producer_epoch")) & F.col("state_has_batches")
    expected = (
        F.when(F.col("state_epoch").isNull(), F.lit(None))
        .when(known_in_epoch, next_sequence(F.col("previous.last_sequence")))
        .otherwise(F.lit(0))
    )
    newest = F.greatest(F.size("checksums_before") - KNOWN_BATCHES, F.lit(0)) + 1
    return rows.select(
        "*",
        F.when(F.col("has_data"), expected).alias("expected_sequence"),
        F.slice("checksums_before", newest, KNOWN_BATCHES).alias("known_checksums"),
    ).drop("checksums_before", "last_checksums")
