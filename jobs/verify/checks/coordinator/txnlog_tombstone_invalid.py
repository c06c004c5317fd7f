"""A transactional id expires inside its transaction.

What it finds: a tombstone directly after an Ongoing or Prepare record of the same id, with no
record missing between them.

Why it is wrong: only an id without a transaction expires. The coordinator forgets the transaction,
its data stay open, and the last stable offset of their partitions does not advance.

When it is legal: the coordinator repeated a transition from its older state because an append had
failed late.

Evidence: the tombstone and the record before it.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.transitions import is_decoded, taken_from_the_older_state
from schemas.coordinator_states import IN_TRANSACTION, NO_STATE

CHECK = Check(
    code="txnlog_tombstone_invalid",
    severity=ERROR,
    context="coordinator_step",
    source="TransactionStateManager.shouldExpire",
    fires=lambda: (
        is_decoded()
        & F.col("adjacent")
        & (F.col("state") == NO_STATE)
        & F.col("previous.state").isin(*IN_TRANSACTION)
    ),
    excuses=(
        taken_from_the_older_state(),
        unstable_tail(),
    ),
    expected=lambda: text("no tombstone after {previous_state_name}"),
    found=lambda: text("a tombstone"),
    proofs=(
        Proof("the record before", "previous_file", "previous_position", "previous_length"),
        Proof("the record"),
    ),
    message=lambda: text(
        "The tombstone at offset {offset} removes transactional id {transactional_id} while its "
        "transaction is in state {previous_state_name}."
    ),
    remedy=lambda: text(
        "Look for open transactions of producer {before} in the partitions that the previous "
        "record lists, save their records (isolation.level=read_uncommitted), as they may be "
        "committed, and abort them with kafka-transactions.sh.",
        before="previous.producer_id",
    ),
)
