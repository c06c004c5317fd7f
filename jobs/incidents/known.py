"""What consequences are counted from, and the shape of their rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.incidents.assign import PLACE
from jobs.incidents.signature import CLEANED_DATA, MALFORMED_INDEX
from jobs.model.in_memory import ended_in_memory
from jobs.model.transactions import folded_transactions
from jobs.spark.joins import inner, small
from schemas.incident import CONSEQUENCE
from schemas.verdicts import VIOLATION
from udfs.arrow.data_between import Between
from udfs.arrow.own_commits import CommitsIn
from udfs.arrow.sent_again import Asked as Sending
from udfs.arrow.survivors import Asked
from udfs.rules.attribution import epoch_given_again
from udfs.rules.logic import surely

COLUMNS = [field for field in CONSEQUENCE if field.name != "audit_id"]
EPOCH = ("producer_id", "producer_epoch")
TRANSACTION = ["partition_index", "producer_id", "transaction_number"]


@dataclass(frozen=True)
class Known:
    """What the replay knows of the producers of findings.

    `tolerance_ms`: of the clocks of brokers; `decisions`: of `jobs.replay.decisions`, completed or
    not, kept, None for none; `runs`: data runs (`jobs.replay.producers`); `transactions`: of
    `jobs.replay.transactions`; `regular`: folded ones; `info`: partition_info; `states`: rows of
    the table partition_state with partition_index; `open`: `Replayed.open_transactions`;
    `indexed`: entries of a `.txnindex` that no ABORT marker agrees with (`AbortedLists`); `owners`:
    the ids that own producer ids; `files`: the listing; `splits`: summaries; `between`:
    partition_index -> range in, rows of `schemas.lineage.BETWEEN` out; `commits_in`: the same, of
    rows of OWN_COMMIT; `sends`: the same, of rows of SENT; `survivors`: partition_index -> what is
    asked of it in, the numbers of what is refuted out; `remembered`: see there, kept, None for
    none.
    """

    tolerance_ms: int
    decisions: DataFrame | None
    runs: DataFrame
    transactions: DataFrame
    regular: DataFrame
    info: DataFrame
    states: DataFrame
    open: DataFrame
    indexed: DataFrame
    owners: DataFrame
    files: DataFrame
    splits: DataFrame
    between: Callable[[Mapping[int, Between]], DataFrame]
    commits_in: Callable[[Mapping[int, Sequence[CommitsIn]]], DataFrame]
    sends: Callable[[Mapping[int, Sending]], DataFrame]
    survivors: Callable[[Mapping[int, Sequence[tuple[int, Asked]]]], DataFrame]
    remembered: DataFrame | None = None


def written(known: Known) -> DataFrame:
    """One row a transaction, epoch of its data and copy.

    Columns: partition_index, PLACE, `listed` (topic-partition), EPOCH, outcome (commit, abort,
    open), ended_ms (its marker's; null: none), first_offset, last_offset (inclusive), records,
    since_ms (first timestamp). The outcome is what readers get: see `remembered`.
    """
    outcomes = known.transactions.select(
        *TRANSACTION, "outcome", F.col("marker_timestamp").alias("ended_ms")
    )
    ended = outcomes if known.remembered is None else _by_brokers(outcomes, known.remembered)
    in_log = known.runs.filter(F.col("has_data") & F.col("transactional") & ~F.col("initial"))
    replayed = (
        inner(in_log, ended, on=TRANSACTION)
        .groupBy(*TRANSACTION, "producer_epoch", "outcome", "ended_ms")
        .agg(
            F.min("first_offset").alias("first_offset"),
            F.max("last_offset").alias("last_offset"),
            F.sum("records").alias("records"),
            F.min("first_timestamp").alias("since_ms"),
        )
    )
    names = ("partition_index", *EPOCH, "outcome", "ended_ms", "first_offset", "last_offset",
             "records", "since_ms")  # fmt: skip
    # Runs are told apart by the epoch of their data; a folded transaction has one.
    folded = folded_transactions(known.regular).withColumnsRenamed(
        {"first_timestamp": "since_ms", "marker_timestamp": "ended_ms"}
    )
    place = known.info.select("partition_index", *PLACE)
    both = replayed.select(*names).unionByName(folded.select(*names))
    placed = inner(both, small(place), on="partition_index")
    return placed.withColumn("listed", F.concat_ws("-", "topic", "partition"))


def _by_brokers(outcomes: DataFrame, ended: DataFrame) -> DataFrame:
    told = ended.select(*TRANSACTION, "by_broker", F.lit(True).alias("told"))
    return outcomes.join(small(told), on=TRANSACTION, how="left").select(
        *TRANSACTION,
        F.when(F.col("told"), F.col("by_broker")).otherwise(F.col("outcome")).alias("outcome"),
        "ended_ms",
    )


def remembered(placed: DataFrame, known: Known) -> DataFrame:
    """Transactions whose marker the log has surely lost, and that their broker still has ended.

    PLACE, the columns of TRANSACTION, and by_broker: the outcome that the broker goes by. It
    delivers their data (`jobs.model.in_memory`), unless its index lists them as aborted; null where
    the dump lacks the indexes of the partition, or one cannot be read, and where the data have
    several epochs, so that several markers may be lost. Below the log start nobody reads.
    `placed`: see `jobs.incidents.assign`.
    """
    place = [F.col(f"p.{name}").eqNullSafe(F.col(f"t.{name}")) for name in PLACE]
    lost = placed.filter((F.col("label") == CLEANED_DATA) & (F.col("verdict") == VIOLATION))
    bounds = known.info.select(
        "partition_index", *PLACE, "log_start_offset", "log_end_offset", "newest_snapshot",
        "open_in_snapshot",
    )  # fmt: skip
    still_open = known.transactions.filter(F.col("outcome") == "open")
    ended = (
        inner(still_open, small(bounds), on="partition_index")
        .filter(ended_in_memory() & (F.col("last_offset") >= F.col("log_start_offset")))
        .alias("t")
        .join(
            small(lost.select(*PLACE, "producer_id", "offset_first").alias("p")),
            reduce(Column.__and__, place)
            & (F.col("t.producer_id") == F.col("p.producer_id"))
            & (F.col("t.first_offset") == F.col("p.offset_first")),
            "left_semi",
        )
    )
    entries = known.indexed.select(
        "partition_index", "producer_id", F.col("first_offset").alias("aborted_from")
    )
    listed = ended.join(small(entries), on=["partition_index", "producer_id"], how="left")
    inside = F.col("aborted_from").between(F.col("first_offset"), F.col("last_offset"))
    of_one_epoch = F.bool_and(F.col("lowest_epoch") == F.col("highest_epoch"))
    unread = _without_indexes(placed, known)
    aborted = F.when(F.max(surely(inside)), F.lit("abort")).otherwise(F.lit("commit"))
    by_broker = F.when(of_one_epoch, aborted)
    return (
        listed.groupBy(*PLACE, *TRANSACTION)
        .agg(by_broker.alias("by_broker"))
        .join(small(unread), on="partition_index", how="left")
        .withColumn("by_broker", F.when(F.col("unread").isNull(), F.col("by_broker")))
        .drop("unread")
    )


def _without_indexes(placed: DataFrame, known: Known) -> DataFrame:
    """Partitions of which the dump has no `.index` file, or a `.txnindex` that cannot be read."""
    indexes = known.files.filter(F.col("kind") == "offset_index").select("partition_index")
    malformed = placed.filter(F.col("label") == MALFORMED_INDEX).select(*PLACE)
    indexed = known.info.select("partition_index", *PLACE)
    there = indexed.join(small(indexes), on="partition_index", how="left_anti")
    wrong = indexed.alias("i").join(
        small(malformed.alias("m")),
        reduce(
            Column.__and__, [F.col(f"i.{name}").eqNullSafe(F.col(f"m.{name}")) for name in PLACE]
        ),
        "left_semi",
    )
    both = there.select("partition_index").unionByName(wrong.select("partition_index"))
    return both.distinct().withColumn("unread", F.lit(True))


def stable(known: Known) -> DataFrame:
    """partition_index and last_stable_offset, as far as a broker delivers.

    What it still has ended holds nothing back, though the log has it open.
    """
    told = known.states.select("partition_index", "last_stable_offset")
    if known.remembered is None:
        return told
    ends = known.states.select(
        "partition_index", F.coalesce("high_watermark", "log_end_offset").alias("end")
    )
    ended = known.remembered.select("partition_index", "producer_id")
    held = (
        known.open.join(small(ended), on=["partition_index", "producer_id"], how="left_anti")
        .groupBy("partition_index")
        .agg(F.min("first_offset").alias("held_from"))
    )
    concerned = inner(ended.select("partition_index").distinct(), ends, on="partition_index").join(
        small(held), on="partition_index", how="left"
    )
    theirs = concerned.select("partition_index", F.least("end", "held_from").alias("delivered_to"))
    return told.join(small(theirs), on="partition_index", how="left").select(
        "partition_index",
        F.coalesce("delivered_to", "last_stable_offset").alias("last_stable_offset"),
    )


def ended_before(known: Known) -> Column:
    """Whether a transaction of `written` ended before any of its epoch began that is in the log.

    Asks begun_ms, the start of the first of these, ms of the coordinator's clock; -1: not told.
    """
    moments = F.col("ended_ms"), F.col("begun_ms"), F.lit(known.tolerance_ms)
    before: Column = surely(epoch_given_again(*moments))
    return before


def shaped(rows: DataFrame, kind: Column, **values: Column) -> DataFrame:
    """The columns of the table; what is not given is null."""
    given = {"kind": kind, **values}
    return rows.select(
        *[
            given.get(field.name, F.col(field.name) if field.name in rows.columns else F.lit(None))
            .cast(field.dataType)
            .alias(field.name)
            for field in COLUMNS
        ]
    )
