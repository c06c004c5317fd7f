"""Records that readers get, or do not get, against the decision of the coordinator.

Under transaction.version 2 a decision is about one producer epoch. Under 0 and 1 transactions share
an epoch; there it is known of a partition where no decision of an epoch had the outcome that its
markers have. Where an epoch was decided both ways, or a marker is missing, it is known only that
something took another one's outcome. So it is where a COMMIT has no decision of its own: it ended
data of a transaction that was aborted.
"""

from collections.abc import Collection

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.incidents.assign import PLACE
from jobs.incidents.known import EPOCH, Known, ended_before, shaped, written
from jobs.incidents.misindexed import contradicted, misindexed
from jobs.incidents.outcome_steps import INVISIBLE, VISIBLE
from jobs.incidents.ranges import RANGES_OF, contiguous, sums, without_others
from jobs.incidents.signature import (
    AGAIN,
    BUMPED,
    BUMPED_BY_2,
    DECISION_LOST,
    FENCED,
    MISSING_MARKER,
    OF_LOWER_EPOCH,
)
from jobs.incidents.versions import sole_decisions
from jobs.incidents.whose import apart_from, is_proven, nearest, of_one_producer, whose
from jobs.model.ending import runs_here
from jobs.model.owners import with_coordinator
from jobs.model.state_names import named
from jobs.spark.joins import inner, small
from jobs.spark.kept import KeptFrames, is_known_empty
from schemas.coordinator_states import PREPARE_ABORT
from schemas.verdicts import VIOLATION
from udfs.rules.logic import surely

KEY = (*EPOCH, "listed")
# Findings that a marker has not the outcome of its decision. Where the epoch was not decided both
# ways, none of its decisions has it.
CONTRADICTED = ("torn_transaction", "marker_outcome_mismatch")
OF_SHARED = frozenset({MISSING_MARKER, DECISION_LOST, *CONTRADICTED})


def misdecided(
    placed: DataFrame,
    labels: Collection[str],
    decisions: DataFrame,
    known: Known,
    kept: KeptFrames,
) -> list[DataFrame]:
    """Rows of CONSEQUENCE without audit_id.

    `placed`: see `jobs.incidents.assign`; `labels`: of its rows; `decisions`: those of `known`.
    """
    decided = kept.keep(_decided(decisions))
    indexed = contradicted(placed, labels)
    told = _against_markers(placed, labels, decisions, decided, indexed, known, kept)
    if indexed is None:
        return told
    return [*told, misindexed(indexed, decided.filter("carried_out"), _doubted(placed), known)]


def _doubted(placed: DataFrame) -> DataFrame:
    """One row a producer_id and partition (listed) with a marker that is wrong or missing."""
    found = placed.filter(F.col("label").isin(*CONTRADICTED, MISSING_MARKER))
    return found.select(
        "producer_id", F.concat_ws("-", "topic", "partition").alias("listed")
    ).distinct()


def _against_markers(
    placed: DataFrame,
    labels: Collection[str],
    decisions: DataFrame,
    decided: DataFrame,
    indexed: DataFrame | None,
    known: Known,
    kept: KeptFrames,
) -> list[DataFrame]:
    """What readers get by the markers. `decided`: of `_decided`; `indexed`: of `contradicted`.

    No index tells them otherwise.
    """
    of_key = (*KEY, "decided_commit", "carried_out", "shared", "begun_ms")
    by_key = decided.filter(~F.col("shared")).select(*of_key).distinct()
    if not {BUMPED, BUMPED_BY_2}.isdisjoint(labels):
        by_key = by_key.unionByName(_unlisted(placed, decisions))
    found = None if OF_SHARED.isdisjoint(labels) else _in_shared_epochs(placed, decided)
    if found is None:
        return _counted(by_key, placed, indexed, known, kept)
    opposite = F.col("label").isin(*CONTRADICTED)
    either = F.col("label").isin(*CONTRADICTED, DECISION_LOST) & F.col("both_ways")
    whole = found.filter(opposite & ~F.col("both_ways")).select(*by_key.columns)
    in_part = found.filter((F.col("label") == MISSING_MARKER) | either)
    return [
        *_counted(by_key.unionByName(whole.distinct()), placed, indexed, known, kept),
        _counted_in_part(_merged(apart_from(in_part, "offset_first", indexed), known), known),
    ]


def _decided(decisions: DataFrame) -> DataFrame:
    """One row a decision and partition: KEY, decided_commit, shared (transactions share it).

    carried_out: it is completed; otherwise none of the epoch is there, its marker is still to come,
    and only another one is wrong. aborts: when those of the epoch that were aborted began and were
    decided, ms of the coordinator's clock. both_ways: they were committed and aborted. begun_ms:
    when the first of them began, ms of that clock; -1: one does not tell.
    """
    completed = F.col("complete_offset").isNotNull()
    exploded = decisions.filter(completed | F.col("pending")).select(
        "producer_id",
        F.col("data_epoch").alias("producer_epoch"),
        F.col("commit").alias("decided_commit"),
        "shares_epoch",
        "transactional_id",
        "start_ms",
        "prepare_timestamp",
        completed.alias("carried_out"),
        F.explode("partitions").alias("listed"),
    )
    of_epoch = Window.partitionBy(*KEY)
    # Beside one that was carried out another one may be of a coordinator that was deposed.
    any_carried_out = F.max("carried_out").over(of_epoch)
    in_effect = exploded.withColumn("any", any_carried_out).filter("carried_out or not any")
    commits = F.col("decided_commit")
    both_ways = F.min(commits).over(of_epoch) != F.max(commits).over(of_epoch)
    # Ids that share a producer id have each their own transaction of an epoch.
    ids = F.col("transactional_id")
    of_several = F.min(ids).over(of_epoch) != F.max(ids).over(of_epoch)
    aborted = F.when(~commits, F.struct("start_ms", "prepare_timestamp"))
    return in_effect.drop("any").withColumns(
        {
            "aborts": F.array_sort(F.collect_set(aborted).over(of_epoch)),
            "shared": F.max("shares_epoch").over(of_epoch) | of_several,
            "both_ways": both_ways,
            "begun_ms": F.min(F.coalesce("start_ms", F.lit(-1))).over(of_epoch),
        }
    )


def _unlisted(placed: DataFrame, decisions: DataFrame) -> DataFrame:
    """Of findings about data that the only transaction of their epoch aborted, and does not list.

    A row an epoch and partition, with the columns of by_key: no marker of it hides them there.
    """
    found = placed.filter(F.col("label").isin(BUMPED, BUMPED_BY_2)).select(
        "producer_id",
        F.col("data_epoch").cast("int").alias("producer_epoch"),
        F.concat_ws("-", "topic", "partition").alias("listed"),
    )
    aborted = (
        sole_decisions(decisions)
        .filter(~F.col("decided_commit"))
        .withColumnsRenamed({"data_epoch": "producer_epoch"})
    )
    both = inner(found.distinct(), small(aborted), on=[*EPOCH])
    return both.filter(~F.array_contains("partitions", F.col("listed"))).select(
        *KEY,
        "decided_commit",
        F.lit(True).alias("carried_out"),
        F.lit(False).alias("shared"),
        "begun_ms",
    )


def _in_shared_epochs(placed: DataFrame, decided: DataFrame) -> DataFrame | None:
    """Violations about epochs that several transactions share; None where there is no epoch."""
    of_epoch = (*KEY, "shared", "both_ways", "carried_out", "begun_ms", "aborts")
    shared = decided.filter("shared").select(*of_epoch).distinct()
    if not shared.limit(1).count():
        return None
    # A COMMIT has the epoch of its data there.
    own = F.when(F.col("label") == DECISION_LOST, F.col("producer_epoch"))
    listed = placed.withColumns(
        {
            "listed": F.concat_ws("-", "topic", "partition"),
            "producer_epoch": F.coalesce("data_epoch", own),
        }
    )
    return inner(listed.filter(F.col("verdict") == VIOLATION), small(shared), on=[*KEY])


def _with_due(rows: DataFrame, known: Known) -> DataFrame:
    """Adds due: open data that the marker of a running transaction which joined them may deliver.

    A decided ABORT delivers nothing.
    """
    aborts = F.col("coordinator.state").isin(*named(PREPARE_ABORT))
    due = (F.col("outcome") == "open") & runs_here() & ~surely(aborts)
    return with_coordinator(rows, known.owners).withColumn("due", due).drop("coordinator")


def _kind() -> Column:
    """Null where readers get what they should, or do not reach it yet."""
    committed = (F.col("outcome") == "commit") | F.col("due")
    return F.when(
        ~F.col("decided_commit")
        & committed
        & ~F.col("due")
        & (F.col("last_offset") < F.col("last_stable_offset")),
        F.lit(VISIBLE),
    ).when(F.col("decided_commit") & ~committed, F.lit(INVISIBLE))


def _counted(
    by_key: DataFrame,
    placed: DataFrame,
    indexed: DataFrame | None,
    known: Known,
    kept: KeptFrames,
) -> list[DataFrame]:
    """Transactions with an outcome that nobody decided, each counted where it begins; or nothing.

    `by_key`: KEY, carried_out, shared, begun_ms, and decided_commit: what no transaction of the
    partition may differ from that was not ended before.
    """
    of_decision = inner(written(known), by_key, on=[*KEY]).filter(~ended_before(known))
    rows = _with_due(apart_from(of_decision, "first_offset", indexed), known)
    opposite = F.col("decided_commit") != (F.col("outcome") == "commit")
    wrong = kept.keep(rows.filter(opposite & (F.col("carried_out") | (F.col("outcome") != "open"))))
    if is_known_empty(wrong):
        return []
    stable = known.states.select("partition_index", "last_stable_offset")
    mine = (
        inner(wrong, small(stable), on="partition_index")
        .alias("d")
        .join(
            small(whose(placed, "data_epoch")).alias("w"),
            of_one_producer("d", "w"),
        )
        # At the end of a copy the marker may lie behind it: of what is open a finding must tell,
        # and of a decision that is not completed: the append of its record may have failed.
        .filter(
            is_proven("d.producer_epoch")
            | ((F.col("d.outcome") != "open") & F.col("d.carried_out"))
        )
        .select("d.*", nearest("d.producer_epoch").alias("incident"))
    )
    # Of an epoch with one transaction, data behind its marker are part of it.
    own = F.when(F.col("shared"), F.col("first_offset")).otherwise(-1)
    wrong_kind = mine.withColumns({"kind": _kind(), "own": own})
    visible = wrong_kind.filter(F.col("kind") == VISIBLE)
    invisible = wrong_kind.filter(F.col("kind") == INVISIBLE)
    told = visible.unionByName(apart_from(invisible, "first_offset", _fenced(placed)))
    once = Window.partitionBy(*RANGES_OF, *EPOCH, "own").orderBy("first_offset")
    begins = (F.row_number().over(once) == 1).cast("int")
    ranges = without_others(told.withColumn("transactions", begins), known)
    summed = contiguous(ranges, RANGES_OF, *sums(), F.sum("records").alias("records"))
    return [shaped(summed, F.col("kind"), provable=F.lit(True))]


def _fenced(placed: DataFrame) -> DataFrame:
    """Data of an epoch that their producer no longer had: they miss no reader.

    What its transaction had, was acknowledged before its end.
    """
    proven = F.col("label").isin(FENCED, OF_LOWER_EPOCH, *AGAIN) & (F.col("verdict") == VIOLATION)
    return placed.filter(proven).select(
        *PLACE,
        "producer_id",
        F.col("offset_first").alias("from_offset"),
        F.coalesce("offset_last", "offset_first").alias("to_offset"),
    )


def _merged(lacking: DataFrame, known: Known) -> DataFrame:
    """What took the outcome of a later marker of its epoch: a finding, and what it lies in."""
    stable = known.states.select("partition_index", "last_stable_offset")
    rows = _with_due(inner(written(known), small(stable), on="partition_index"), known).alias("d")
    names = (*PLACE, "producer_id", "offset_first", "decided_commit", "incident", "label", "aborts")
    found = small(lacking.select(*names)).alias("f")
    joined = rows.join(
        found,
        of_one_producer("d", "f")
        & F.col("f.offset_first").between(F.col("d.first_offset"), F.col("d.last_offset")),
    )
    # What a COMMIT without a decision ended may have been committed, and the decision lost.
    ran_then = F.exists(
        "f.aborts",
        lambda one: F.col("d.ended_ms").between(one["start_ms"], one["prepare_timestamp"]),
    )
    known_outcome = joined.filter((F.col("f.label") != DECISION_LOST) | surely(ran_then))
    return known_outcome.select("d.*", "f.decided_commit", "f.incident").withColumn("kind", _kind())


def _counted_in_part(merged: DataFrame, known: Known) -> DataFrame:
    """The log does not show which records between two markers were the first transaction's."""
    told = merged.filter(F.col("kind").isNotNull()).withColumn("transactions", F.lit(1))
    summed = contiguous(without_others(told, known), RANGES_OF, *sums())
    return shaped(summed, F.col("kind"), provable=F.lit(False))
