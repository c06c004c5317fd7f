"""Open transactional data are in a partition that their transaction never listed.

What it finds: data without a marker after them, while no record of their producer id and epoch in
`__transaction_state` lists the partition, although all these records are present.

Why it is wrong: the coordinator writes markers only to the partitions it lists. No marker will end
these data, and read_committed consumers stop there.

When it is legal: never, unless a producer snapshot shows that a marker has ended them, which is
damaged or missing in the dump. If the copy of the coordinator's log is older than the data, the
finding is inconclusive. Data that arrived after the marker of their own epoch are reported by
late_write_after_marker, data that surely hang by hanging_transaction, and data in
`__consumer_offsets` by offset_commit_unlisted.

Evidence: the first batch of the data, and the last record of the epoch.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.conditions.copies import judged_on_a_longer_copy
from jobs.verify.conditions.missing import ended_before_snapshot
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.contexts.open_transaction import end_may_be_lost
from jobs.verify.remedies import abort_unlisted
from jobs.verify.verdict import DUMP_BEFORE_EVENT, OTHER_OUTCOME, explained, inconclusive
from schemas.topics import OFFSETS_TOPIC


def _registration_over() -> Column:
    return F.col("listing_over") & (F.col("registration_over") | F.col("copies_agree"))


def _left_to_hanging() -> Column:
    """hanging_transaction has the finding, unless this check proves more."""
    proves_no_more = ~_registration_over() | F.col("two_phase_commit")
    old = F.col("age_ms") > F.col("limit_ms")
    return (F.col("hangs") & ~end_may_be_lost()) | (old & proves_no_more)


CHECK = Check(
    code="data_in_unlisted_partition",
    severity=ERROR,
    context="transaction",
    cause=ONE_TRANSACTION,
    source="KIP-98 AddPartitionsToTxn, KIP-890",
    fires=lambda: (
        (F.col("outcome") == "open") & F.col("unlisted") & (F.col("topic") != OFFSETS_TOPIC)
    ),
    excuses=(
        judged_on_a_longer_copy(),
        ended_before_snapshot(),
        explained(
            OTHER_OUTCOME,
            lambda: F.col("behind_own_marker") | _left_to_hanging(),
        ),
        unstable_tail("first_offset"),
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~_registration_over()),
    ),
    expected=lambda: text(
        "{topic}-{partition} among the partitions of the transaction of epoch {producer_epoch}"
    ),
    found=lambda: F.lit("not listed"),
    proofs=(
        Proof("the first batch of the data"),
        Proof(
            "the last record of the epoch",
            "epoch_record_file",
            "epoch_record_position",
            "epoch_record_length",
        ),
    ),
    message=lambda: text(
        "Producer {producer_id} (epoch {producer_epoch}) wrote to {topic}-{partition} from offset "
        "{first_offset} on. No transaction of {transactional_id} in that epoch lists the "
        "partition, so no marker will end the data."
    ),
    remedy=abort_unlisted,
)
