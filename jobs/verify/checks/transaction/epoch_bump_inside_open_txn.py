"""A producer writes with a higher epoch while its transaction is still open.

What it finds: transactional data of a higher producer epoch after data of a lower epoch in the same
partition, without a marker between them.

Why it is wrong: the coordinator ends the old transaction in all partitions before it assigns a
higher epoch. The marker was lost, or the older data were hanging. The next marker also decides the
older data. Their transaction may have another outcome: aborted records may become visible.

When it is legal: never (the cleaner removes no marker before its data). But the marker may be
damaged or missing in the dump, and brokers up to Kafka 2.3 forgot a transaction that was deleted
with the head of the log.

Evidence: the last batch of the lower epoch and the first of the higher.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.conditions.forgotten import forgotten_with_the_head
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.verdict import MISSING_RANGE, explained

CHECK = Check(
    code="epoch_bump_inside_open_txn",
    severity=ERROR,
    context="run",
    cause=ONE_TRANSACTION,
    source="TransactionCoordinator.initProducerId",
    fires=lambda: (
        F.col("transactional")
        & F.col("open_transaction")
        & (F.col("producer_epoch") > F.col("highest_data_epoch"))
    ),
    excuses=(
        explained(MISSING_RANGE, lambda: F.col("marker_lost_before") | F.col("overlaps")),
        unstable_tail(),
        forgotten_with_the_head("previous.last_offset"),
    ),
    expected=lambda: text("a marker before data of epoch {producer_epoch}"),
    found=lambda: text("data of epoch {epoch} still open", epoch="previous.epoch"),
    proofs=(
        Proof(
            "the last batch of the lower epoch",
            "previous_file",
            "previous_position",
            "previous_length",
        ),
        Proof("the first batch of the higher epoch"),
    ),
    # The older data hang; the batch after them only shows it.
    place={
        "offset_first": "open_first_offset",
        "offset_last": "previous.last_offset",
        "producer_epoch": "previous.epoch",
    },
    message=lambda: text(
        "Producer {producer_id} wrote with epoch {producer_epoch} at offset {first_offset} while "
        "its transaction of epoch {epoch} had no marker. The next marker decides both.",
        epoch="previous.epoch",
    ),
    remedy=lambda: text(
        "Where the transaction of epoch {epoch} was aborted, consumers must not use its records "
        "in {topic}-{partition}, up to offset {last}. The incident of this finding tells the "
        "outcome where the dump has it, else the record of that epoch in __transaction_state.",
        epoch="previous.epoch",
        last="previous.last_offset",
    ),
)
