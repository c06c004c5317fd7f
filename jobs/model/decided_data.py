"""Records of `__transaction_state` for the rules about steps, and what tells a decision's data."""

from pyspark.sql import Column, Window, WindowSpec
from pyspark.sql import functions as F

from schemas.coordinator_states import NO_STATE
from udfs.rules.coordinator_step import Step
from udfs.rules.decision_epoch import NO_RECORD, Recorded, data_epoch, is_tried_again, tells_no_more

# What a rule about steps asks of a record beside its state.
OF_STEP = (
    "producer_id", "producer_epoch", "start_ms", "timeout_ms", "next_producer_id",
    "client_transaction_version",
)  # fmt: skip


def records_of_id() -> WindowSpec:
    """The records of an id in one copy of the log, in the order in which they stand in it."""
    return Window.partitionBy("partition_index", "transactional_id").orderBy("ordinal", "offset")


def state_of_record() -> Column:
    """The status byte of a record, NO_STATE of a tombstone."""
    return F.when(F.col("tombstone"), F.lit(NO_STATE)).otherwise(F.col("status"))


def epoch_of_data(prepare: Recorded, before: Recorded) -> Column:
    """Epoch of the data that a Prepare record ends; `before`: the record that tells them."""
    known = Recorded(*[F.coalesce(value, F.lit(NO_RECORD)) for value in before])
    epoch: Column = data_epoch(prepare, known)
    return epoch


def told_by(by_id: WindowSpec, before: str, state: str = "status") -> Column:
    """The record that tells the data of a Prepare record (`decision_epoch.data_epoch`), a struct.

    `by_id`: the records of an id in order; `before`: the column with the record right before, which
    it is where that is no earlier try of the same decision; `state`: the name of their state.
    """
    here, last = step_of("", state), step_of(f"{before}.", state)
    up_to_here = by_id.rowsBetween(Window.unboundedPreceding, -1)
    tells = F.when(~tells_no_more(here, last), F.struct(state, *OF_STEP))
    first = F.last(tells, ignorenulls=True).over(up_to_here)
    fields = F.struct(*[F.col(f"{before}.{name}").alias(name) for name in (state, *OF_STEP)])
    return F.when(is_tried_again(here, last), first).otherwise(fields)


def step_of(prefix: str, state: str = "status") -> Step:
    """The columns of a record for a rule about steps; `state`: the name of its state."""
    return Step(*[F.col(f"{prefix}{name}") for name in (state, *OF_STEP)])


def recorded(prefix: str, state: str = "status") -> Recorded:
    """The same for a rule about the epoch of a record."""
    names = (state, "producer_id", "producer_epoch", "client_transaction_version")
    return Recorded(*[F.col(f"{prefix}{name}") for name in names])
