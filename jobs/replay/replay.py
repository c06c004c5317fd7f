"""The replay as a whole: decoded rows in, the rebuilt tables out."""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.replay.coordinator import last_states, owners
from jobs.replay.partitions import facts, holes, segments, summaries
from jobs.replay.producers import producer_states
from jobs.replay.transactions import aborted_transactions, partition_states, transactions


@dataclass(frozen=True)
class Replayed:
    """What the replay made of a decoded dump; each shape is described where it is made."""

    splits: DataFrame
    steps: DataFrame
    facts: DataFrame
    states: DataFrame
    transactions: DataFrame
    aborted: DataFrame
    coordinator: DataFrame
    owners: DataFrame

    def partition_states(self) -> DataFrame:
        """Rows of the table `partition_state`."""
        return partition_states(self.facts, self.transactions, self.owners)

    def transaction_count(self) -> int:
        """Transactions with data; markers alone are none."""
        return self.transactions.filter(F.col("first_offset").isNotNull()).count()

    def release(self) -> None:
        """Gives the memory of the kept tables back."""
        for frame in (self.facts, self.transactions, self.coordinator):
            frame.unpersist()


def replay(
    static_facts: DataFrame,
    files: DataFrame,
    rows: DataFrame,
    runs: DataFrame,
    steps: DataFrame,
    entries: DataFrame,
    damages: DataFrame,
) -> Replayed:
    """Rebuilds partitions, producers, transactions and coordinator from the decoded rows.

    `rows`: LOG_ROW; `runs`, `steps`, `entries`: its kinds taken apart; `damages`: byte ranges.
    """
    logs = segments(summaries(rows), steps, files)
    known = facts(static_facts, logs.splits, holes(logs.steps, damages)).persist()
    states = producer_states(runs)
    settled = transactions(states).persist()
    last = last_states(entries, known).persist()
    return Replayed(
        splits=logs.splits,
        steps=logs.steps,
        facts=known,
        states=states,
        transactions=settled,
        aborted=aborted_transactions(settled),
        coordinator=last,
        owners=owners(last),
    )
