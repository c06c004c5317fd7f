"""A compressed message of magic 0 or 1 breaks the rules for what it holds.

What it finds: a wrapper whose messages do not fit it: one with another checksum, one that is
compressed itself, none at all, or a last offset behind that of the wrapper.

Why it is wrong: consumers stop at such a batch with InvalidRecordException, or with
CorruptRecordException where they verify checksums.

When it is legal: never. Some versions of librdkafka left the offset of the wrapper at 0; then the
offsets inside count.

Evidence: the wrapper. Where it cannot be opened its first offset is not known, and so is not a gap
in front of it.
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
        .otherwise(F.lit("a message with a higher offset than its own"))
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
        "The compressed message at offset {offset_last} holds {what}.", what=_what()
    ),
)
