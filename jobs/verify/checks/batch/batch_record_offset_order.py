"""Records of a batch are out of order.

What it finds: records whose offset deltas do not rise, or exceed the last offset delta of the
batch.

Why it is wrong: offsets rise within a batch. A consumer would see an offset twice or out of order.

When it is legal: never.

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.contexts.frame import has_fault
from udfs.wire.batches import faults

CHECK = Check(
    code="batch_record_offset_order",
    severity=ERROR,
    context="frame",
    source="DefaultRecordBatch",
    fires=lambda: has_fault(faults.RECORD_OFFSET_ORDER | faults.WRAPPER_ORDER),
    excuses=(),
    expected=lambda: F.lit("rising offsets within the batch"),
    found=lambda: F.lit("offsets that fall or are outside the batch"),
    message=lambda: text(
        "The records of the batch at offset {offset_first} are not in the order of their offsets."
    ),
    needs_records=True,
)
