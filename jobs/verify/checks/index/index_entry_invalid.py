"""An entry of an offset index sends a reader to the wrong place.

What it finds: an entry of an `.index` whose position is not that of a batch or lies behind the
log, whose offset lies below the batch at its position or not in front of the batch of the next
entry, or outside its segment; and entries that do not rise.

Why it is wrong: a reader that asks for an offset begins at the position of the last entry at or
below it (OffsetIndex.lookup). From a place inside a batch it reads nonsense, and what lies in front
of where it begins it never gets.

When it is legal: the index of what a broker had not flushed when it was killed is rebuilt when it
starts, and that of a running broker is copied at another moment than its log. Zeros at the end are
room for more. Which offset of an append is noted is not judged: leaders and followers, the cleaner
and the releases differ.

Evidence: the entry, and the batch around its position or the one whose offsets it contradicts.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.contexts.side_fault import index_excuses
from udfs.wire.side_files import index_rules as rules


def _expected():  # type: ignore[no-untyped-def]
    what = F.col("what")
    return (
        F.when(what == rules.ORDER, F.lit("offsets and positions above those of the entry before"))
        .when(what == rules.OUTSIDE, F.lit("an offset of its segment"))
        .when(what == rules.BEHIND_END, F.lit("a position in the log"))
        .when(what == rules.NO_BATCH, F.lit("the position of a batch"))
        .when(what == rules.OFFSET_BELOW_BATCH, text("an offset of at least {log_offset}"))
        .otherwise(text("an offset below {log_offset}, where the next entry points to"))
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
        Proof("the batch that shows it", "log_file", "position", "length"),
    ),
    message=lambda: text(
        "Entry {ordinal} of the offset index sends readers of offset {entry_offset} to byte "
        "{entry_value}, where they cannot find it."
    ),
    remedy=lambda: F.lit(
        "Stop the broker, delete this .index file, and start it: the index is rebuilt."
    ),
)
