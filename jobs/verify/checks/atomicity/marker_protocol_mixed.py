"""The epoch of a COMMIT marker follows the rule of another transaction.version.

What it finds: a COMMIT marker with the epoch of its own data, although the coordinator decided all
transactions of that epoch under transaction.version 2; or with a higher epoch, although it decided
them all under version 0 or 1.

Why it is wrong: under version 2 the end of a transaction raises the epoch and the markers carry the
raised epoch. Under version 0 and 1 a commit does not change the epoch (TransactionMetadata).

When it is legal: above the high watermark a marker that was sent again may have arrived late at a
leader that was then replaced, and may have ended data that the next leader does not have. A Prepare
record of value version 0 does not tell the version, which may be 2 where transaction.version was
lowered: suspect, unless the Ongoing record before it has its epoch. Fencing raises the epoch of the
transaction it aborts under every version, so ABORT markers are not checked.

Evidence: the marker and the Prepare record.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.model.found import PREPARE_RECORD
from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.verdict import DUMP_BEFORE_EVENT, VERSION_DEPENDENT, inconclusive, suspect


def _is_untold() -> Column:
    """Whether a decision may have raised the epoch without telling; the marker has it then."""
    return (F.col("with_transaction_version_2") == 0) & (F.col("with_untold_rise") == 1)


CHECK = Check(
    code="marker_protocol_mixed",
    severity=ERROR,
    context="decided_partition",
    source="TransactionMetadata.prepareAbortOrCommit",
    cause=ONE_TRANSACTION,
    place={
        "offset_first": "wrong_first",
        "offset_last": "wrong_last",
        "file": "wrong_file",
        "byte_position": "wrong_position",
    },
    fires=lambda: (
        F.col("commit")
        & (F.col("decidable") == 1)
        & F.when(
            F.col("with_transaction_version_1") == 0, F.col("unraised_offset").isNotNull()
        ).when(F.col("with_transaction_version_2") == 0, F.col("raised_offset").isNotNull())
    ),
    excuses=(
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("history_after_all")),
        unstable_tail("wrong_offset"),
        suspect(VERSION_DEPENDENT, _is_untold),
    ),
    expected=lambda: F.when(
        F.col("with_transaction_version_2") == 1, F.lit("an epoch above that of the data")
    ).otherwise(F.lit("the epoch of the data")),
    found=lambda: text("COMMIT of epoch {marker_epoch} at offset {wrong_offset}"),
    proofs=(
        Proof("the marker", "wrong_file", "wrong_position", "marker_length"),
        Proof(PREPARE_RECORD, "record_file", "record_position", "record_length"),
    ),
    message=lambda: text(
        "The COMMIT marker of producer {producer_id} at offset {wrong_offset} of "
        "{topic}-{partition} has epoch {marker_epoch}, {own}. Transaction {transactional_id} was "
        "decided under transaction.version {rule} data.",
        own=F.when(
            F.col("with_transaction_version_2") == 1, F.lit("the epoch of its data")
        ).otherwise(F.lit("which is above the epoch of its data")),
        rule=F.when(
            F.col("with_transaction_version_2") == 1,
            F.lit("2, whose COMMIT markers have a higher epoch than their"),
        )
        .when(_is_untold(), F.lit("0 or 1, or by a client of 2. Only then a COMMIT is above its"))
        .otherwise(F.lit("0 or 1, whose COMMIT markers have the epoch of their")),
    ),
)
