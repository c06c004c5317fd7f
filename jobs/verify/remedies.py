"""The command that aborts an open transaction."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.model.commands import (
    ABORT_BY_PRODUCER,
    ABORT_BY_START,
    given_coordinator_epoch,
    takes_a_start,
)
from jobs.verify.check import text
from udfs.rules.logic import surely


def abort_command() -> Column:
    """Aborts the open transaction of a row of the context `transaction`, as in `explain`."""
    newer = text(ABORT_BY_START)
    older = text(
        "; on brokers older than 3.0: " + ABORT_BY_PRODUCER,
        topic="topic",
        partition="partition",
        producer_id="producer_id",
        producer_epoch="producer_epoch",
        coordinator_epoch=given_coordinator_epoch(
            F.coalesce("opening_marker.coordinator_epoch", F.lit(-1))
        ),
    )
    surely_newer = surely(takes_a_start(F.col("coordinator.client_transaction_version")))
    return F.when(surely_newer, newer).otherwise(F.concat(newer, older))
