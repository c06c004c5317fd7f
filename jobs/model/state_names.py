"""Names of the coordinator's states, for tables and findings."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from schemas.coordinator_states import STATE_NAMES


def named(*states: int) -> tuple[str, ...]:
    """Names of state bytes."""
    return tuple(STATE_NAMES[state] for state in states)


def state_name(status: Column) -> Column:
    """Name of a state byte, `state <n>` for a byte that is none."""
    name = F.lit(None).cast("string")
    for number, state in enumerate(STATE_NAMES):
        name = F.when(status == number, F.lit(state)).otherwise(name)
    return F.when(status.isNotNull(), F.coalesce(name, F.concat(F.lit("state "), status)))
