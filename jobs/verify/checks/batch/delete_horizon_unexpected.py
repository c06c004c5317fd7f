"""A batch has a delete horizon without reason.

What it finds: a complete data batch with a delete horizon although it holds no tombstone.

Why it is wrong: the cleaner sets the horizon when it keeps a tombstone or a marker.

When it is legal: the cleaner removed the tombstone later (then records are missing from the
batch).

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, text
from jobs.verify.contexts.frame import has_fault
from jobs.verify.verdict import VERSION_DEPENDENT, suspect
from udfs.wire import faults

CHECK = Check(
    code="delete_horizon_unexpected",
    severity=WARNING,
    context="frame",
    source="MemoryRecords.filterTo",
    fires=lambda: has_fault(faults.DELETE_HORIZON),
    excuses=(suspect(VERSION_DEPENDENT),),
    expected=lambda: F.lit("a tombstone in a batch with delete horizon"),
    found=lambda: F.lit("none"),
    message=lambda: text(
        "The batch at offset {offset_first} has a delete horizon although nothing in it is to"
        " be deleted."
    ),
    needs_records=True,
)
