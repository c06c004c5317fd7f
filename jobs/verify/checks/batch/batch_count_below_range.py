"""Records are missing from a batch.

What it finds: a batch with fewer records than offsets.

Why it is wrong: a producer numbers its records without gaps, so records were removed from the
batch.

When it is legal: the cleaner removes records of compacted topics and keeps the offset range of the
batch.

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.conditions.cleaned import cleaning_excuses
from jobs.verify.contexts.frame import has_fault
from udfs.wire.batches import faults

CHECK = Check(
    code="batch_count_below_range",
    severity=ERROR,
    context="frame",
    source="LogValidator.validateBatch",
    fires=lambda: has_fault(faults.COUNT_BELOW_RANGE),
    excuses=(*cleaning_excuses(),),
    expected=lambda: text("{span} records", span=F.col("offset_last") - F.col("offset_first") + 1),
    found=lambda: text("{count} records"),
    message=lambda: text(
        "The batch with offsets {offset_first} to {offset_last} has only {count} records, but the "
        "partition was not compacted there."
    ),
)
