"""A batch has more records than offsets.

What it finds: a batch with more records than offsets, or with a negative last offset delta.

Why it is wrong: every record has an offset of its own.

When it is legal: never.

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.contexts.frame import has_fault
from udfs.wire.batches import faults

CHECK = Check(
    code="batch_count_exceeds_range",
    severity=ERROR,
    context="frame",
    source="LogValidator.validateBatch",
    fires=lambda: has_fault(faults.COUNT_EXCEEDS_RANGE),
    excuses=(),
    expected=lambda: text(
        "at most {span} records", span=F.col("offset_last") - F.col("offset_first") + 1
    ),
    found=lambda: text("{count} records"),
    message=lambda: text(
        "The header of the batch at offset {offset_first} gives {count} records and last offset "
        "{offset_last}: more records than offsets."
    ),
)
