"""What a broker remembers of open transactions, as its newest producer snapshot shows it.

A broker takes a snapshot of its memory when it rolls a segment and when it stops cleanly, and goes
on from the newest one when it starts (`ProducerStateManager.takeSnapshot`, `loadFromSnapshot`). So
a marker that the log has lost since is remembered, until a broker makes its snapshots anew.

The columns are those of `partition_info` (newest_snapshot, open_in_snapshot, log_end_offset), and
producer_id, first_offset and last_offset of data without a marker.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from udfs.rules.logic import surely


def held() -> Column:
    """The transaction that the snapshot has open of the producer (OPEN_IN_SNAPSHOT); or null."""
    return F.get(
        F.filter("open_in_snapshot", lambda one: one["producer_id"] == F.col("producer_id")), 0
    )


def ended_in_memory() -> Column:
    """Whether the snapshot lies behind the data, and has their transaction ended.

    One that lies behind the log may be of a later moment than the copy of the log.
    """
    data, snapshot = F.col("last_offset"), F.col("newest_snapshot")
    still_open = surely(held()["first_offset"] <= data)
    behind = (snapshot > data) & (snapshot <= F.col("log_end_offset"))
    ended: Column = surely(behind) & ~still_open
    return ended
