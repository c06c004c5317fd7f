"""One transaction was aborted in one partition and committed in another.

What it finds: data of two partitions with the same producer id and epoch, of which an ABORT marker
ended the ones and a COMMIT marker the others, both with the next epoch, where the coordinator's
log does not tell what was decided: it is not in the dump, or was compacted since.

Why it is wrong: under transaction.version 2 every transaction raises the epoch, so the data of one
epoch are one transaction, and it is committed everywhere or nowhere.

When it is legal: never. Under transaction.version 0 and 1 several transactions share an epoch;
their markers do not raise it, and are not judged. Nor are those of an operator's abort. Where the
coordinator's log has the decision, marker_outcome_mismatch names the marker that contradicts it.
Markers above the high watermark may still be replaced.

Evidence: the first batch of either side.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.verdict import UNSTABLE_TAIL, inconclusive

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
                (F.col("marker_offset") >= F.col("stable_below"))
                | (F.col("committed_marker") >= F.col("committed_stable_below"))
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
        "Consumers have its records of {committed_place} from offset {committed_first} on, but not "
        "those of {topic}-{partition} from {first_offset} on. Ask the application what it was "
        "told, and write the missing ones again or take the others back."
    ),
)
