"""A marker ends a transaction that has no data in the partition.

What it finds: a COMMIT or ABORT marker while no transaction of its producer id is open in the
partition.

Why it is of interest: it helps to interpret other findings about the producer. It has no effect on
any record.

When it is legal: often. The marker was sent twice, or again by a new coordinator, or the partition
was registered and no record was written. Nothing is reported if data may have been removed by
retention or the cleaner, or are missing in the dump.

Evidence: the marker.
"""

from pyspark.sql import functions as F

from jobs.verify.check import INFO, Check, Proof, text
from jobs.verify.verdict import (
    ALSO_LEGAL,
    MISSING_RANGE,
    NO_INITIAL_STATE,
    explained,
    suspect,
)

CHECK = Check(
    code="marker_without_transaction",
    severity=INFO,
    context="transaction",
    source="ProducerAppendInfo.appendEndTxnMarker",
    fires=lambda: F.col("marker_offset").isNotNull() & ~F.col("has_data"),
    excuses=(
        explained(
            NO_INITIAL_STATE, lambda: ~F.col("start_known") & F.col("previous_marker").isNull()
        ),
        explained(MISSING_RANGE, lambda: F.col("missing_before_marker")),
        suspect(ALSO_LEGAL),
    ),
    expected=lambda: F.lit("data before the marker"),
    found=lambda: text("{outcome} marker of epoch {marker_epoch} without data"),
    proofs=(Proof("the marker", "marker_file", "marker_position", "marker_length"),),
    message=lambda: text(
        "The {outcome} marker of producer {producer_id} at offset {marker_offset} ends no data: "
        "the producer had no open transaction in this partition."
    ),
)
