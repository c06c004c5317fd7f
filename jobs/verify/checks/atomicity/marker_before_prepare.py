"""A marker has an earlier timestamp than the decision that it carries out.

What it finds: a marker whose timestamp is earlier than that of its Prepare record by more than the
clock tolerance.

Why it is wrong: the coordinator sends a marker only after the Prepare record is replicated.

When it is legal: marker and record both carry the clock of the coordinator. A clock that was set
back, or two coordinators with different clocks, look the same. Or a coordinator that had been
replaced decided it, too, above its high watermark, and the decision of the next one is compacted.

Evidence: the marker and the Prepare record.
"""

from pyspark.sql import functions as F

from jobs.model.found import PREPARE_RECORD
from jobs.verify.check import WARNING, Check, Proof, moment, text
from jobs.verify.verdict import (
    CLOCK_SKEW,
    OPERATOR_ABORT,
    OTHER_OUTCOME,
    TXNLOG_COMPACTED,
    UNSTABLE_TAIL,
    explained,
    suspect,
)
from udfs.rules.attribution import surely_before

CHECK = Check(
    code="marker_before_prepare",
    severity=WARNING,
    context="decided_partition",
    source="TransactionCoordinator.endTransaction",
    place={
        "offset_first": "early_first",
        "offset_last": "early_offset",
        "file": "early_file",
        "byte_position": "early_position",
    },
    fires=lambda: surely_before(
        F.col("earliest_marker"), F.col("earliest_prepare"), F.col("clock_tolerance_ms")
    ),
    excuses=(
        explained(OPERATOR_ABORT, lambda: ~F.col("commit") & F.col("unraised_offset").isNotNull()),
        # A coordinator that had been replaced decided it, too; its record is truncated.
        explained(UNSTABLE_TAIL, lambda: F.col("told_elsewhere") == 1),
        # Of a COMMIT that nobody decided: marker_without_prepare tells it.
        explained(OTHER_OUTCOME, lambda: F.col("commits_undecided")),
        # Of a COMMIT where only an abort had been decided: marker_outcome_mismatch tells it.
        explained(OTHER_OUTCOME, lambda: F.col("opposed_offset") == F.col("early_offset")),
        # Before version 2 the marker may be that of an earlier decision, which was compacted.
        explained(
            TXNLOG_COMPACTED,
            lambda: (F.col("with_transaction_version_1") == 1) & (F.col("decidable") == 0),
        ),
        suspect(CLOCK_SKEW),
    ),
    expected=lambda: text("a timestamp of {at} or later", at=moment("earliest_prepare")),
    found=lambda: text("{at}", at=moment("earliest_marker")),
    proofs=(
        Proof("the marker", "early_file", "early_position", "marker_length"),
        Proof(PREPARE_RECORD, "record_file", "record_position", "record_length"),
    ),
    message=lambda: text(
        "The {decision} marker of producer {producer_id} at offset {early_offset} of "
        "{topic}-{partition} has timestamp {marker}. The Prepare record of transaction "
        "{transactional_id} has {prepare}.",
        marker=moment("earliest_marker"),
        prepare=moment("earliest_prepare"),
    ),
)
