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
from jobs.incidents.known import EPOCH, Known, ended_before, shaped, written
from jobs.incidents.outcome_steps import INVISIBLE, VISIBLE
from jobs.incidents.ranges import RANGES_OF, contiguous, sums, without_others
from jobs.incidents.signature import INDEXED_OUTCOME, LACKS_ENTRY
from jobs.incidents.whose import about
from jobs.spark.joins import inner, small
from schemas.topics import OFFSETS_TOPIC
from schemas.verdicts import VIOLATION

# The signature of an index that contradicts its log.
WRONG_INDEX = "stale_replica"


def contradicted(placed: DataFrame, labels: Collection[str]) -> DataFrame | None:
    """Findings that an index contradicts a marker which consumers depend on; None for none.

    PLACE, producer_id, from_offset, to_offset (data and marker, inclusive), aborted (by its marker,
    though not by the index), index_incident and index_kind. `placed`, `labels`: see
    `jobs.incidents.misdecided`.
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
        F.col("kind").alias("index_kind"),
    )


def misindexed(
    indexed: DataFrame, completed: DataFrame, doubted: DataFrame, known: Known
) -> DataFrame:
    """Rows of CONSEQUENCE without audit_id: where the marker is as decided, and the index is not.

    `completed`: one row a decision and partition: EPOCH, listed, decided_commit, both_ways, shared,
    begun_ms. `doubted`: one row a producer_id and partition (listed) in which a marker has another
    outcome than was decided, or is missing: of an epoch that transactions share and that was
    decided both ways, no marker is known to be right there. What else than a wrong index a finding
    shows has consequences of its own. Those who read from another copy get what its index says.
    """
    either = completed.filter(F.col("shared") & F.col("both_ways"))
    known_outcome = completed.filter(~(F.col("shared") & F.col("both_ways"))).unionByName(
        either.join(small(doubted), on=["producer_id", "listed"], how="left_anti")
    )
    decided = known_outcome.select(*EPOCH, "listed", "decided_commit", "begun_ms").distinct()
    wrong = small(indexed.filter(F.col("index_kind") == WRONG_INDEX)).alias("i")
    stable = known.states.select("partition_index", "last_stable_offset")
    reached = inner(written(known), small(stable), on="partition_index").filter(
        F.col("last_offset") < F.col("last_stable_offset")
    )
    there = inner(reached, decided, on=[*EPOCH, "listed"]).filter(
        (F.col("decided_commit") == (F.col("outcome") == "commit"))
        & F.col("outcome").isin("commit", "abort")
        & ~ended_before(known)
    )
    aborted = F.col("r.outcome") == "abort"
    told = (
        there.alias("r")
        .join(
            wrong,
            about("r", "i", "first_offset") & (F.col("i.aborted") == aborted),
        )
        .select(
            "r.*",
            F.col("i.index_incident").alias("incident"),
            F.when(aborted, VISIBLE).otherwise(INVISIBLE).alias("kind"),
            F.lit(1).alias("transactions"),
        )
        # An index may have two wrong entries of one transaction.
        .dropDuplicates(["partition_index", *EPOCH, "first_offset"])
    )
    summed = contiguous(
        without_others(told, known),
        RANGES_OF,
        *sums(),
        F.sum("records").alias("records"),
    )
    return shaped(summed, F.col("kind"), provable=F.lit(True))
