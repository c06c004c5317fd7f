"""Context `torn_epoch`: one row is an aborted transaction whose epoch was committed elsewhere."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.model.set_back_clocks import covers_once
from jobs.model.transactions import CLOSED_COLUMNS, all_transactions
from jobs.spark.joins import inner, small
from jobs.verify.conditions.missing import LOST_OFFSETS, end_may_be_another
from jobs.verify.contexts.context import Context, with_paths
from udfs.rules.attribution import is_decision_known, raised_by_one
from udfs.rules.logic import surely

# So many transactions fit into the memory of every task.
MOST_BROADCAST = 200_000
OF_TRANSACTION = ["cluster", "producer_id", "producer_epoch"]


@dataclass(frozen=True)
class TornEpochs:
    """What the context is built from.

    `aborts`: rows of `undecided_aborts`; `commits`: rows of `possible_commits`; `few`: the one of
    the two that each task can have whole, None for neither. `number`: undecided aborts, one an
    epoch. `owners`: the ids that own producer ids.
    """

    number: int
    aborts: DataFrame
    commits: DataFrame
    few: DataFrame | None
    owners: DataFrame


def undecided_aborts(
    transactions: DataFrame,
    regular_aborts: DataFrame,
    history: DataFrame,
    partition_info: DataFrame,
    tolerance: int,
) -> DataFrame:
    """Aborted transactions of transaction.version 2 whose decision the coordinator's log lacks.

    Where the log has it, the context `decided_partition` shows which of two markers is wrong; not
    where the copy of that log may be older than the marker. `history`: producer ids, of
    `jobs.replay.decisions`; `tolerance`: of clocks, ms. Columns: those of `_in_client_topics`,
    but set_backs.
    """
    aborted = _in_client_topics(transactions, regular_aborts, partition_info).filter(
        ~F.col("marker_commit")
    )
    names = ("known_above", "newest_epoch", "history_covers_ms")
    known = history.select("producer_id", *names)
    decided = is_decision_known(
        F.col("marker_epoch"),
        F.col("known_above"),
        F.col("newest_epoch"),
        covers_once(F.col("history_covers_ms"), F.col("marker_timestamp"), F.lit(tolerance)),
    )
    undecided = aborted.join(known, on="producer_id", how="left").filter(~surely(decided))
    return undecided.drop(*names, "set_backs")


def possible_commits(
    transactions: DataFrame, regular_commits: DataFrame, partition_info: DataFrame
) -> DataFrame:
    """Committed transactions, among them all of an epoch that was aborted elsewhere.

    `regular_commits`: of those folded away in the decoder all that committed such an epoch.
    Columns: those of a transaction and `committed`, a struct of CLOSED_COLUMNS, place and
    replicated_below.
    """
    ended = _in_client_topics(transactions, regular_commits, partition_info)
    whole = F.struct(*CLOSED_COLUMNS, "place", "replicated_below")
    return ended.filter("marker_commit").select(*OF_TRANSACTION, whole.alias("committed"))


def _in_client_topics(
    transactions: DataFrame, folded: DataFrame, partition_info: DataFrame
) -> DataFrame:
    """Transactions with data in topics of clients, whose marker raised the epoch by one.

    Such an epoch is one transaction: a commit raises it under transaction.version 2 only, and what
    follows has the next one (KIP-890). An operator's abort has the epoch of the data.
    Columns: CLOSED_COLUMNS, place (topic-partition), cluster (empty if not known),
    replicated_below, set_backs.
    """
    places = partition_info.filter(~F.col("coordinator_topic")).select(
        "partition_index",
        F.concat_ws("-", "topic", "partition").alias("place"),
        F.coalesce("cluster_id", F.lit("")).alias("cluster"),
        "replicated_below",
        "set_backs",
        *LOST_OFFSETS,
    )
    raised = raised_by_one(F.col("marker_epoch"), F.col("producer_epoch"))
    ended = all_transactions(transactions, folded).select(*CLOSED_COLUMNS)
    placed = inner(
        ended.filter(F.col("first_offset").isNotNull() & raised),
        small(places),
        on="partition_index",
    )
    return placed.filter(~end_may_be_another()).drop(*LOST_OFFSETS)


def _torn(given: TornEpochs) -> DataFrame:
    """The aborts of which another partition has the same transaction committed: the first such."""
    aborts, commits = given.aborts, given.commits
    if given.few is commits:
        commits = small(commits)
    elif given.few is aborts:
        aborts = small(aborts)
    pairs = inner(aborts, commits, on=OF_TRANSACTION).filter(
        F.col("place") != F.col("committed.place")
    )
    mine = [name for name in given.aborts.columns if name != "cluster"]
    return pairs.groupBy(*mine).agg(
        F.min_by("committed", F.struct("committed.place", "committed.partition_index")).alias(
            "committed"
        )
    )


def torn_epoch_context(given: TornEpochs, partition_info: DataFrame, files: DataFrame) -> Context:
    """Transactions with opposite markers in two partitions of client topics.

    A row has the columns of `undecided_aborts` and `committed`, a struct of the same for the
    partition (the first by name) that has it committed. What `__consumer_offsets` holds is in the
    context `offset_transaction`.
    """
    known = partition_info.select("partition_index", "topic", "partition", "broker")

    def regular() -> Column:
        return F.lit(False)

    def enrich(selected: DataFrame) -> DataFrame:
        owner = given.owners.select("producer_id", "transactional_id")
        placed = inner(selected, small(known), on="partition_index").join(
            owner, on="producer_id", how="left"
        )
        named = with_paths(
            placed, files, file="first_file_index", committed_file="committed.first_file_index"
        )
        return named.select(
            "*",
            F.col("first_offset").alias("offset_first"),
            F.col("marker_offset").alias("offset_last"),
            F.col("first_position").alias("byte_position"),
            F.col("first_length").alias("byte_length"),
            F.col("committed.first_position").alias("committed_position"),
            F.col("committed.first_length").alias("committed_length"),
            F.col("committed.place").alias("committed_place"),
            F.col("committed.first_offset").alias("committed_first"),
            F.col("committed.marker_offset").alias("committed_marker"),
            F.col("committed.replicated_below").alias("committed_replicated_below"),
        )

    return Context(
        "torn_epoch", _torn(given), regular, enrich, folded=given.number, within_cluster=True
    )
