"""What consequences are counted from, and the shape of their rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.incidents.assign import PLACE
from jobs.model.transactions import folded_transactions
from jobs.spark.joins import inner, small
from schemas.incident import CONSEQUENCE
from udfs.arrow.data_between import Between
from udfs.arrow.own_commits import CommitsIn
from udfs.arrow.sent_again import Asked as Sending
from udfs.arrow.survivors import Asked
from udfs.rules.attribution import epoch_given_again
from udfs.rules.logic import surely

COLUMNS = [field for field in CONSEQUENCE if field.name != "audit_id"]
EPOCH = ("producer_id", "producer_epoch")


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
    asked of it in, the numbers of what is refuted out.
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


def written(known: Known) -> DataFrame:
    """One row a transaction, epoch of its data and copy.

    Columns: partition_index, PLACE, `listed` (topic-partition), EPOCH, outcome (commit, abort,
    open), ended_ms (its marker's; null: none), first_offset, last_offset (inclusive), records,
    since_ms (first timestamp). The outcome is what readers get (`jobs.incidents.remembered`), null
    where the dump does not tell.
    """
    transaction = ["partition_index", "producer_id", "transaction_number"]
    ended_ms = F.col("marker_timestamp").alias("ended_ms")
    ended = known.transactions.select(*transaction, "outcome", ended_ms)
    in_log = known.runs.filter(F.col("has_data") & F.col("transactional") & ~F.col("initial"))
    replayed = (
        inner(in_log, ended, on=transaction)
        .groupBy(*transaction, "producer_epoch", "outcome", "ended_ms")
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
