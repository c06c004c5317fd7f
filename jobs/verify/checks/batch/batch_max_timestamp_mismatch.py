"""The largest timestamp of a batch is that of no record.

What it finds: a batch with client timestamps whose largest timestamp is not that of any record.

Why it is wrong: look-ups by time and retention use the header and go wrong.

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
        "The header of the batch at offset {offset_first} gives {max_timestamp} ms as largest "
        "timestamp; that of its records is {found_value} ms."
    ),
    needs_records=True,
)
