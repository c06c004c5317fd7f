"""The number of records in a batch differs from its header.

What it finds: a batch with fewer or more records than its header says.

Why it is wrong: a consumer throws InvalidRecordException at it.

When it is legal: never.

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.contexts.frame import has_fault
from udfs.wire.batches import faults

CHECK = Check(
    code="batch_record_count_mismatch",
    severity=ERROR,
    context="frame",
    source="DefaultRecordBatch.RecordIterator",
    fires=lambda: has_fault(faults.RECORD_COUNT_MISMATCH),
    excuses=(),
    expected=lambda: text("{count} records"),
    found=lambda: F.lit("another number"),
    message=lambda: text(
        "The header of the batch at offset {offset_first} gives {count} records. The batch "
        "contains another number."
    ),
    needs_records=True,
)
