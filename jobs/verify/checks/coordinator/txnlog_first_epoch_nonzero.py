"""The first record of a transactional id does not have epoch 0.

What it finds: the first record of an id with a producer epoch above 0, in a log with no record
missing from offset 0 on.

Why it is wrong: a new id gets a new producer id with epoch 0.

When it is legal: earlier records may be gone. Only a log without a gap is judged, and the finding
stays a suspect.

Evidence: the batch of the record.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.transitions import is_decoded
from jobs.verify.verdict import VERSION_DEPENDENT, suspect

CHECK = Check(
    code="txnlog_first_epoch_nonzero",
    severity=WARNING,
    context="coordinator_step",
    source="TransactionCoordinator.handleInitProducerId",
    fires=lambda: is_decoded() & F.col("first_of_log") & (F.col("producer_epoch") > 0),
    excuses=(
        unstable_tail(),
        suspect(VERSION_DEPENDENT),
    ),
    expected=lambda: text("producer epoch 0"),
    found=lambda: text("producer epoch {producer_epoch}"),
    message=lambda: text(
        "The first record of transactional id {transactional_id}, at offset {offset}, has producer "
        "epoch {producer_epoch}."
    ),
)
