"""A compressed message of magic 0 or 1 breaks the rules for its inner messages.

What it finds: a wrapper with an inner message that fails its checksum, is compressed itself, or has
an offset after that of the wrapper; or a wrapper without messages.

Why it is wrong: consumers stop at such a batch with InvalidRecordException, or with
CorruptRecordException if they verify checksums.

When it is legal: never. Some versions of librdkafka left the offset of the wrapper at 0; then the
inner offsets count.

Evidence: the wrapper. If it cannot be opened, its first offset is not known, and neither is a gap
before it.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.contexts.frame import has_fault
from udfs.wire.batches import faults


def _what() -> Column:
    return (
        F.when(has_fault(faults.WRAPPER_INNER_CRC), F.lit("a message that fails its checksum"))
        .when(has_fault(faults.WRAPPER_NESTED), F.lit("a message that is compressed itself"))
        .when(has_fault(faults.WRAPPER_EMPTY), F.lit("no message"))
        .otherwise(F.lit("a message with a higher offset than the wrapper"))
    )


CHECK = Check(
    code="legacy_wrapper_invalid",
    severity=ERROR,
    context="frame",
    source="AbstractLegacyRecordBatch.DeepRecordsIterator",
    fires=lambda: has_fault(faults.WRAPPER_INVALID),
    excuses=(),
    expected=lambda: F.lit("plain messages with matching checksums, up to the wrapper's offset"),
    found=_what,
    message=lambda: text(
        "The compressed message at offset {offset_last} has {what}.", what=_what()
    ),
)
