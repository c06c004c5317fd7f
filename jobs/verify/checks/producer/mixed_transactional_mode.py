"""A producer id was used with and without transactions.

What it finds: a producer id with transactional and with non-transactional data in the client topics
of the dump, if the coordinator's log does not have the id (pid_used_outside_transaction_id reports
those that it has).

Why it is suspicious: a producer id belongs either to a transactional id, whose data are all
transactional, or to an idempotent producer without one. No client of Apache Kafka mixes them.

When it is legal: brokers accept non-transactional batches from other clients outside of an open
transaction.

Evidence: the first batch of each kind.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.verdict import ALSO_LEGAL, suspect

CHECK = Check(
    code="mixed_transactional_mode",
    severity=WARNING,
    context="producer",
    source="TransactionManager",
    fires=lambda: (
        F.col("plain_place").isNotNull()
        & F.col("transactional_place").isNotNull()
        & F.col("owner").isNull()
    ),
    excuses=(suspect(ALSO_LEGAL),),
    expected=lambda: F.lit("data of one kind"),
    found=lambda: text(
        "transactional data in {topic}-{partition} at offset {offset}",
        topic="transactional_place.topic",
        partition="transactional_place.partition",
        offset="transactional_place.first_offset",
    ),
    proofs=(
        Proof("the first batch without a transaction"),
        Proof(
            "the first batch of a transaction",
            "transactional_file",
            "transactional_position",
            "transactional_length",
        ),
    ),
    message=lambda: text(
        "Producer {producer_id} wrote non-transactional data (first in {topic}-{partition} at "
        "offset {offset_first}) as well as transactional data."
    ),
)
