"""A transaction was committed without offset commits.

What it finds: a COMMIT marker in a partition of `__consumer_offsets` with no offset commits of its
producer before it, which does not repeat an earlier marker.

Why it is of interest: a consume-process-produce application that commits output without offsets
processes the same input again.

When it is legal: the application had nothing to commit, or the cleaner removed the commits because
newer ones replaced them. This is an observation only.

Evidence: the batch of the marker.
"""

from pyspark.sql import functions as F

from jobs.verify.check import INFO, Check, text
from jobs.verify.conditions.cleaned import cleaned_between
from jobs.verify.verdict import (
    ALSO_LEGAL,
    CLEANED_RANGE,
    MISSING_RANGE,
    NO_INITIAL_STATE,
    explained,
    suspect,
)

CHECK = Check(
    code="committed_output_without_offsets",
    severity=INFO,
    context="offset_transaction",
    source="KIP-98 AddOffsetsToTxn",
    fires=lambda: (
        F.col("first_offset").isNull()
        & (F.col("outcome") == "commit")
        & (F.col("previous_epoch") < F.col("marker_epoch"))
    ),
    excuses=(
        explained(CLEANED_RANGE, lambda: cleaned_between(F.col("marker_offset"))),
        explained(MISSING_RANGE, lambda: F.col("missing_before_marker")),
        explained(NO_INITIAL_STATE, lambda: ~F.col("start_known") & (F.col("previous_epoch") < 0)),
        suspect(ALSO_LEGAL),
    ),
    expected=lambda: text("offset commits of producer {producer_id} before the marker"),
    found=lambda: F.lit("none"),
    message=lambda: text(
        "The COMMIT marker of producer {producer_id} (epoch {marker_epoch}) at offset "
        "{marker_offset} of {topic}-{partition} ends a transaction without offset commits."
    ),
    place={"producer_epoch": "marker_epoch"},
)
