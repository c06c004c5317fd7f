"""A decided transaction has no marker yet in one of its partitions.

What it finds: a Prepare record that is the last record of its transactional id, and a listed
partition without the marker.

Why it matters: until the marker is written, the transaction is open there and the last stable
offset does not advance. For a short time this is normal; see the age in the finding.

When it is legal: always. The copy may have been taken between the decision and the marker. Silent
where another copy of the coordinator's log has a later record of the id: the decision was carried
out, and the copy of the partition is older.

Evidence: the Prepare record.
"""

from pyspark.sql import functions as F

from jobs.model.found import PREPARE_RECORD
from jobs.verify.check import INFO, Check, Proof, text
from jobs.verify.verdict import ALSO_LEGAL, DUMP_BEFORE_EVENT, explained, suspect

CHECK = Check(
    code="marker_pending",
    severity=INFO,
    context="decided_partition",
    source="TransactionMarkerChannelManager",
    fires=lambda: (
        F.col("markers").isNull() & (F.col("pending") == 1) & F.col("complete_offset").isNull()
    ),
    excuses=(explained(DUMP_BEFORE_EVENT, lambda: F.col("id_went_on")), suspect(ALSO_LEGAL)),
    expected=lambda: text("{decision} marker of epoch {marker_epoch}"),
    # The clock of the copy may be behind that of the coordinator.
    found=lambda: text(
        "none yet, {pending} ms after the decision", pending=F.greatest("pending_ms", F.lit(0))
    ),
    proofs=(Proof(PREPARE_RECORD, "record_file", "record_position", "record_length"),),
    message=lambda: text(
        "The coordinator decided {decision} for transaction {transactional_id} (producer "
        "{producer_id}). {topic}-{partition} has no marker of it yet."
    ),
)
