"""The replay as a whole: decoded rows in, the rebuilt tables out."""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.model.coordinator_log import CoordinatorLog
from jobs.model.decoded import Decoded
from jobs.replay.coordinator import last_states, owners
from jobs.replay.coordinator_copies import with_other_copies
from jobs.replay.coordinator_log import coordinator_log, folded_away
from jobs.replay.decisions import histories
from jobs.replay.holes import counted_on, holes
from jobs.replay.partitions import partition_info
from jobs.replay.producers import producer_states
from jobs.replay.seams import (
    all_discontinuities,
    earlier_ends,
    known_states,
    named_splits,
    summaries,
)
from jobs.replay.stopped import stopped
from jobs.replay.transactions import partition_states, transactions, undecided
from jobs.spark.kept import KeptFrames
from jobs.spark.session import FEWEST_SHUFFLE_PARTITIONS, shuffle_partitions
from jobs.spark.threads import side_by_side
from schemas import log_row


@dataclass(frozen=True)
class Replayed:
    """What the replay made of a decoded dump; each shape is described where it is made."""

    splits: DataFrame
    discontinuities: DataFrame
    partition_info: DataFrame
    states: DataFrame
    transactions: DataFrame
    regular: int
    coordinator: DataFrame
    owners: DataFrame
    histories: DataFrame
    coordinator_log: CoordinatorLog

    def partition_states(self) -> DataFrame:
        """Rows of the table `partition_state`."""
        return partition_states(self.partition_info, self.transactions, self.owners)

    def open_transactions(self) -> DataFrame:
        """Rows of `undecided`: transactions without a marker, as the brokers remember them."""
        return undecided(self.partition_info, self.transactions).filter("is_open")

    def transaction_count(self) -> int:
        """Transactions with data; markers alone are none."""
        return self.regular + self.transactions.filter(F.col("first_offset").isNotNull()).count()

    def clusters_with_producers(self) -> int:
        """Clusters of the dump that have producers of their own, or a coordinator's topic."""
        writing = self.states.select("partition_index").distinct().withColumn("writes", F.lit(True))
        placed = self.partition_info.join(writing, on="partition_index", how="left")
        with_transactions = placed.filter(F.col("coordinator_topic") | F.col("writes"))
        return (
            with_transactions.filter(F.col("cluster_id").isNotNull())
            .select("cluster_id")
            .distinct()
            .count()
        )


def _produced(runs: DataFrame, kept: KeptFrames) -> tuple[DataFrame, DataFrame]:
    """States of producers, and their transactions."""
    states = kept.keep(producer_states(runs))
    return states, kept.keep(transactions(states))


def replay(
    partitions: DataFrame,
    files: DataFrame,
    decoded: Decoded,
    damages: DataFrame,
    kept: KeptFrames,
    clock_tolerance: int,
) -> Replayed:
    """Rebuilds partitions, producers, transactions and coordinator from the decoded rows.

    `partitions`, `files`: as the dump lists them (`jobs.collect.listing`); `damages`: byte ranges;
    `clock_tolerance`: how far brokers' clocks may be apart, ms.
    """
    rows = decoded.rows
    discontinuities = decoded.nested(log_row.OFFSET_DISCONTINUITY, "offset_discontinuity")
    txn_log_records = decoded.nested(log_row.TXN_LOG_RECORD, "txn_log_record")
    # One row a split, read by a dozen joins: not from among all rows each time.
    tasks = min(shuffle_partitions(rows.sparkSession), FEWEST_SHUFFLE_PARTITIONS)
    read = kept.keep(summaries(rows).repartition(tasks))
    splits = kept.keep(named_splits(read, files))
    with side_by_side(1) as pool:
        # Producers and their transactions need nothing else of the rest.
        produced = pool.submit(_produced, counted_on(decoded.runs(), splits), kept)
        # Rows of the driver are a part of each plan that begins with them, and of its tasks.
        listed = kept.keep(stopped(partitions, splits))
        steps = kept.keep(all_discontinuities(splits, discontinuities))
        alone = kept.keep(
            partition_info(
                listed,
                splits,
                kept.keep(holes(splits, steps, damages, listed)),
                earlier_ends(read, files),
                known_states(read, files),
                clock_tolerance,
            )
        )
        known = kept.keep(with_other_copies(alone, txn_log_records, kept.keep))
        tables = kept.keep_all(
            coordinator=last_states(txn_log_records, known),
            histories=histories(txn_log_records, known),
        )
        log = coordinator_log(txn_log_records, folded_away(decoded), splits, known, kept)
    states, settled = produced.result()
    return Replayed(
        splits=splits,
        discontinuities=steps,
        partition_info=known,
        states=states,
        transactions=settled,
        regular=decoded.regular,
        owners=owners(tables["coordinator"]),
        coordinator_log=log,
        **tables,
    )
