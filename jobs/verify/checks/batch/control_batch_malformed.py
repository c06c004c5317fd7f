"""A marker cannot be read.

What it finds: a control batch that is not transactional, has a sequence or several records, or
whose control record has a key or value that is too short.

Why it is wrong: brokers write markers in one form only. A consumer that cannot read the marker
never leaves the transaction.

When it is legal: never in a user topic. The cleaner may remove the control record of a marker,
which is legal.

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.contexts.frame import has_fault
from schemas.topics import METADATA_TOPIC
from udfs.wire.batches import faults

# Its control batches are of other types (KRaft) and belong to no transaction.

CHECK = Check(
    code="control_batch_malformed",
    severity=ERROR,
    context="frame",
    source="EndTransactionMarker.deserialize",
    fires=lambda: has_fault(faults.CONTROL_MALFORMED) & (F.col("topic") != METADATA_TOPIC),
    excuses=(),
    expected=lambda: F.lit("one control record with the key and value of a marker"),
    found=lambda: text("attributes {attributes}, {count} records, sequence {base_sequence}"),
    message=lambda: text("The control batch at offset {offset_first} is not a valid marker."),
)
