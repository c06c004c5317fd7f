"""Context `producer_block`: one row is a block of producer ids that overlaps one before it."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.model.cluster import Block
from jobs.spark.local import local_frame
from jobs.verify.contexts.context import Context
from schemas.columns import integer, long, string, table
from schemas.topics import METADATA_TOPIC

PRODUCER_BLOCK = table(
    string("file", "log or snapshot of __cluster_metadata, relative to the dump"),
    integer("broker", "broker whose copy it is"),
    integer("partition", "partition of __cluster_metadata: 0"),
    long("offset_first", "offset of the record that gives the block out"),
    long("byte_position", "byte position of its batch"),
    long("byte_length", "size of its batch, bytes"),
    long("next_producer_id", "first producer id after the block"),
    string("previous_file", "the same of the block before, also below"),
    long("previous_offset", "its offset"),
    long("previous_position", "byte position of its batch"),
    long("previous_length", "size of its batch, bytes"),
    long("previous_next_producer_id", "first producer id after it"),
)


def producer_blocks(spark: SparkSession, regressions: Sequence[tuple[Block, Block]]) -> DataFrame:
    """Rows of PRODUCER_BLOCK from pairs of the block before and the block."""
    rows = [
        (
            block.file.path, block.file.broker, block.file.partition,
            block.offset, block.position, block.length, block.next_producer_id,
            before.file.path, before.offset, before.position, before.length,
            before.next_producer_id,
        )
        for before, block in regressions
    ]  # fmt: skip
    return local_frame(spark, rows, PRODUCER_BLOCK)


def producer_block_context(rows: DataFrame, copies: int) -> Context:
    """Rows of PRODUCER_BLOCK; `copies`: of `__cluster_metadata`, in which all blocks were read."""

    def enrich(selected: DataFrame) -> DataFrame:
        nothing = (("producer_id", "long"), ("producer_epoch", "int"),
                   ("transactional_id", "string"))  # fmt: skip
        return selected.select(
            "*",
            F.lit(METADATA_TOPIC).alias("topic"),
            F.col("offset_first").alias("offset_last"),
            *[F.lit(None).cast(kind).alias(name) for name, kind in nothing],
        )

    return Context("producer_block", rows, lambda: F.lit(False), enrich, folded=copies)
