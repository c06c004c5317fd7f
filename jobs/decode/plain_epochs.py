"""Decisions and markers that were folded away, held against each other while they are packed.

Otherwise each of them would be a row: of a whole `__transaction_state` and its partitions that is
most of what an audit costs (docs/benchmarks.md).
"""

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.model.decoded import MOST_CHOSEN, Decoded, unpacked_when_asked
from jobs.model.dump import Dump
from jobs.model.plain_epochs import PlainEpochs
from jobs.model.replicas import coordinator_copies
from schemas import log_row
from schemas.coordinator_states import PREPARE_ABORT, PREPARE_COMMIT
from udfs.arrow.blocks import unpack_blocks
from udfs.arrow.plain_epochs import (
    BUCKET,
    FIRST_ENDED,
    MATCHED,
    Listed,
    decided_parts,
    marked_parts,
    match_parts,
    parts_of_rows,
)

# What a Python worker holds at a time: 55 bytes each, several times while it sorts them.
PARTS_A_BUCKET = 500_000
KEY_BYTES = 8


def plain_epochs(decoded: Decoded, dump: Dump, tolerance_ms: int) -> PlainEpochs | None:
    """Which epochs are plain; None where it does not pay to ask, or most of them are not.

    `tolerance_ms`: by how much clocks of brokers may be apart.
    """
    many = unpacked_when_asked(decoded.folded_rows)
    if not many or not decoded.regular or coordinator_copies(dump):
        return None
    buckets = 1 + (decoded.folded_rows + decoded.regular) // PARTS_A_BUCKET
    matched = (
        _parts(decoded, _listed(dump), buckets)
        .groupBy("bucket")
        .applyInArrow(match_parts(tolerance_ms), MATCHED)
        .persist()
    )
    decoded.parts.append(matched)
    totals = matched.agg(
        *[F.sum(one).alias(one) for one in ("plain", "others")],
        F.sum(F.length("keys")).alias("size"),
    ).collect()[0]
    if not totals.plain or totals.size > MOST_CHOSEN * KEY_BYTES:
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


def _parts(decoded: Decoded, listed: Listed, buckets: int) -> DataFrame:
    """Rows of BUCKET: what is packed, and the epochs of what is a row."""
    log_records = decoded.nested(log_row.TXN_LOG_RECORD, "txn_log_record")
    prepared = log_records.filter(
        F.col("status").isin(PREPARE_COMMIT, PREPARE_ABORT) & ~F.col("decided")
    ).select("producer_id", F.col("producer_epoch").alias("marker_epoch"))
    ended = decoded.runs().filter(F.col("marker_offset").isNotNull())
    transactions = decoded.regular_blocks()
    assert transactions is not None
    rows = prepared.unionByName(ended.select("producer_id", "marker_epoch"))
    return (
        decoded.decision_blocks()
        .mapInArrow(decided_parts(listed, buckets), BUCKET)
        .unionByName(transactions.mapInArrow(marked_parts(buckets), BUCKET))
        .unionByName(rows.mapInArrow(parts_of_rows(buckets), BUCKET))
    )
