"""One transaction was aborted in one partition and committed in another.

What it finds: data with the same producer id and epoch in two partitions. An ABORT marker ended the
data in one partition and a COMMIT marker ended the data in the other. Both markers carry the next
epoch. The coordinator's log does not show the decision: it is not in the dump, or it has been
compacted since.

Why it is wrong: under transaction.version 2 every transaction raises the epoch. The data of one
epoch are therefore one transaction, which is committed in all partitions or in none.

When it is legal: never. Under transaction.version 0 and 1 several transactions share an epoch and
their markers do not raise it; such markers are not judged. The same holds for an operator's abort.
If the coordinator's log has the decision, marker_outcome_mismatch reports the marker that
contradicts it. Markers above the high watermark may still be replaced.

Evidence: the first batch of either side.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.verdict import UNSTABLE_TAIL, inconclusive
from udfs.rules.extent import is_replicated

CHECK = Check(
    code="epoch_committed_and_aborted",
    severity=ERROR,
    context="torn_epoch",
    cause=ONE_TRANSACTION,
    source="KIP-98; KIP-890 (epoch of markers)",
    fires=lambda: F.col("committed").isNotNull(),
    excuses=(
        inconclusive(
            UNSTABLE_TAIL,
            lambda: (
                ~is_replicated(F.col("marker_offset"), F.col("replicated_below"))
                | ~is_replicated(F.col("committed_marker"), F.col("committed_replicated_below"))
            ),
        ),
    ),
    expected=lambda: text("the outcome of {committed_place}: COMMIT"),
    found=lambda: text("ABORT at offset {marker_offset}"),
    proofs=(
        Proof("the first batch that was aborted"),
        Proof(
            "the first batch that was committed",
            "committed_file",
            "committed_position",
            "committed_length",
        ),
    ),
    message=lambda: text(
        "The transaction of producer {producer_id} (epoch {producer_epoch}) was aborted in "
        "{topic}-{partition} at offset {marker_offset}, but committed in {committed_place} at "
        "offset {committed_marker}."
    ),
    remedy=lambda: text(
        "Consumers received its records in {committed_place} from offset {committed_first} on, but "
        "not those in {topic}-{partition} from offset {first_offset} on. Find out whether the "
        "application saw the commit succeed. Then write the missing records again, or undo the "
        "delivered ones downstream."
    ),
)
