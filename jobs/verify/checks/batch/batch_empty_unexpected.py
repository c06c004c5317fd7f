"""A batch has no records.

What it finds: a data batch or a control batch without records.

Why it is wrong: no client can write one (LogValidator refuses it), so its records were taken out.

When it is legal: the cleaner keeps the empty last batch of a producer to remember its sequence,
and an empty marker to remember its epoch.

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.conditions import cleaning_excuses
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
        "The batch with offsets {offset_first} to {offset_last} is empty, in a partition that"
        " was not compacted there."
    ),
)
