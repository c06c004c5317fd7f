"""Names of the coordinator's states, for tables and findings."""

from pyspark.sql import Column
from pyspark.sql import functions as F

STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")


def state_name(status: Column) -> Column:
    """Name of a state byte, `state <n>` for a byte that is none."""
    name = F.lit(None).cast("string")
    for number, state in enumerate(STATES):
        name = F.when(status == number, F.lit(state)).otherwise(name)
    return F.when(status.isNotNull(), F.coalesce(name, F.concat(F.lit("state "), status)))
