"""The command that aborts an open transaction."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.model.commands import ABORT_BY_PRODUCER, ABORT_BY_START
from jobs.verify.check import text


def abort_command() -> Column:
    """Aborts the open transaction of a row of the context `transaction`, as in `explain`.

    Only brokers of 4.0 and newer know transaction.version 2.
    """
    newer = text(ABORT_BY_START)
    older = text(
        "; on brokers older than 3.0: " + ABORT_BY_PRODUCER,
        topic="topic",
        partition="partition",
        producer_id="producer_id",
        producer_epoch="producer_epoch",
        # The tool takes 0 for a coordinator that never wrote a marker of the producer there.
        coordinator_epoch=F.greatest(
            F.coalesce("opening_marker.coordinator_epoch", F.lit(0)), F.lit(0)
        ),
    )
    surely_newer = F.coalesce(F.col("coordinator.client_transaction_version") >= 2, F.lit(False))
    return F.when(surely_newer, newer).otherwise(F.concat(newer, older))
