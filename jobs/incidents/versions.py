"""Which producers work under transaction.version 2, as their markers or their coordinator tell."""

from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.spark.joins import small
from udfs.rules.coordinator_step import TRANSACTION_VERSION_2


class Version2(NamedTuple):
    """What is known of epochs under transaction.version 2, where each is one transaction.

    `producers`: see `_producers`; `sole`: see `sole_decisions`, None without decisions.
    """

    producers: DataFrame
    sole: DataFrame | None


def of_version_2(
    decisions: DataFrame | None, txn_log_records: DataFrame, transactions: DataFrame
) -> Version2:
    """`decisions`, `transactions`: see `jobs.incidents.moments`.

    `txn_log_records`: of the coordinator's log, those that were not folded away.
    """
    return Version2(
        _producers(decisions, txn_log_records, transactions),
        None if decisions is None else sole_decisions(decisions),
    )


def _producers(
    decisions: DataFrame | None, txn_log_records: DataFrame, transactions: DataFrame
) -> DataFrame:
    """producer_id of producers, each once, that transaction.version 2 gave an epoch (KIP-890).

    older_up_to: the highest epoch of their data that a COMMIT marker of the same epoch ended, as
    under version 0 and 1; null for none. What is not above it may be from before an upgrade, but
    for given_epochs: those that a COMMIT marker of version 2 gave the producer; null for none.
    Only under that version a COMMIT marker has a higher epoch than its data
    (`TransactionMetadata.prepareAbortOrCommit`).
    """
    raised = F.col("marker_commit") & (F.col("marker_epoch") > F.col("highest_epoch"))
    told = F.col("client_transaction_version") >= TRANSACTION_VERSION_2
    found = [transactions.filter(raised), txn_log_records.filter(told)]
    if decisions is not None:
        found.append(decisions.filter("transaction_version_2"))
    first, *others = [one.select("producer_id") for one in found]
    for one in others:
        first = first.unionByName(one)
    told_of = first.filter(F.col("producer_id").isNotNull()).distinct()
    same = F.col("marker_epoch") == F.col("highest_epoch")
    by_producer = (
        transactions.filter("marker_commit")
        .groupBy("producer_id")
        .agg(
            F.max(F.when(same, F.col("highest_epoch"))).alias("older_up_to"),
            F.collect_set(F.when(raised, F.col("marker_epoch"))).alias("given_epochs"),
        )
    )
    return told_of.join(small(by_producer), on="producer_id", how="left")


def sole_decisions(decisions: DataFrame) -> DataFrame:
    """One row a producer id and epoch of data that one transaction has alone.

    Columns: producer_id, data_epoch, decided_commit, partitions (topic-partition), begun_ms. Of
    those that are complete: under transaction.version 2 an epoch is one transaction.
    """
    ended = decisions.filter(F.col("complete_offset").isNotNull())
    # A record is in each copy of the coordinator's log.
    decided = F.count_distinct("transactional_id", "prepare_offset")
    by_epoch = ended.groupBy("producer_id", "data_epoch").agg(
        F.max("commit").alias("decided_commit"),
        F.flatten(F.collect_set("partitions")).alias("partitions"),
        F.min(F.coalesce("start_ms", F.lit(-1))).alias("begun_ms"),
        (F.max("shares_epoch") | (decided > 1)).alias("shared"),
    )
    return by_epoch.filter(~F.col("shared")).drop("shared")
