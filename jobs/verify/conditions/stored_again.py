"""A batch that is in the log a second time, byte for byte, with an epoch that was raised since."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.model.found import STORED_AGAIN
from jobs.verify.check import text


def again() -> Column:
    """STORED_AGAIN for such a batch, else nothing; of a row of the context `run`.

    No second instance writes it: the checksum covers timestamps, keys and values, too.
    """
    return F.when(F.col("same_bytes"), F.lit(STORED_AGAIN)).otherwise(F.lit(""))


def correct_readers_or(remedy: Column) -> Column:
    """`remedy`, or for such a batch what to do about records that were stored twice."""
    twice = text(
        "The broker had lost the state of producer {producer_id} when it took the batch again. "
        "Consumers of {topic}-{partition} have read its records twice: remove the duplicates "
        "downstream, from offset {first_offset} on."
    )
    return F.when(F.col("same_bytes"), twice).otherwise(remedy)
