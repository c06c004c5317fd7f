"""The coordinator has completed a transaction that is still open in a partition.

What it finds: data without a marker after them, while the last record of their transactional id
has a higher producer epoch and is not a Prepare record that may be about them. Under
transaction.version 2 a Prepare record whose epoch is more than two higher is about later data.

Why it is wrong: the epoch of a transactional id rises only after the transaction, when every
partition has its marker. read_committed consumers stop at the data until the producer's next
marker. That marker then decides them, whatever the coordinator decided before.

When it is legal: never, unless the copy of the partition is older than that record, or the marker
is among what is lost. What is lost behind a broker timestamp that is later than that record held no
marker of the completed transaction; an operator may have ended the data there. If the Prepare
record that raised the epoch of these data lists the partition, and it and its Complete record are
still present, missing_marker_in_listed_partition reports the fault instead. Brokers up to Kafka 2.3
forgot a transaction when all its data were deleted with the head of the log.

Evidence: the first and the last batch of the data.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.conditions.began_anew import begun_and_gone
from jobs.verify.conditions.copies import judged_on_a_longer_copy
from jobs.verify.contexts.open_transaction import decided
from jobs.verify.remedies import end_open_data
from jobs.verify.verdict import (
    DUMP_BEFORE_EVENT,
    MISSING_RANGE,
    OTHER_OUTCOME,
    TWO_PHASE_COMMIT,
    explained,
    inconclusive,
)
from udfs.rules.logic import surely

CHECK = Check(
    code="open_data_of_completed_transaction",
    severity=ERROR,
    context="transaction",
    cause=ONE_TRANSACTION,
    source="TransactionStateManager; KIP-890",
    fires=lambda: (F.col("outcome") == "open") & F.col("coordinator_went_on"),
    excuses=(
        judged_on_a_longer_copy(),
        # A decision about data of a later epoch owes these data nothing.
        explained(
            OTHER_OUTCOME,
            lambda: surely(F.array_contains("raised_epochs", F.col("highest_epoch"))),
        ),
        explained(MISSING_RANGE, lambda: F.col("completion_lost")),
        inconclusive(TWO_PHASE_COMMIT, lambda: F.col("two_phase_commit")),
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("copied_behind_coordinator")),
        begun_and_gone(),
    ),
    expected=lambda: text("a marker: the coordinator is in state {coordinator_state}"),
    found=lambda: text("none after offset {last_offset}{decided}", decided=decided()),
    proofs=(
        Proof("first batch of the transaction"),
        Proof("last batch of the transaction", "last_file", "last_position", "last_length"),
    ),
    message=lambda: text(
        "The transaction of producer {producer_id} (epoch {producer_epoch}) that began at offset "
        "{first_offset} is open in {topic}-{partition}, but its coordinator has completed it. "
        "{transactional_id} is in state {coordinator_state} with a higher epoch."
    ),
    remedy=end_open_data,
)
