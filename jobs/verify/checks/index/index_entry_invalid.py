"""An entry of an offset index points to the wrong position.

What it finds: an entry of an `.index` whose position is not the start of a batch or is beyond the
end of the log; whose offset is below the batch at its position, not below the batch of the next
entry, or outside its segment; and entries that do not rise.

Why it is wrong: a reader of an offset starts at the position of the last entry at or below that
offset (OffsetIndex.lookup). From a position inside a batch it reads garbage, and it never sees the
batches before its starting position.

When it is legal: the index of data that a broker had not flushed when it was killed is rebuilt at
startup. The index of a running broker is copied at another moment than its log. Zeros at the end
are preallocated space. Which offset of an append is indexed is not judged, because leaders,
followers, the cleaner and the releases differ.

Evidence: the entry, and the batch around its position or the batch whose offsets it contradicts.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.contexts.side_fault import index_excuses
from jobs.verify.remedies import rebuild_index
from udfs.wire.side_files import index_rules as rules


def _expected():  # type: ignore[no-untyped-def]
    fault = F.col("fault")
    return (
        F.when(fault == rules.ORDER, F.lit("offsets and positions above those of the entry before"))
        .when(fault == rules.OUTSIDE, F.lit("an offset of its segment"))
        .when(fault == rules.BEHIND_END, F.lit("a position inside the log"))
        .when(fault == rules.NO_BATCH, F.lit("the position of a batch"))
        .when(fault == rules.OFFSET_BELOW_BATCH, text("an offset of at least {log_offset}"))
        .otherwise(text("an offset below {log_offset}, the batch of the next entry"))
    )


def _why() -> Column:
    fault = F.col("fault")
    return (
        F.when(
            fault == rules.ORDER, F.lit("One of the two is not above that of the entry before it.")
        )
        .when(fault == rules.OUTSIDE, F.lit("That offset is outside the segment."))
        .when(fault == rules.BEHIND_END, F.lit("The log file ends before that byte."))
        .when(fault == rules.NO_BATCH, F.lit("No batch begins at that byte."))
        .when(
            fault == rules.OFFSET_BELOW_BATCH,
            text("The batch there begins at offset {log_offset}."),
        )
        .otherwise(text("The batch of the next entry begins at offset {log_offset}, not above it."))
    )


CHECK = Check(
    code="index_entry_invalid",
    severity=WARNING,
    context="side_fault",
    source="OffsetIndex.lookup",
    fires=lambda: F.col("side_kind") == "offset_index",
    excuses=index_excuses(),
    expected=_expected,
    found=lambda: text("offset {entry_offset} at byte {entry_value}"),
    proofs=(
        Proof("the entry"),
        Proof("the batch that the entry contradicts", "log_file", "position", "length"),
    ),
    message=lambda: text(
        "Entry {ordinal} of the offset index maps offset {entry_offset} to byte {entry_value}. "
        "{why}",
        why=_why(),
    ),
    remedy=lambda: rebuild_index(".index"),
)
