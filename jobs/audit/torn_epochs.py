"""Transactions that one partition may have aborted and another committed, found among millions."""

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from jobs.model.decoded import MOST_CHOSEN, Decoded
from jobs.model.dump import Dump
from jobs.replay.replay import Replayed
from jobs.spark.kept import KeptFrames, is_known_empty
from jobs.verify.contexts.torn_epoch import (
    MOST_BROADCAST,
    TornEpochs,
    possible_commits,
    undecided_aborts,
)
from schemas.topics import COORDINATOR_TOPICS
from udfs.arrow.blocks import epoch_keys


def torn_epochs(
    dump: Dump, decoded: Decoded, replayed: Replayed, kept: KeptFrames, tolerance: int
) -> TornEpochs | None:
    """Aborts that another partition may have committed; without any, nothing else is unpacked.

    `tolerance`: of the clocks of brokers, ms. What ended regularly is looked through packed: first
    for what was committed of the epochs that were aborted, then for what was aborted of the epochs
    found so.
    """
    of_clients = {
        (p.topic, p.partition) for p in dump.partitions if p.topic not in COORDINATOR_TOPICS
    }
    if len(of_clients) < 2:
        return None
    packed = decoded.aborts_are_many()
    aborts = _undecided(decoded.regular_aborts(), replayed, tolerance)
    aborted = _undecided_epochs(decoded, replayed, tolerance) if packed else _epochs(aborts)
    if aborted is not None and not aborted.size:
        return None
    committed = possible_commits(
        replayed.transactions, decoded.commits_of(aborted), replayed.partition_info
    )
    if aborted is None:
        return TornEpochs(aborts.count(), aborts, committed, None, replayed.owners)
    committed = kept.keep(committed)
    if is_known_empty(committed):
        return None
    epochs = _epochs(committed) if packed else None
    if epochs is not None:
        aborts = kept.keep(_undecided(decoded.aborts_of(epochs), replayed, tolerance))
    few = next((one for one in (committed, aborts) if one.count() <= MOST_BROADCAST), None)
    return TornEpochs(aborted.size, aborts, committed, few, replayed.owners)


def _undecided(regular: DataFrame, replayed: Replayed, tolerance: int) -> DataFrame:
    """Undecided aborts among those that replay met and `regular` ones."""
    return undecided_aborts(
        replayed.transactions, regular, replayed.histories, replayed.partition_info, tolerance
    )


def _undecided_epochs(
    decoded: Decoded, replayed: Replayed, tolerance: int
) -> NDArray[np.uint64] | None:
    """Epochs of transactions that were aborted, whoever found them; None for too many."""
    none = decoded.aborts_of(np.empty(0, np.uint64))
    history = replayed.histories.select("producer_id", "known_above", "newest_epoch")
    history = history.limit(MOST_CHOSEN).toArrow()
    irregular, regular = (
        _epochs(_undecided(none, replayed, tolerance)),
        decoded.undecided_epochs(history),
    )
    return None if irregular is None or regular is None else np.union1d(irregular, regular)


def _epochs(transactions: DataFrame) -> NDArray[np.uint64] | None:
    """Their `blocks.epoch_keys`, in ascending order; None for more than MOST_CHOSEN."""
    epochs = transactions.select("producer_id", "producer_epoch").limit(MOST_CHOSEN + 1).toArrow()
    if epochs.num_rows > MOST_CHOSEN:
        return None
    return np.unique(epoch_keys(epochs["producer_id"], epochs["producer_epoch"]))
