"""A record cannot be decoded.

What it finds: a record whose lengths do not add up, a negative header count, or an overlong varint;
in magic 0 and 1 a message whose key or value, or a wrapper whose last message, is cut off.

Why it is wrong: a consumer throws InvalidRecordException at it.

When it is legal: never. A key or value of any length below 0 is null, and overlong varints of up to
five bytes are taken as they are: both are legal.

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.contexts.frame import has_fault
from udfs.wire.batches import faults

CHECK = Check(
    code="batch_record_malformed",
    severity=ERROR,
    context="frame",
    source="DefaultRecord.readFrom",
    fires=lambda: has_fault(faults.RECORD_MALFORMED),
    excuses=(),
    expected=lambda: F.lit("records in the record format"),
    found=lambda: F.lit("a record that breaks the format"),
    message=lambda: text(
        "A record of the batch at offset {offset_first} breaks the record format."
    ),
    needs_records=True,
)
