"""Context `replicas`: one row is a partition of which the dump has copies of several brokers.

A follower stores what it fetches byte for byte, so below the high watermark of both, two replicas
hold the same batches wherever neither retention nor the cleaner has passed. The decoder has made
one number of each block of offsets of each copy. Blocks whose numbers are equal are never looked
at again; of the others the first few of each pair of copies are read a second time. Where the
cleaner has passed, copies are compared in what it left (`replica_retained`).
"""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small
from jobs.verify.contexts.context import Context, with_paths
from jobs.verify.contexts.replica_blocks import (
    replica_copies,
    replica_sets,
    suspicious_blocks,
)
from jobs.verify.contexts.replica_retained import contradictions, first_contradictions
from udfs.arrow.replica_differences import (
    DIFFERENCE,
    DIFFERS,
    LACKS,
    find_differences,
)
from udfs.arrow.retained_records import KEY, OUTCOME
from udfs.rules.absence import Range, overlaps
from udfs.rules.logic import surely

TOPIC_ID = "topic_id"
# What only a contradiction in what the cleaner left has, and what no finding here has.
CONTRADICTING = {
    "producer_id": "long", "marker_offset": "long", "contradicting": "long",
    "may_be_missing": "boolean",
}  # fmt: skip
NEVER_TOLD = {"producer_epoch": "int", "transactional_id": "string"}


def _located(pieces: Column) -> Column:
    """The pieces of a block as PIECE, from `all_files`."""

    def of(piece: Column) -> Column:
        file = F.get(F.col("all_files"), piece["file_index"])
        return F.struct(
            piece["file_index"].alias("file_index"),
            file["root"].alias("root"),
            file["below_root"].alias("below_root"),
            file["size_bytes"].alias("size_bytes"),
            piece["first_position"].alias("first_position"),
            piece["end_position"].alias("end_position"),
        )

    return F.transform(pieces, of)


def _differences(selected: DataFrame, files: DataFrame, max_batch_bytes: int) -> DataFrame:
    """Rows of DIFFERENCE: the suspicious blocks, read again."""
    numbered = F.array_sort(
        F.collect_list(F.struct("file_index", "root", "below_root", "size_bytes"))
    )
    all_files = files.agg(numbered.alias("all_files"))

    def block(one: Column) -> Column:
        return F.struct(
            one["first_offset"].alias("first_offset"),
            one["end_offset"].alias("end_offset"),
            one["block_offset"].alias("block_offset"),
            _located(one["one_pieces"]).alias("one_pieces"),
            _located(one["other_pieces"]).alias("other_pieces"),
            one["equal_again"].alias("equal_again"),
        )

    pairs = (
        selected.select("replica_set", F.explode("suspicious").alias("pair"))
        .crossJoin(F.broadcast(all_files))
        .select(
            "replica_set",
            "pair.one_index",
            "pair.other_index",
            F.transform("pair.blocks", block).alias("blocks"),
        )
    )

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return find_differences(batches, max_batch_bytes)

    return pairs.mapInArrow(read, DIFFERENCE)


def _beside_copies(differences: DataFrame, copies: DataFrame) -> DataFrame:
    """Differences with all that is known of the copies: one_copy, other_copy."""
    for index, name in (("one_index", "one_copy"), ("other_index", "other_copy")):
        known = copies.select(
            F.col("partition_index").alias(index), F.struct(copies.columns).alias(name)
        )
        differences = inner(differences, small(known), on=index)
    return differences


def _beside_gaps(differences: DataFrame, discontinuities: DataFrame) -> DataFrame:
    """Differences with the gap of the other copy in which the batch lies: before, after.

    A batch that the other copy lacks for another reason, as damage or a torn end, is left out.
    """
    gaps = discontinuities.filter(F.col("discontinuity").isin("gap", "segment_missing")).select(
        F.col("partition_index").alias("lacking_index"),
        (F.col("discontinuity") == "segment_missing").alias("between_segments"),
        F.col("previous_last_offset").alias("before"),
        F.col("base_offset").alias("after"),
        F.struct("file_index", "position", "length").alias("after_gap"),
    )
    lacking = F.when(F.col("difference") == LACKS, F.col("other_index"))
    inside = (F.col("offset") > F.col("before")) & (F.col("last_offset") < F.col("after"))
    return (
        differences.withColumn("lacking_index", lacking)
        .join(gaps, on="lacking_index", how="left")
        .filter((F.col("difference") == DIFFERS) | inside)
    )


def _doubts() -> Column:
    """How much is to be doubted of a difference between two copies.

    As of the excuses of `replica_divergence`: 2 where it may be legal, 1 where that is unlikely.
    """
    both = F.array("one_copy", "other_copy")

    def either(what: str) -> Column:
        return F.exists(both, lambda copy: copy[what])

    def all_of(what: str) -> Column:
        return F.forall(both, lambda copy: copy[what])

    open_questions = (
        ~all_of("high_watermark_known") | either("cleaning_unknown") | either("may_be_cleaned")
    )
    unlikely = ~all_of("clean_shutdown") | either("compacted") | ~_of_one_topic(*_copies())
    return F.when(open_questions, 2).when(unlikely, 1).otherwise(0)


def _copies() -> tuple[Column, Column]:
    return F.col("one_copy"), F.col("other_copy")


def _of_one_topic(about: Column, beside: Column) -> Column:
    """Whether both have a topic id, or there never was another topic of this name."""
    with_ids: Column = about["topic_id"].isNotNull() & beside["topic_id"].isNotNull()
    known: Column = about["created_once"] | with_ids
    return known


def _first(differences: DataFrame) -> DataFrame:
    """The offsets at which copies of a partition part, and the first that each copy lacks.

    Of the pairs of copies that part at one offset that counts which proves most; a batch behind
    which both are equal again is told apart, and one of the same leader epoch in both, as these
    have other causes. pairs: brokers of the copies that differ.
    """
    brokers = [
        F.coalesce(F.col(f"{name}.broker").cast("string"), F.lit("?"))
        for name in ("one_copy", "other_copy")
    ]
    order = F.struct("doubts", "offset", "one_index", "other_index")
    of_one_leader = F.col("one.leader_epoch") == F.col("other.leader_epoch")
    kind = F.struct("offset", "equal_again", of_one_leader.alias("of_one_leader"))
    parts_at = F.when(F.col("difference") == DIFFERS, kind)
    lacked = F.when(F.col("difference") == LACKS, F.lit(0)).otherwise(_doubts())
    return (
        differences.withColumns({"parts_at": parts_at, "doubts": lacked})
        .groupBy("replica_set", "difference", "lacking_index", "parts_at")
        .agg(
            F.min_by(F.struct(*differences.columns), order).alias("first"),
            F.array_sort(F.collect_set(F.concat_ws(" and ", *brokers))).alias("pairs"),
        )
        .select("first.*", F.concat_ws(", ", "pairs").alias("pairs"))
    )


def _of_pair(about: Column, beside: Column) -> dict[str, Column]:
    """The columns of a finding about one copy, compared with another."""
    return {
        "difference": F.col("difference"),
        "topic": about["topic"],
        "partition": about["partition"],
        "broker": about["broker"],
        "other_broker": beside["broker"],
        "both_clean": about["clean_shutdown"] & beside["clean_shutdown"],
        "both_high_watermarks_known": about["high_watermark_known"]
        & beside["high_watermark_known"],
        "topic_known": _of_one_topic(about, beside),
    }


def _differing(first: DataFrame) -> DataFrame:
    """The columns of a finding: it is about the copy that lacks something."""
    lacks = F.col("difference") == LACKS
    about = F.when(lacks, F.col("other_copy")).otherwise(F.col("one_copy"))
    beside = F.when(lacks, F.col("one_copy")).otherwise(F.col("other_copy"))
    held = F.struct("one.file_index", "one.position", "one.length")
    here = F.when(lacks, F.col("after_gap")).otherwise(held)
    there = F.when(lacks, held).otherwise(
        F.struct("other.file_index", "other.position", "other.length")
    )
    columns = _of_pair(about, beside) | {
        "offset_first": F.col("offset"),
        "offset_last": F.when(lacks, F.col("after") - 1).otherwise(F.col("last_offset")),
        "file_index": here["file_index"],
        "byte_position": here["position"],
        "byte_length": here["length"],
        "other_file_index": there["file_index"],
        "other_position": there["position"],
        "other_length": there["length"],
        "one_text": F.col("one.leader_epoch").cast("string"),
        "other_text": F.col("other.leader_epoch").cast("string"),
        "equal_again": F.col("equal_again"),
        "pairs": F.col("pairs"),
        "between_segments": F.col("between_segments"),
        "clean": about["clean_shutdown"],
        "may_be_cleaned": about["may_be_cleaned"] | beside["may_be_cleaned"],
        "may_be_fetched_cleaned": (
            about["may_be_fetched_cleaned"] | beside["may_be_fetched_cleaned"]
        ),
        "cleaning_unknown": about["cleaning_unknown"] | beside["cleaning_unknown"],
        "compacted": about["compacted"] | beside["compacted"],
        "never_compacted": about["never_compacted"],
    }
    return first.select(*[column.alias(name) for name, column in columns.items()])


def _contradicting(selected: DataFrame, copies: DataFrame) -> DataFrame:
    """The columns of a finding in what the cleaner left: it is about the copy with the record.

    A marker that lies in a hole of that copy, or a key, may be in a file that was not copied.
    """
    found = _beside_copies(first_contradictions(selected), copies)
    about, beside = F.col("one_copy"), F.col("other_copy")
    marker = F.col("marker_offset")
    in_hole = F.exists(
        about["holes"], lambda hole: overlaps(Range(hole["first"], hole["end"]), marker, marker)
    )
    columns = _of_pair(about, beside) | {
        "offset_first": F.col("offset"),
        "offset_last": F.col("offset"),
        "producer_id": F.col("producer_id"),
        "file_index": F.col("one.file_index"),
        "byte_position": F.col("one.position"),
        "byte_length": F.col("one.length"),
        "other_file_index": F.col("other.file_index"),
        "other_position": F.col("other.position"),
        "other_length": F.col("other.length"),
        "one_text": F.col("one_end"),
        "other_text": F.col("other_end"),
        "marker_offset": marker,
        "contradicting": F.col("contradicting"),
        "may_be_missing": (F.col("difference") == KEY)
        | ((F.col("difference") == OUTCOME) & in_hole),
    }
    return found.select(*[column.alias(name) for name, column in columns.items()])


def _recreated(selected: DataFrame, files: DataFrame) -> DataFrame:
    """One row a partition whose copies belong to different topics of one name."""
    sizes = files.select("file_index", F.col("size_bytes").alias("byte_length"))
    other_sizes = sizes.toDF("other_file_index", "other_length")
    return inner(
        inner(
            selected.filter(F.col("one_id.topic_id") != F.col("other_id.topic_id")).select(
                F.lit(TOPIC_ID).alias("difference"),
                "topic",
                "partition",
                F.col("one_id.broker").alias("broker"),
                F.col("other_id.broker").alias("other_broker"),
                F.col("one_id.metadata_file").alias("file_index"),
                F.col("other_id.metadata_file").alias("other_file_index"),
                F.lit(0).alias("byte_position"),
                F.lit(0).alias("other_position"),
                F.col("one_id.topic_id").alias("one_text"),
                F.col("other_id.topic_id").alias("other_text"),
            ),
            sizes,
            on="file_index",
        ),
        other_sizes,
        on="other_file_index",
    )


def replicas_context(
    blocks: DataFrame,
    retained_records: DataFrame | None,
    partition_info: DataFrame,
    discontinuities: DataFrame,
    splits: DataFrame,
    files: DataFrame,
    max_batch_bytes: int,
) -> Context:
    """Partitions with a replica_set. A partition has one row for each thing that is wrong with it.

    `retained_records`: rows of `log_row.RETAINED_RECORDS_TYPE`; None where the cleaner has passed
    no copy.

    `difference`: differs (two copies have different batches at an offset), lacks (a copy has a gap
    where another has a batch) or topic_id; where the cleaner has passed, record (different records
    at an offset), outcome (a copy lacks the marker of data that it has) or key (only one copy has
    the newest value of a key). broker, file_index, byte_position, byte_length: the copy that the
    finding is about, other_*: the one it is compared with. offset_first, offset_last: of the first
    batch that differs; of the gap, from the first offset that the other copy has. one_text,
    other_text: leader epoch, topic id, or how the transaction ends, in both; there at
    marker_offset. pairs: brokers whose copies differ; contradicting: number of such offsets.
    both_high_watermarks_known, both_clean: whether both copies have a high watermark, and were
    left by a broker that had stopped cleanly; clean: that of the copy with the gap. may_be_cleaned,
    may_be_fetched_cleaned, cleaning_unknown, compacted: of either copy. never_compacted: by
    `__cluster_metadata`. topic_known: both have a topic id, or there never was another topic of
    this name. between_segments: the gap lies between two files. may_be_missing: a file that was not
    copied may hold what is lacking.
    """
    copies = replica_copies(partition_info)
    sets = replica_sets(copies)
    rows = sets.join(suspicious_blocks(blocks, copies, sets), on="replica_set", how="left")
    if retained_records is not None:
        contradicting = contradictions(retained_records, copies, sets, splits)
        rows = rows.join(contradicting, on="replica_set", how="left")

    def regular() -> Column:
        recreated = F.col("one_id.topic_id") != F.col("other_id.topic_id")
        agree = F.col("suspicious").isNull() & ~surely(recreated)
        return agree if retained_records is None else agree & F.col("contradictions").isNull()

    def enrich(selected: DataFrame) -> DataFrame:
        found = _differences(selected, files, max_batch_bytes)
        found_last = _differing(
            _first(_beside_gaps(_beside_copies(found, copies), discontinuities))
        )
        found_last = found_last.unionByName(_recreated(selected, files), allowMissingColumns=True)
        if retained_records is None:
            found_last = found_last.withColumns(_nothing(CONTRADICTING))
        else:
            of_retained_records = _contradicting(selected, copies)
            found_last = found_last.unionByName(of_retained_records, allowMissingColumns=True)
        named = with_paths(found_last, files, file="file_index", other_file="other_file_index")
        return named.withColumns(_nothing(NEVER_TOLD))

    return Context("replicas", rows, regular, enrich)


def _nothing(columns: dict[str, str]) -> dict[str, Column]:
    """Columns of the given types without values."""
    return {name: F.lit(None).cast(kind) for name, kind in columns.items()}
