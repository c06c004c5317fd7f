"""A batch has undefined attribute bits set.

What it finds: a batch with one of the attribute bits 7 to 15 set.

Why it is wrong: these bits have no meaning up to Kafka 4.3.

When it is legal: in a format newer than this program.

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import INFO, Check, text
from jobs.verify.contexts.frame import has_fault
from jobs.verify.verdict import VERSION_DEPENDENT, suspect
from udfs.wire.batches import faults

CHECK = Check(
    code="batch_attribute_bits_unknown",
    severity=INFO,
    context="frame",
    source="DefaultRecordBatch",
    fires=lambda: has_fault(faults.ATTRIBUTE_BITS_UNKNOWN),
    excuses=(suspect(VERSION_DEPENDENT),),
    expected=lambda: F.lit("bits 7 to 15 are 0"),
    found=lambda: text("attributes {attributes}"),
    message=lambda: text(
        "The batch at offset {offset_first} has attribute bits set that are undefined up to Kafka "
        "4.3."
    ),
)
