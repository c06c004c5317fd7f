"""The producer id of a transactional id wrote without a transaction.

What it finds: a producer id that `__transaction_state` assigns to a transactional id, with
non-transactional data in the client topics of the dump.

Why it is suspicious: a producer with a transactional id writes only in transactions, and no other
producer has its producer id. Either a client breaks the rule, or the producer id was allocated
twice.

When it is legal: brokers accept non-transactional batches from other clients outside of an open
transaction.

Evidence: the first non-transactional batch, and the first record of the coordinator.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.verdict import ALSO_LEGAL, suspect

CHECK = Check(
    code="pid_used_outside_transaction_id",
    severity=WARNING,
    context="producer",
    source="TransactionManager",
    fires=lambda: F.col("plain_place").isNotNull() & F.col("owner").isNotNull(),
    excuses=(suspect(ALSO_LEGAL),),
    expected=lambda: text("only transactional data of {id}", id="owner.transactional_id"),
    found=lambda: text("non-transactional data"),
    proofs=(
        Proof("the first batch without a transaction"),
        Proof("the coordinator's record", "owner_file", "owner_position", "owner_length"),
    ),
    message=lambda: text(
        "Producer {producer_id} of transactional id {id} wrote non-transactional data, first in "
        "{topic}-{partition} at offset {offset_first}.",
        id="owner.transactional_id",
    ),
)
