"""What is missing in a partition, whose it is, and how many offsets lie between two batches."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.replay.seams import in_order
from jobs.spark.joins import inner, small
from schemas.dump_partition import RANGES
from schemas.log_row import GAPS_LEFT_OUT
from udfs.arrow.frames import ZERO_BYTES
from udfs.rules.absence import (
    MANY,
    RANGES_OF_PARTITION,
    step_between,
    within_reach,
)
from udfs.rules.logic import surely

# Of ranges of offsets: see `holes`.
KINDS = ("holes", "gone", "unexplained", "missing", "emptied")
OWNER = ("producer_id", "producer_epoch")
# Of runs: how many offsets are missing up to them.
COUNTED = ("absent_to_first", "absent_to_last", "absent_to_marker")


def holes(
    splits: DataFrame, discontinuities: DataFrame, failures: DataFrame, static: DataFrame
) -> DataFrame:
    """Offsets that are missing between others, one row a partition: arrays of KINDS.

    Arrays of structs (first, end, producer_id): first missing offset, first offset present after
    them, and whose they are (null: anybody's); sorted, at most `RANGES_OF_PARTITION`. `missing`:
    all, whatever took them. `holes`: what is not known to be the cleaner's: damage, gaps above its
    reach, whole files, and batches that are there and say nothing (`lost`), of the producer in
    their header. Data of a client that say nothing are in `missing` alone, with their producer.
    `gone`: the same without these; `unexplained`: the same without files between others that the
    cleaner may have emptied. Offsets between the base offset of the first segment and its first
    batch are missing too: a producer snapshot of that base offset says nothing of them. `emptied`:
    markers without a record, with producer_id and producer_epoch (null: of several).
    """
    reach = small(
        static.select("partition_index", "cleaned_below", "files_cleaned_below", "clean_shutdown")
    )
    first = F.col("previous_last_offset") + 1
    between_files = F.col("discontinuity") == "segment_missing"
    reached = F.when(between_files, F.col("files_cleaned_below")).otherwise(F.col("cleaned_below"))
    beyond = ~within_reach(first, reached)
    kinds = F.col("discontinuity").isin("gap", "segment_missing", GAPS_LEFT_OUT)
    stepped = inner(discontinuities.filter(kinds), reach, on="partition_index").select(
        "partition_index",
        first.alias("first"),
        F.col("base_offset").alias("end"),
        # A file that is not there may also be one that was not copied.
        (between_files | beyond).alias("hole"),
        beyond.alias("unexplained"),
        F.col("at_seam").alias("missing"),
        F.lit(False).alias("emptied"),
    )
    behind = F.coalesce("previous_last_offset", F.lit(-1)) + 1
    # At the end of the log a running broker may be writing; one that stopped cleanly had written.
    at_end = F.when(F.col("clean_shutdown") & (F.col("reason") != ZERO_BYTES), behind + 1)
    end = F.coalesce("next_offset", at_end)
    ranges = inner(failures, reach, on="partition_index").withColumn("end", end)
    # Bytes between neighbours, as behind the last batch of a closed segment, hold no offset.
    damaged = ranges.filter(F.col("end") != behind).select(
        "partition_index",
        behind.alias("first"),
        "end",
        F.lit(True).alias("hole"),
        F.lit(True).alias("missing"),
        F.lit(False).alias("emptied"),
    )
    at_head = inner(
        splits.groupBy("partition_index")
        .agg(F.min("base_offset").alias("first"), F.min("first_offset").alias("end"))
        .filter(F.col("first") < F.col("end")),
        reach,
        on="partition_index",
    ).select(
        "partition_index",
        "first",
        "end",
        (~within_reach(F.col("first"), F.col("cleaned_below"))).alias("hole"),
        F.lit(True).alias("missing"),
        F.lit(False).alias("emptied"),
    )
    in_splits = splits.select("partition_index", F.inline("missing")).select(
        "*", F.col("lost").alias("hole"), (~F.col("emptied")).alias("missing")
    )
    beside = stepped.unionByName(damaged.unionByName(at_head), allowMissingColumns=True)
    return _merged(in_splits.unionByName(beside, allowMissingColumns=True))


def counted_on(runs: DataFrame, splits: DataFrame) -> DataFrame:
    """Runs with how many offsets are missing in their whole log up to them: COUNTED.

    `splits`: see `named_splits`. Steps from split to split count as those from batch to batch
    (`udfs.rules.absence.running`). What lies in front of the first batch does not. Null for states
    in front of the log, and where two stretches of a text begin in one line.
    """
    held = splits.filter(F.col("batches") > 0)
    step = step_between(F.lag("final_last_offset").over(in_order()), F.col("first_offset"))
    first = F.row_number().over(in_order()) == 1
    # Where a split begins is not known of a wrapper that cannot be opened.
    taken = F.when(first, F.lit(0)).otherwise(
        F.least(F.abs(F.coalesce(step, F.lit(MANY))), F.lit(MANY))
    )
    before = in_order().rowsBetween(Window.unboundedPreceding, -1)
    counted = (
        held.select("*", taken.alias("taken"))
        .select(
            "file_index",
            "split_start",
            F.try_add(
                F.try_sum("taken").over(in_order().rowsBetween(Window.unboundedPreceding, 0)),
                F.coalesce(F.try_sum("absent").over(before), F.lit(0)),
            ).alias("absent"),
        )
        .groupBy("file_index", "split_start")
        .agg(F.when(F.count("*") == 1, F.max("absent")).alias("absent_before"))
    )
    joined = runs.join(small(counted), on=["file_index", "split_start"], how="left")
    sums = {name: F.try_add(name, F.col("absent_before")) for name in COUNTED}
    return joined.withColumns(sums).drop("absent_before")


def _merged(found: DataFrame) -> DataFrame:
    """Rows of ranges as those arrays, one row a partition.

    Columns: first, end, hole, missing, emptied, OWNER, lost (null: no), unexplained (null: hole).

    Of more than are kept apart, those of a kind with the fewest offsets between them become one.
    """
    gone = F.col("hole") & ~surely(F.col("lost"))
    unexplained = F.coalesce("unexplained", "hole")
    are = (F.col("hole"), gone, unexplained, F.col("missing"), F.col("emptied"))
    kinds = F.array(*[F.when(is_one, kind) for is_one, kind in zip(are, KINDS, strict=True)])

    def shared(name: str) -> Column:
        told = F.count(name) == F.count("*")
        return F.when(told & (F.min(name) == F.max(name)), F.min(name)).alias(name)

    of_kind, begin = Window.partitionBy("partition_index", "kind"), Window.unboundedPreceding
    in_order = of_kind.orderBy("first", "end")
    before = F.max("end").over(in_order.rowsBetween(begin, -1))
    widest_first = of_kind.orderBy(
        F.desc_nulls_first("between"), F.desc("end"), F.desc("first"), *OWNER
    )
    apart = F.row_number().over(widest_first) <= RANGES_OF_PARTITION
    merged = (
        found.withColumn("kind", F.explode(F.filter(kinds, lambda kind: kind.isNotNull())))
        .withColumn("between", F.try_subtract("first", before))
        .withColumn("apart", apart.cast("int"))
        .withColumn("number", F.sum("apart").over(in_order.rowsBetween(begin, 0)))
        .groupBy("partition_index", "kind", "number")
        .agg(
            F.min("first").alias("first"),
            F.max("end").alias("end"),
            *[shared(name) for name in OWNER],
        )
    )
    fields: dict[str, tuple[str, ...]] = dict.fromkeys(KINDS, ("first", "end", "producer_id"))
    fields["emptied"] = ("first", "end", *OWNER)
    return merged.groupBy("partition_index").agg(
        *[
            F.array_sort(
                F.collect_list(F.when(F.col("kind") == kind, F.struct(*fields[kind])))
            ).alias(kind)
            for kind in KINDS
        ]
    )


def _missing_at_ends() -> Column:
    """Ranges of RANGES between the names of the outer segments and the batches in them.

    And between the last batch and the high watermark of a copy that a broker made when it stopped:
    what lies below it was replicated. Other copies may be older than their checkpoint. Without any
    batch: between the name of the first segment and that of the newest, or that high watermark.
    """
    newest = F.coalesce(F.col("last_offset") + 1, F.col("first_base"))
    replicated = F.when(F.col("clean_shutdown"), F.col("checkpoint_high_watermark"))
    end = F.greatest("newest_base", replicated)
    anyone = F.lit(None).cast("bigint").alias("producer_id")
    return F.filter(
        F.array(
            F.when(
                F.col("head.first_offset") > F.col("first_base"),
                F.struct(
                    F.col("first_base").alias("first"),
                    F.col("head.first_offset").alias("end"),
                    anyone,
                ),
            ),
            F.when(end > newest, F.struct(newest.alias("first"), end.alias("end"), anyone)),
        ),
        lambda one: one.isNotNull(),
    )


def absent() -> list[Column]:
    """Offsets that are missing: missing, holes and gone, see `holes`.

    Also what is missing in front of the first and after the last batch. lost_to: end of the last
    range of `unexplained`, exclusive; 0 for none.
    """
    at_ends = _missing_at_ends()
    not_the_cleaners = F.filter(
        at_ends, lambda one: ~within_reach(one["first"], F.col("cleaned_below"))
    )

    def ranges(inside: str, outside: Column) -> Column:
        return F.array_sort(F.concat(F.coalesce(inside, F.array().cast(RANGES)), outside))

    lost_to = F.array_max(ranges("unexplained", not_the_cleaners)["end"])
    return [
        ranges("missing", at_ends).alias("missing"),
        ranges("holes", not_the_cleaners).alias("holes"),
        ranges("gone", not_the_cleaners).alias("gone"),
        F.coalesce(lost_to, F.lit(0)).alias("lost_to"),
    ]
