"""Context `side_fault`: one row is an entry of a side file that contradicts the log."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small
from jobs.verify.conditions.settled import unsettled_index
from jobs.verify.contexts.context import Context, with_paths
from jobs.verify.verdict import VERSION_DEPENDENT, Excuse, suspect
from udfs.wire.side_files.leader_epochs import LOG_BEGINS_LATER

ENTRY = (
    "partition_index",
    "side_kind",
    "fault",
    "side_file_index",
    "ordinal",
    "entry_position",
    "entry_bytes",
    "entry_offset",
    "entry_value",
    "leader_epoch",
    "newest_epoch",
)


def _lacks_its_head() -> Column:
    """Whether a log begins behind the first entry of its leader-epoch-checkpoint.

    A broker that raises the log start offset moves the first entry there
    (`LeaderEpochFileCache.truncateFromStart`). A log start that is not the base offset of the first
    segment, and that of any log with remote storage, is in log-start-offset-checkpoint
    (`LogManager.checkpointLogStartOffsetsInDir`). While a broker runs, the files may be of several
    moments.
    """
    begins_there = F.col("has_log_start_checkpoint") & F.col("checkpoint_log_start").isNull()
    lacks: Column = F.col("first_base") > F.col("entry_offset")
    return lacks & begins_there & F.col("clean_shutdown")


def side_fault_context(
    faults: DataFrame, partition_info: DataFrame, files: DataFrame, compared: int
) -> Context:
    """Rows of `log_row.SIDE_FAULT_TYPE`, those of one entry and one leader epoch as one.

    `compared`: entries of side files that were held against the log.

    `batches` are all that contradict; log_offset, log_timestamp, position and length are of
    the first of them, null where the entry contradicts its own file. segment_end: base offset of
    the next segment, null for the newest and for files of a whole partition.
    """
    first = F.min(F.struct("log_offset", "log_timestamp", "position", "length", "file_index"))
    rows = inner(
        faults.groupBy(*ENTRY)
        .agg(first.alias("first"), F.sum("batches").alias("batches"))
        .select(*ENTRY, "batches", "first.*"),
        small(partition_info.drop("batches")),
        on="partition_index",
    ).filter((F.col("fault") != LOG_BEGINS_LATER) | _lacks_its_head())

    sizes = files.select(
        F.col("file_index").alias("side_file_index"),
        "size_bytes",
        F.col("next_base_offset").alias("segment_end"),
    )

    def enrich(selected: DataFrame) -> DataFrame:
        named = with_paths(
            selected, files, side_file="side_file_index", log_file="file_index"
        ).join(small(sizes), on="side_file_index", how="left")
        # An index is found by its entry, a leader epoch by its first batch.
        of_index = F.col("entry_bytes").isNotNull()
        of_head = F.col("fault") == LOG_BEGINS_LATER
        return named.select(
            "*",
            F.coalesce("log_offset", "entry_offset").alias("offset_first"),
            F.when(of_head, F.col("first_base") - 1).alias("offset_last"),
            F.when(of_index, F.col("side_file")).otherwise(F.col("log_file")).alias("file"),
            F.coalesce("entry_position", "position", F.lit(0)).alias("byte_position"),
            F.coalesce("entry_bytes", "length").alias("byte_length"),
            F.coalesce("entry_position", F.lit(0)).alias("side_position"),
            F.coalesce("entry_bytes", "size_bytes").alias("side_length"),
            *[
                F.lit(None).cast(kind).alias(name)
                for name, kind in (
                    ("producer_id", "long"),
                    ("producer_epoch", "int"),
                    ("transactional_id", "string"),
                )
            ],
        )

    return Context("side_fault", rows, lambda: F.lit(False), enrich, folded=compared)


def index_excuses() -> tuple[Excuse, ...]:
    """Why an index may contradict its log: a broker that starts builds it anew, or swaps both."""
    return (*unsettled_index("entry_offset"), suspect(VERSION_DEPENDENT))
