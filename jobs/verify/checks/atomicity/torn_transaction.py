"""A committed transaction was aborted in one of its partitions.

What it finds: data of a partition that an ABORT marker of their own epoch ended, although the
coordinator committed the transaction of that epoch, and that transaction lists the partition. Under
transaction.version 0 and 1 the COMMIT marker must also be missing there, but present in another
partition.

Why it is wrong: a transaction is committed in all partitions or in none. Here consumers receive its
records in the other partitions and its offset commits, but not these records.

When it is legal: never. The cause is an operator's abort in one partition (kafka-transactions.sh
abort) while the producer is still running and later commits. Under transaction.version 0 and 1 a
client's own abort carries the epoch of its data too, so this is judged only if the coordinator's
log still shows that no abort of that epoch was decided for the partition.

If a commit under an older transaction.version also has the epoch of the data and lists the
partition, the data may be late data of that transaction, which hung. marker_outcome_mismatch
reports such an abort. An ABORT marker above the high watermark may be truncated: then the finding
is inconclusive. A PrepareCommit record that the next record of its id contradicts is an append that
timed out: it never took effect and committed nothing.

Evidence: the ABORT marker, and the Prepare record of the commit.
"""

from pyspark.sql import functions as F

from jobs.model.found import PREPARE_RECORD
from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.conditions.undecided import is_torn
from jobs.verify.verdict import APPEND_REPEATED, UNSTABLE_TAIL, inconclusive
from schemas.topics import OFFSETS_TOPIC
from udfs.rules.extent import is_replicated

CHECK = Check(
    code="torn_transaction",
    severity=ERROR,
    context="decided_partition",
    cause=ONE_TRANSACTION,
    source="KIP-98; KIP-664 abort; KIP-890 (epoch of markers)",
    fires=lambda: (
        is_torn()
        | (
            ~F.col("commit")
            & F.col("unraised_offset").isNotNull()
            & F.col("committed_place").isNotNull()
            & (F.coalesce("with_transaction_version_1", F.lit(0)) == 0)
            & (F.col("decidable") == 1)
        )
    ),
    excuses=(
        inconclusive(
            UNSTABLE_TAIL,
            lambda: (
                ~is_replicated(F.col("committed_offset"), F.col("coordinator_replicated_below"))
            ),
        ),
        # Of a leader that was replaced: the next one knows nothing of that abort.
        unstable_tail("unraised_offset"),
        # The last record of an id may be an append that timed out.
        inconclusive(APPEND_REPEATED, lambda: ~is_torn() & ~F.col("committed_complete")),
    ),
    expected=lambda: text("COMMIT as in the other partitions, marker epoch {torn_epoch}"),
    found=lambda: text("ABORT of epoch {marker_epoch} at offset {unraised_offset}"),
    place={
        "offset_first": "unraised_first",
        "offset_last": "unraised_offset",
        "producer_epoch": "marker_epoch",
        "file": "unraised_file",
        "byte_position": "unraised_position",
    },
    proofs=(
        Proof("the ABORT marker", "unraised_file", "unraised_position", "marker_length"),
        Proof(PREPARE_RECORD, "torn_file", "torn_position", "torn_length"),
    ),
    message=lambda: text(
        "Transaction {transactional_id} (producer {producer_id}) was committed, but its records in "
        "{topic}-{partition} from offset {unraised_first} on were aborted: by an operator, or by "
        "a marker that contradicts the decision."
    ),
    remedy=lambda: F.when(
        F.col("topic") == OFFSETS_TOPIC,
        text(
            "The offset commits at offsets {unraised_first} to {unraised_last} of "
            "{topic}-{partition} did not take effect, but the output of their transaction was "
            "committed. Stop the members of their group, and set it to these offsets "
            "(kafka-consumer-groups.sh --reset-offsets --to-offset), unless it has committed "
            "higher ones since. Write nothing into {topic}. Before a manual abort, make sure that "
            "the producer is stopped."
        ),
    ).otherwise(
        text(
            "Consumers received its records in the other partitions, but not those in "
            "{topic}-{partition}. Write the records of offsets {unraised_first} to {unraised_last} "
            "again, for example from this copy. Before a manual abort, make sure that the producer "
            "is stopped."
        )
    ),
)
