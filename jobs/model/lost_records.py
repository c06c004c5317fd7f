"""Whether later records of the coordinator's log may be lost."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from udfs.rules.absence import reaches_behind


def lost_behind(offset: Column, unreadable_at: Column) -> Column:
    """Whether records behind `offset` may be lost to a reader who asks for the newest of an id.

    No cleaner takes the last record of a key, so only damage, what is missing above its reach, and
    records that cannot be decoded count. `unreadable_at`: offset of the last of those that may be
    of the id; null for none. Columns of the row: lost_to (see `jobs.replay.partitions`).
    """
    lost: Column = reaches_behind(F.col("lost_to"), offset)
    return lost | F.coalesce(unreadable_at > offset, F.lit(False))
