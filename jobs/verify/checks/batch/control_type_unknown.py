"""A control batch is neither COMMIT nor ABORT.

What it finds: a control batch in a user topic with a control type other than COMMIT and ABORT.

Why it is wrong: only these two end a transaction; only the metadata log has other types.

When it is legal: written by a broker newer than this program.

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, text
from jobs.verify.contexts.frame import has_fault
from jobs.verify.verdict import VERSION_DEPENDENT, suspect
from schemas.topics import METADATA_TOPIC
from udfs.wire.batches import faults

# Its control batches are of other types (KRaft) and belong to no transaction.

CHECK = Check(
    code="control_type_unknown",
    severity=WARNING,
    context="frame",
    source="ControlRecordType.parse",
    fires=lambda: has_fault(faults.CONTROL_TYPE_UNKNOWN) & (F.col("topic") != METADATA_TOPIC),
    excuses=(suspect(VERSION_DEPENDENT),),
    expected=lambda: F.lit("control type 0 or 1"),
    found=lambda: text("control type {found_value}"),
    message=lambda: text(
        "The control batch at offset {offset_first} has type {found_value}, which ends no "
        "transaction."
    ),
)
