"""What the replay makes of `__transaction_state`, and what the contexts ask it."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame


@dataclass(frozen=True)
class CoordinatorLog:
    """The coordinator's log of a dump, every copy of it.

    `txn_log_records`: records that were not folded away, as `log_row.TXN_LOG_RECORD_TYPE` with the
    place of their split, but that ordinal, alive_ms and latest_timestamp count from the beginning
    of the partition. `unevaluated`: records that the decoder found plain, folded away or not.
    `decisions`: every decision, see `jobs.replay.decisions.decisions`; `not_plain`: those of epochs
    that are not plain (`jobs.model.plain_epochs`), of all where none is known to be.
    `decisions_of`: those about the producers (distinct, column producer_id) of a frame.
    `epochs_of`: what is known of the epochs of such producers, see `jobs.replay.epoch_history`; it
    may be more than asked for.
    """

    txn_log_records: DataFrame
    unevaluated: int
    decisions: DataFrame
    not_plain: DataFrame
    decisions_of: Callable[[DataFrame], DataFrame]
    epochs_of: Callable[[DataFrame], DataFrame]
