"""Transactions of a dump, those that were replayed and those that the decoder folded, as one table.

In a healthy log nearly all were folded into blocks (the folding contract:
udfs/wire/batches/fold.py). So each reader says which of those it wants (`jobs.model.decoded`), and
nobody keeps all of them as rows.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

COLUMNS = (
    "partition_index",
    "producer_id",
    "producer_epoch",
    "highest_epoch",
    "first_offset",
    "last_offset",
    "first_file_index",
    "first_position",
    "first_length",
    "first_timestamp",
    "last_timestamp",
    "batches",
    "records",
    "outcome",
    "marker_offset",
    "marker_epoch",
    "marker_commit",
    "coordinator_epoch",
    "marker_timestamp",
    "marker_file_index",
    "marker_position",
    "marker_length",
    "previous_epoch",
)
# What is compared of two transactions in different partitions.
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
# What is known of a run, folded or not.
RUN_COLUMNS = (
    "partition_index",
    "producer_id",
    "producer_epoch",
    "first_offset",
    "first_sequence",
    "last_offset",
    "file_index",
    "first_position",
    "first_length",
    "marker_offset",
    "marker_epoch",
    "marker_timestamp",
    "marker_position",
    "marker_length",
    "has_data",
    "transactional",
    "first_timestamp",
    "log_append_time",
)


def all_transactions(replayed: DataFrame, folded: DataFrame | None, *added: str) -> DataFrame:
    """COLUMNS of transactions, open ones too, and of markers alone; `added`: what both have, too.

    `replayed`: rows of `jobs.replay.transactions.transactions`, or some of them; `folded`: rows of
    `log_row.REGULAR_TXN` or REGULAR_ABORT with their place, None where nobody asks for any. To be
    added, too: previous_marker_offset, where nothing of the producer is missing from there to the
    marker before (that marker, or its own first offset if that was folded away); null for none.

    producer_epoch: of the data, null where data of several lie between two markers; highest_epoch:
    the highest of them. outcome: commit, abort or open. previous_epoch: producer epoch of the
    marker before, -1 for none. A marker alone has no offsets of data, and stands at its own place.
    """
    names = [*COLUMNS, *added]
    rows = _replayed(replayed).select(*names)
    return rows if folded is None else rows.unionByName(folded_transactions(folded).select(*names))


def all_runs(states: DataFrame, folded: DataFrame) -> DataFrame:
    """RUN_COLUMNS of runs of data, with the markers that end them, and of markers alone.

    `states`: rows of `jobs.replay.producers`, or some of them; `folded`: as above, each one run,
    without its sequence: the first one of an epoch begins with 0 (point 4 of the folding contract),
    and without whose clock its data have.
    """
    whole = folded.withColumns(
        {
            "has_data": F.lit(True),
            "transactional": F.lit(True),
            "first_sequence": F.lit(None).cast("int"),
            "log_append_time": F.lit(None).cast("boolean"),
        }
    )
    return states.select(*RUN_COLUMNS).unionByName(whole.select(*RUN_COLUMNS))


def _replayed(transactions: DataFrame) -> DataFrame:
    of_one_epoch = F.col("lowest_epoch") == F.col("highest_epoch")
    own = {
        # Data of several epochs between two markers are the fault of a missing marker.
        "producer_epoch": F.when(of_one_epoch, F.col("highest_epoch")),
        "previous_epoch": F.coalesce("marker_epoch_before", "previous_marker.epoch", F.lit(-1)),
        "previous_marker_offset": F.when(
            F.col("marker_epoch_before").isNotNull(), F.coalesce("first_offset", "marker_offset")
        ).otherwise(F.col("previous_marker.offset")),
        "first_file_index": F.coalesce("first_file_index", "marker_file_index"),
        "first_position": F.coalesce("first_position", "marker_position"),
        "first_length": F.coalesce("first_length", "marker_length"),
    }
    return transactions.withColumns(own)


def folded_transactions(regular: DataFrame) -> DataFrame:
    """Adds COLUMNS to folded ones: each is whole, of one epoch and in one file."""
    own = {
        "highest_epoch": F.col("producer_epoch"),
        "first_file_index": F.col("file_index"),
        "marker_file_index": F.col("file_index"),
        "outcome": F.when(F.col("marker_commit"), "commit").otherwise("abort"),
        "previous_epoch": F.col("marker_epoch_before"),
        "previous_marker_offset": F.col("first_offset"),
    }
    return regular.withColumns(own)
