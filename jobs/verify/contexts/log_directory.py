"""Context `log_directory`: one row is a log directory of the dump beside the others."""

from collections import Counter
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.model.dump import DumpDirectory
from jobs.spark.local import local_frame
from jobs.verify.contexts.context import Context
from schemas.columns import integer, long, string, table

LOG_DIRECTORY = table(
    string("file", "its meta.properties, relative to the dump"),
    long("byte_length", "size of that file, bytes"),
    integer("broker", "broker id; null where it has none"),
    string("cluster_id", "its cluster; null where it has none"),
    string("usual_cluster_id", "the cluster that most directories of the dump name"),
)


def log_directories(spark: SparkSession, directories: Sequence[DumpDirectory]) -> DataFrame:
    """Rows of LOG_DIRECTORY. Of clusters named equally often, the first one is the usual one."""
    named = Counter(one.cluster_id for one in directories if one.cluster_id is not None)
    usual = named.most_common(1)[0][0] if named else None
    rows = [(one.path, one.size, one.broker, one.cluster_id, usual) for one in directories]
    return local_frame(spark, rows, LOG_DIRECTORY)


def log_directory_context(rows: DataFrame) -> Context:
    """Rows of LOG_DIRECTORY."""

    def enrich(selected: DataFrame) -> DataFrame:
        nothing = (
            ("topic", "string"), ("partition", "int"), ("offset_first", "long"),
            ("offset_last", "long"), ("producer_id", "long"), ("producer_epoch", "int"),
            ("transactional_id", "string"),
        )  # fmt: skip
        return selected.select(
            "*",
            F.lit(0).cast("long").alias("byte_position"),
            *[F.lit(None).cast(kind).alias(name) for name, kind in nothing],
        )

    return Context(
        "log_directory", rows, lambda: F.col("cluster_id") == F.col("usual_cluster_id"), enrich
    )
