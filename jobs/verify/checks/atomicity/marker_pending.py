"""A decided transaction still waits for its marker on a partition.

What it finds: a Prepare record that is the last one of its transactional id, and a partition that
it lists and that has no such marker.

Why it matters: until the marker is written, the transaction is open there and the last stable
offset does not move. This is normal for moments; the age says more.

When it is legal: always. The copy may have been taken between decision and marker.

Evidence: the Prepare record.
"""

from pyspark.sql import functions as F

from jobs.verify.check import INFO, Check, Proof, text
from jobs.verify.verdict import ALSO_LEGAL, suspect

CHECK = Check(
    code="marker_pending",
    severity=INFO,
    context="decided_partition",
    source="TransactionMarkerChannelManager",
    fires=lambda: (
        F.col("markers").isNull() & (F.col("pending") == 1) & F.col("complete_offset").isNull()
    ),
    excuses=(suspect(ALSO_LEGAL),),
    expected=lambda: text("a marker {decision} of epoch {marker_epoch}"),
    found=lambda: text("none yet, {pending_ms} ms after the decision"),
    proofs=(Proof("the Prepare record", "record_file", "record_position", "record_length"),),
    message=lambda: text(
        "Transaction {transactional_id} (producer {producer_id}) is decided as {decision}; the "
        "marker of {topic}-{partition} was not written when the dump was taken."
    ),
)
