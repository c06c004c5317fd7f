"""A marker was written twice.

What it finds: two markers of one producer id with the same epoch and outcome in a partition, with
no data of the producer between them.

Why it is of interest: it shows a retry or a change of the coordinator. It has no effect on any
record.

When it is legal: always. The marker was sent again after a timeout (same coordinator epoch), by a
new coordinator (higher coordinator epoch), or belongs to a transaction without data here. Nothing
is reported if data in between may have been cleaned or are missing.

Evidence: both markers.
"""

from pyspark.sql import functions as F

from jobs.verify.check import INFO, Check, Proof, text
from jobs.verify.conditions.began_anew import is_marker_again
from jobs.verify.verdict import ALSO_LEGAL, MISSING_RANGE, explained, suspect

CHECK = Check(
    code="duplicate_marker",
    severity=INFO,
    context="transaction",
    source="TransactionMarkerChannelManager",
    fires=lambda: is_marker_again() & (F.col("previous_marker.commit") == F.col("marker_commit")),
    excuses=(
        explained(MISSING_RANGE, lambda: F.col("missing_before_marker")),
        suspect(ALSO_LEGAL),
    ),
    expected=lambda: text("one {outcome} marker of epoch {marker_epoch}"),
    found=lambda: text("another one at offset {offset}", offset="previous_marker.offset"),
    proofs=(
        Proof(
            "the marker before",
            "previous_marker_file",
            "previous_marker_position",
            "previous_marker_length",
        ),
        Proof("the repeated marker", "marker_file", "marker_position", "marker_length"),
    ),
    message=lambda: text(
        "The {outcome} marker of producer {producer_id} with epoch {marker_epoch} at offset "
        "{marker_offset} repeats the one at offset {offset}.",
        offset="previous_marker.offset",
    ),
)
