"""Decisions and markers that were folded away, held against each other while they are packed.

Otherwise each of them would be a row: of a whole `__transaction_state` and its partitions that is
most of what an audit costs (docs/benchmarks.md).
"""

import numpy as np
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.model.coordinator_listing import coordinator_listing
from jobs.model.decoded import MOST_CHOSEN, Decoded, unpacked_when_asked
from jobs.model.dump import Dump, DumpPartition, files_cleaned_below
from jobs.model.plain_epochs import PlainEpochs
from jobs.spark.joins import inner
from jobs.spark.local import local_frame
from schemas import log_row
from schemas.coordinator_states import PREPARED
from schemas.topics import TXN_LOG_TOPIC
from udfs.arrow.blocks import unpack_blocks
from udfs.arrow.plain_epochs import (
    BUCKET,
    FIRST_ENDED,
    MATCHED,
    ROW,
    TOLD_FROM,
    Listed,
    bare_parts,
    decided_parts,
    marked_parts,
    match_parts,
)
from udfs.rules.absence import within_reach

# What a Python worker holds at a time: 55 bytes each, several times while it sorts them.
PARTS_A_BUCKET = 500_000
KEY_BYTES = 8


def plain_epochs(decoded: Decoded, dump: Dump, tolerance_ms: int) -> PlainEpochs | None:
    """Which epochs are plain; None where it does not pay to ask, or very many are not.

    `tolerance_ms`: by how much clocks of brokers may be apart.
    """
    packed = decoded.folded_rows + decoded.regular
    named = decoded.counts.get(log_row.TXN_LOG_RECORD) and decoded.regular
    if not named or not unpacked_when_asked(packed):
        return None
    buckets = 1 + packed // PARTS_A_BUCKET
    matched = (
        _parts(decoded, _listed(dump), buckets)
        .groupBy("bucket")
        .applyInArrow(match_parts(tolerance_ms, _named_from_ms(decoded, dump)), MATCHED)
        .persist()
    )
    decoded.parts.append(matched)
    totals = matched.agg(
        *[F.sum(one).alias(one) for one in ("plain", "others")],
        F.sum(F.length("keys")).alias("size"),
    ).collect()[0]
    if totals.size > MOST_CHOSEN * KEY_BYTES:
        return None
    keys = [np.frombuffer(row.keys, np.uint64) for row in matched.select("keys").collect()]
    blocks = matched.select("first_ended").filter(F.col("first_ended").isNotNull())
    return PlainEpochs(
        number=totals.plain,
        others=totals.others,
        keys=np.unique(np.concatenate(keys)),
        first_ended=blocks.mapInArrow(unpack_blocks, FIRST_ENDED),
    )


def _listed(dump: Dump) -> Listed:
    """The copies of each partition, as decisions list them."""
    copies: dict[str, list[int]] = {}
    for one in dump.partitions:
        copies.setdefault(f"{one.topic}-{one.partition}", []).append(one.partition_index)
    starts = np.cumsum([0, *map(len, copies.values())])
    indexes = [index for some in copies.values() for index in some]
    return Listed(list(copies), starts, np.array(indexes, dtype=np.int64))


def _named_from_ms(decoded: Decoded, dump: Dump) -> int | None:
    """Not later than `named_from_ms` of `jobs.verify.contexts.decided.unnamed`; None for never.

    The newest of the records that are rows and that a cleaner may have passed: of several copies
    of a partition in the one of the earliest, of several partitions in the one of the latest.
    """
    listing = coordinator_listing(dump, decoded.clusters)
    if not listing.may_be_complete:
        return None
    copies = [one for one in dump.partitions if one.topic == TXN_LOG_TOPIC and _from_start(one)]
    newest = _newest_passed(decoded, copies)
    moments: dict[int, int] = {}
    for one in copies:
        moment = newest.get(one.partition_index, 0)
        moments[one.partition] = min(moment, moments.get(one.partition, moment))
    return max(moments.values()) if len(moments) == listing.number else None


def _from_start(partition: DumpPartition) -> bool:
    return bool(partition.segments) and not partition.segments[0].base_offset


def _newest_passed(decoded: Decoded, copies: list[DumpPartition]) -> dict[int, int]:
    """partition_index -> moment of the newest record that is a row, and that a cleaner passed."""
    passed = [(one.partition_index, files_cleaned_below(one)) for one in copies]
    some = [one for one in passed if one[1]]
    if not some:
        return {}
    below = local_frame(
        decoded.rows.sparkSession, some, "partition_index int, cleaned_below bigint"
    )
    records = decoded.nested(log_row.TXN_LOG_RECORD, "txn_log_record")
    newest = (
        inner(records, below, on="partition_index")
        .filter(within_reach(F.col("offset"), F.col("cleaned_below")))
        .groupBy("partition_index")
        .agg(F.max("timestamp").alias("newest"))
    )
    return {row.partition_index: row.newest or 0 for row in newest.collect()}


def _parts(decoded: Decoded, listed: Listed, buckets: int) -> DataFrame:
    """Rows of BUCKET: what is packed, and the epochs of what is a row."""
    log_records = decoded.nested(log_row.TXN_LOG_RECORD, "txn_log_record")
    epoch = F.col("producer_epoch").alias("marker_epoch")
    prepared = log_records.filter(F.col("status").isin(*PREPARED) & ~F.col("decided")).select(
        "producer_id", epoch
    )
    ended = decoded.runs().filter(F.col("marker_offset").isNotNull())
    transactions = decoded.regular_blocks()
    assert transactions is not None
    rows = prepared.unionByName(ended.select("producer_id", "marker_epoch"))
    return (
        decoded.decision_blocks()
        .mapInArrow(decided_parts(listed, buckets), BUCKET)
        .unionByName(transactions.mapInArrow(marked_parts(buckets), BUCKET))
        .unionByName(rows.mapInArrow(bare_parts(ROW, buckets), BUCKET))
        .unionByName(_told_from(log_records).mapInArrow(bare_parts(TOLD_FROM, buckets), BUCKET))
    )


def _told_from(log_records: DataFrame) -> DataFrame:
    """One row a producer id that the coordinator's log names: from which epoch on, marker_epoch.

    Of what was folded away no record has a lower epoch than the first one of its id. From -1 on
    where a copy has its first record at offset 0: nothing may be missing (`jobs.replay.decisions`).
    """
    begins = F.min("offset").over(Window.partitionBy("partition_index"))
    named = log_records.select("producer_id", "producer_epoch", "error", begins.alias("begins"))
    lowest = F.min(F.when(F.col("begins") > 0, F.col("producer_epoch")).otherwise(-1))
    return (
        named.filter(F.col("producer_id").isNotNull() & F.col("error").isNull())
        .groupBy("producer_id")
        .agg(lowest.alias("marker_epoch"))
    )
