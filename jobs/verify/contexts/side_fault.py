"""Context `side_fault`: one row is an entry of a side file that contradicts the log."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.verify.contexts.context import Context, with_paths

ENTRY = (
    "partition_index",
    "what",
    "side_file_index",
    "ordinal",
    "entry_bytes",
    "entry_offset",
    "entry_value",
    "leader_epoch",
    "newest_epoch",
)


def side_fault_context(faults: DataFrame, facts: DataFrame, files: DataFrame) -> Context:
    """Rows of `log_row.SIDE_FAULT_TYPE`, those of one entry and one leader epoch as one.

    `batches` are all that contradict; log_offset, position and length are of the first of them,
    null where the entry contradicts its own file.
    """
    first = F.min(F.struct("log_offset", "position", "length", "file_index"))
    rows = (
        faults.groupBy(*ENTRY)
        .agg(first.alias("first"), F.sum("batches").alias("batches"))
        .select(*ENTRY, "batches", "first.*")
        .join(F.broadcast(facts.drop("batches")), on="partition_index", how="inner")
    )

    sizes = files.select(F.col("file_index").alias("side_file_index"), "size_bytes")

    def enrich(selected: DataFrame) -> DataFrame:
        named = with_paths(selected, files, side_file="side_file_index", file="file_index").join(
            F.broadcast(sizes), on="side_file_index", how="left"
        )
        of_entry = F.col("ordinal").cast("long") * F.col("entry_bytes")
        return named.select(
            "*",
            F.coalesce("log_offset", "entry_offset").alias("offset_first"),
            F.lit(None).cast("long").alias("offset_last"),
            F.coalesce("position", of_entry, F.lit(0)).alias("byte_position"),
            F.col("length").alias("byte_length"),
            F.coalesce(of_entry, F.lit(0)).alias("side_position"),
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

    return Context("side_fault", rows, lambda: F.lit(False), enrich)
