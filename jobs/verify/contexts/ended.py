"""Transactions with the epochs of their data and of their marker, whoever found them."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

CLOSED_COLUMNS = (
    "partition_index",
    "producer_id",
    "producer_epoch",
    "first_offset",
    "last_offset",
    "first_file_index",
    "first_position",
    "first_length",
    "marker_offset",
    "marker_epoch",
    "marker_commit",
    "last_timestamp",
    "marker_timestamp",
    "previous_epoch",
)


def replayed_transactions(transactions: DataFrame) -> DataFrame:
    """CLOSED_COLUMNS of what the replay met: transactions, open ones too, and lone markers.

    producer_epoch: null where data of several lie between two markers. previous_epoch: producer
    epoch of the marker before, -1 for none. A lone marker stands at its own place.
    """
    of_one_epoch = F.col("lowest_epoch") == F.col("highest_epoch")
    own = {
        # Data of several epochs between two markers are the fault of a missing marker.
        "producer_epoch": F.when(of_one_epoch, F.col("highest_epoch")),
        "previous_epoch": F.coalesce("marker_epoch_before", "previous_marker.epoch", F.lit(-1)),
        "first_file_index": F.coalesce("first_file_index", "marker_file_index"),
        "first_position": F.coalesce("first_position", "marker_position"),
        "first_length": F.coalesce("first_length", "marker_length"),
    }
    return transactions.withColumns(own).select(*CLOSED_COLUMNS)


def folded_transactions(regular: DataFrame) -> DataFrame:
    """The same of transactions that were folded away in the decoder."""
    own = {
        "first_file_index": F.col("file_index"),
        "previous_epoch": F.col("marker_epoch_before"),
    }
    return regular.withColumns(own).select(*CLOSED_COLUMNS)
