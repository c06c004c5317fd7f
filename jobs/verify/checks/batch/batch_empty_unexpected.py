"""A batch has no records.

What it finds: a data batch or a control batch without records.

Why it is wrong: no client can write an empty batch (LogValidator refuses it), so its records were
removed.

When it is legal: the cleaner keeps the last batch of a producer without records, for its sequence,
and a marker without its record, for its epoch.

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.conditions.cleaned import cleaning_excuses
from jobs.verify.contexts.frame import has_fault
from udfs.wire.batches import faults

CHECK = Check(
    code="batch_empty_unexpected",
    severity=ERROR,
    context="frame",
    source="LogValidator.validateBatch",
    fires=lambda: has_fault(faults.EMPTY),
    excuses=(*cleaning_excuses(),),
    expected=lambda: F.lit("at least one record"),
    found=lambda: F.lit("none"),
    message=lambda: text(
        "The batch with offsets {offset_first} to {offset_last} is empty, but the partition was "
        "not compacted there."
    ),
)
