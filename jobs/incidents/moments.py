"""When what a finding is about happened, as far as the logs date it: it tells causes apart.

A decision has the coordinator's clock, a marker the leader's. Open data that nobody decided about
have only the timestamp of their first batch, which may be a client's, and the marker before it.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small

KEYS = (
    "prepare_file", "prepare_position", "producer_id", "epoch_of_data", "broker", "topic",
    "partition", "offset_first",
)  # fmt: skip
# What a moment is found by, the best first: the record that decided, the epoch where it is that of
# one transaction, and where the data begin or the marker lies.
BY_RECORD, BY_EPOCH, BY_START = (
    ("prepare_file", "prepare_position"),
    ("producer_id", "epoch_of_data"),
    ("broker", "topic", "partition", "producer_id", "offset_first"),
)
# What is known of a moment; of a decision also when it was completed, the epoch of its data, and
# the offset of its Prepare record.
KNOWN = {"at": "long", "completed": "long", "data_epoch": "int", "decided_offset": "long"}


def moments(
    decisions: DataFrame | None, transactions: DataFrame, info: DataFrame, files: DataFrame
) -> DataFrame:
    """Moments of some producers: KNOWN, and the columns of BY_RECORD, BY_EPOCH or BY_START.

    `decisions`: rows of `jobs.replay.decisions` about them, None for none; `transactions`: of
    `jobs.replay.transactions`; `info`: partition_info; `files`: the listing.
    """
    place = info.select("partition_index", "broker", "topic", "partition")
    # A client's clock may be wrong; what is behind a marker is not older than that.
    begun = F.greatest(F.coalesce("last_append_ms", "first_timestamp"), "opening_marker.timestamp")
    both_ends = F.array(
        F.struct(F.col("first_offset").alias("offset_first"), begun.alias("at")),
        F.struct(
            F.col("marker_offset").alias("offset_first"), F.col("marker_timestamp").alias("at")
        ),
    )
    ends = transactions.select("partition_index", "producer_id", F.inline(both_ends))
    dated = ends.filter(F.col("offset_first").isNotNull())
    of_start = inner(dated, small(place), on="partition_index").select(
        *BY_START,
        "at",
        *[F.lit(None).cast(KNOWN[name]).alias(name) for name in KNOWN if name != "at"],
    )
    if decisions is None:
        return of_start
    paths = files.select(F.col("file_index").alias("record_file_index"), "path")
    known = (
        F.col("prepare_timestamp").alias("at"),
        F.col("complete_timestamp").alias("completed"),
        "data_epoch",
        F.col("prepare_offset").alias("decided_offset"),
    )
    of_record = inner(decisions, small(paths), on="record_file_index").select(
        F.col("path").alias("prepare_file"),
        F.col("record_position").alias("prepare_position"),
        *known,
    )
    of_epoch = decisions.filter(~F.col("shares_epoch")).select(
        "producer_id",
        F.col("data_epoch").alias("epoch_of_data"),
        *known,
    )
    both = of_record.unionByName(of_epoch, allowMissingColumns=True)
    return both.unionByName(of_start, allowMissingColumns=True)
