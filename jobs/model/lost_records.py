"""Whether later records of the coordinator's log may be lost."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from udfs.rules.absence import reaches_behind


def lost_behind(offset: Column, unreadable_at: Column) -> Column:
    """Whether records behind `offset` may be lost to a reader who asks for the newest of an id.

    No cleaner takes the last record of a key, so only damage, files that are not there, and
    records that cannot be decoded count. `unreadable_at`: offset of the last of those that may be
    of the id; null for none. Columns of the row: holes (see `jobs.replay.partitions.holes`).
    """
    hole = F.exists("holes", lambda one: reaches_behind(one["end"], offset))
    return F.coalesce(hole, F.lit(False)) | F.coalesce(unreadable_at > offset, F.lit(False))
