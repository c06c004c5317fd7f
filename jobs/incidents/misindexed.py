"""Records that readers get, or do not get, because a `.txnindex` contradicts a marker.

A broker tells read_committed consumers the aborted transactions of its index, whatever the markers
of its log are (`LocalLog.addAbortedTransactions`, `TransactionIndex.collectAbortedTxns`). It is not
asked for `__consumer_offsets`: a coordinator goes by the markers when it loads that partition
(`GroupMetadataManager.doLoadGroupsAndOffsets`).
"""

from collections.abc import Collection

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.incidents.assign import PLACE
from jobs.incidents.known import EPOCH, Known, shaped, written
from jobs.incidents.outcome_steps import INVISIBLE, VISIBLE
from jobs.incidents.ranges import contiguous, without_others
from jobs.incidents.signature import INDEXED_OUTCOME, LACKS_ENTRY
from jobs.incidents.whose import about
from jobs.spark.joins import inner, small
from schemas.topics import OFFSETS_TOPIC
from schemas.verdicts import VIOLATION
from udfs.rules.attribution import epoch_given_again
from udfs.rules.logic import surely

RANGES_OF = ("incident", *PLACE, "kind")


def contradicted(placed: DataFrame, labels: Collection[str]) -> DataFrame | None:
    """Findings that an index contradicts a marker which consumers depend on; None for none.

    PLACE, producer_id, from_offset, to_offset (data and marker, inclusive), aborted (by its marker,
    though not by the index), index_incident. `placed`, `labels`: see `jobs.incidents.misdecided`.
    """
    if set(INDEXED_OUTCOME).isdisjoint(labels):
        return None
    proven = F.col("label").isin(*INDEXED_OUTCOME) & (F.col("verdict") == VIOLATION)
    return placed.filter(proven & (F.col("topic") != OFFSETS_TOPIC)).select(
        *PLACE,
        "producer_id",
        F.col("offset_first").alias("from_offset"),
        F.col("offset_last").alias("to_offset"),
        (F.col("label") == LACKS_ENTRY).alias("aborted"),
        F.col("incident").alias("index_incident"),
    )


def misindexed(indexed: DataFrame, completed: DataFrame, known: Known) -> DataFrame:
    """Rows of CONSEQUENCE without audit_id: where the marker is as decided, and the index is not.

    `completed`: one row a decision and partition: EPOCH, listed, decided_commit, begun_ms.
    """
    decided = completed.select(*EPOCH, "listed", "decided_commit", "begun_ms").distinct()
    there = inner(written(known), decided, on=[*EPOCH, "listed"]).filter(
        (F.col("decided_commit") == (F.col("outcome") == "commit"))
        & F.col("outcome").isin("commit", "abort")
        & ~surely(
            epoch_given_again(F.col("ended_ms"), F.col("begun_ms"), F.lit(known.tolerance_ms))
        )
    )
    aborted = F.col("r.outcome") == "abort"
    told = (
        there.alias("r")
        .join(
            small(indexed).alias("i"),
            about("r", "i", "first_offset") & (F.col("i.aborted") == aborted),
        )
        .select(
            "r.*",
            F.col("i.index_incident").alias("incident"),
            F.when(aborted, VISIBLE).otherwise(INVISIBLE).alias("kind"),
            F.lit(1).alias("transactions"),
        )
    )
    summed = contiguous(
        without_others(told, known),
        RANGES_OF,
        F.sum("transactions").alias("transactions"),
        F.min("since_ms").alias("since_ms"),
        F.sum("records").alias("records"),
    )
    return shaped(summed, F.col("kind"), provable=F.lit(True))
