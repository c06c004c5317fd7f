"""A record of the coordinator's log cannot be decoded.

What it finds: a key or value in `__transaction_state` that does not follow its format, or has bytes
left over.

Why it is wrong: the coordinator reads the whole partition when it becomes its leader. It fails at a
record that it cannot read, or forgets the transaction.

When it is legal: a newer broker may write a version that this audit does not know.

Evidence: the batch of the record.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.remedies import copy_again
from jobs.verify.verdict import TEXT_DUMP_LACKS_FIELD, VERSION_DEPENDENT, inconclusive

CHECK = Check(
    code="txnlog_undecodable",
    severity=ERROR,
    context="coordinator_step",
    source="TransactionLog.readTxnRecordValue",
    fires=lambda: F.col("error").isNotNull(),
    excuses=(
        inconclusive(TEXT_DUMP_LACKS_FIELD, lambda: F.col("error").startswith("text_")),
        inconclusive(VERSION_DEPENDENT, lambda: F.col("error").startswith("unknown_version")),
        unstable_tail(),
    ),
    expected=lambda: text("a key and value of a known version"),
    found=lambda: text("{error}"),
    message=lambda: text(
        "The record at offset {offset} of __transaction_state-{partition} cannot be decoded: "
        "{error}."
    ),
    remedy=copy_again,
)
