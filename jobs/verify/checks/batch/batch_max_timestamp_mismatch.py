"""No record of a batch has the batch's maximum timestamp.

What it finds: a batch with client timestamps whose maximum timestamp in the header is not that of
any of its records.

Why it is wrong: time look-ups and time-based retention use the header.

When it is legal: very old brokers and some clients set it carelessly.

Evidence: the batch.
"""

from jobs.verify.check import WARNING, Check, text
from jobs.verify.contexts.frame import has_fault
from jobs.verify.verdict import VERSION_DEPENDENT, suspect
from udfs.wire.batches import faults

CHECK = Check(
    code="batch_max_timestamp_mismatch",
    severity=WARNING,
    context="frame",
    source="LogValidator.validateRecordTimestamps",
    fires=lambda: has_fault(faults.MAX_TIMESTAMP_MISMATCH),
    excuses=(suspect(VERSION_DEPENDENT),),
    expected=lambda: text("{found_value} ms, the largest timestamp of the records"),
    found=lambda: text("{max_timestamp} ms"),
    message=lambda: text(
        "The header of the batch at offset {offset_first} has maximum timestamp {max_timestamp} "
        "ms. The largest timestamp of its records is {found_value} ms."
    ),
    needs_records=True,
)
