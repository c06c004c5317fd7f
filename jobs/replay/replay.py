"""The replay as a whole: decoded rows in, the rebuilt tables out."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.model.coordinator_log import CoordinatorLog
from jobs.replay.coordinator import last_states, owners
from jobs.replay.coordinator_log import Folded, coordinator_log
from jobs.replay.decisions import histories
from jobs.replay.partitions import (
    clusters,
    earlier_ends,
    facts,
    holes,
    known_states,
    segments,
    summaries,
)
from jobs.replay.producers import producer_states
from jobs.replay.transactions import partition_states, transactions
from jobs.spark.kept import Kept
from jobs.spark.session import FEWEST_SHUFFLE_PARTITIONS


@dataclass(frozen=True)
class Replayed:
    """What the replay made of a decoded dump; each shape is described where it is made."""

    splits: DataFrame
    steps: DataFrame
    facts: DataFrame
    states: DataFrame
    transactions: DataFrame
    regular: int
    coordinator: DataFrame
    owners: DataFrame
    histories: DataFrame
    coordinator_log: CoordinatorLog

    def partition_states(self) -> DataFrame:
        """Rows of the table `partition_state`."""
        return partition_states(self.facts, self.transactions, self.owners)

    def transaction_count(self) -> int:
        """Transactions with data; markers alone are none."""
        return self.regular + self.transactions.filter(F.col("first_offset").isNotNull()).count()

    def clusters_with_producers(self) -> int:
        """Clusters of the dump that have producers of their own, or a coordinator's topic."""
        writing = self.states.select("partition_index").distinct().withColumn("writes", F.lit(True))
        placed = self.facts.join(writing, on="partition_index", how="left")
        told = placed.filter(F.col("coordinator_topic") | F.col("writes"))
        return told.filter(F.col("cluster_id").isNotNull()).select("cluster_id").distinct().count()


def _produced(runs: DataFrame, kept: Kept) -> tuple[DataFrame, DataFrame]:
    """States of producers, and their transactions."""
    states = kept.keep(producer_states(runs))
    return states, kept.keep(transactions(states))


def replay(
    static_facts: DataFrame,
    files: DataFrame,
    rows: DataFrame,
    runs: DataFrame,
    regular: int,
    steps: DataFrame,
    entries: DataFrame,
    folded: Folded,
    damages: DataFrame,
    kept: Kept,
) -> Replayed:
    """Rebuilds partitions, producers, transactions and coordinator from the decoded rows.

    `regular`: number of regular transactions that the decoder folded away. `rows`: LOG_ROW;
    `runs`, `steps`, `entries`: its kinds taken apart; `folded`: what was folded away of the
    coordinator's log; `damages`: byte ranges.
    """
    with ThreadPoolExecutor(1) as pool:
        # Producers and their transactions need nothing of the rest.
        produced = pool.submit(_produced, runs, kept)
        # One row a split, read by a dozen joins: not from among all rows each time.
        read = kept.keep(summaries(rows).repartition(FEWEST_SHUFFLE_PARTITIONS))
        logs = segments(read, steps, files)
        known = kept.keep(
            facts(
                static_facts,
                logs.splits,
                holes(logs.splits, logs.steps, damages, static_facts),
                clusters(read, files),
                earlier_ends(read, files),
                known_states(read, files),
            )
        )
        told = kept.keep_all(
            coordinator=last_states(entries, known), histories=histories(entries, known)
        )
        log = coordinator_log(entries, folded, logs.splits, known, kept)
    states, settled = produced.result()
    return Replayed(
        splits=logs.splits,
        steps=logs.steps,
        facts=known,
        states=states,
        transactions=settled,
        regular=regular,
        owners=owners(told["coordinator"]),
        coordinator_log=log,
        **told,
    )
