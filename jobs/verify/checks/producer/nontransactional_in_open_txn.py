"""Non-transactional data are inside an open transaction of their producer.

What it finds: a data batch without the transactional bit between the data of a transaction of the
same producer id and its marker; reported once at each change.

Why it is wrong: the leader, followers and recovery refuse it (InvalidTxnStateException). The
outcome does not apply to these records: read_committed consumers get them even after an abort.

When it is legal: never. But a marker between them may be damaged or missing in the dump, and
brokers up to Kafka 2.3 forgot a transaction that was deleted with the head of the log.

Evidence: the last batch of the transaction and the batch without the bit.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.forgotten import forgotten_with_the_head
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.verdict import MISSING_RANGE, explained

CHECK = Check(
    code="nontransactional_in_open_txn",
    severity=ERROR,
    context="run",
    source="ProducerAppendInfo.appendDataBatch",
    fires=lambda: (
        F.col("client_data")
        & ~F.col("transactional")
        & F.col("open_transaction")
        & F.col("previous.transactional")
    ),
    excuses=(
        explained(MISSING_RANGE, lambda: F.col("marker_lost_before") | F.col("overlaps")),
        unstable_tail(),
        forgotten_with_the_head("previous.last_offset"),
    ),
    expected=lambda: F.lit("transactional data or a marker"),
    found=lambda: F.lit("data without the transactional bit"),
    proofs=(
        Proof(
            "the last batch of the transaction",
            "previous_file",
            "previous_position",
            "previous_length",
        ),
        Proof("the batch without the transactional bit"),
    ),
    message=lambda: text(
        "Producer {producer_id} wrote non-transactional data at offset {first_offset} while its "
        "transaction in this partition was open."
    ),
)
