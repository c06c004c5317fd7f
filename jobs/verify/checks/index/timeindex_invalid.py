"""An entry of a time index does not match its log.

What it finds: an entry of a `.timeindex` whose timestamp is not that of the batch with its offset,
that has an earlier batch with a later timestamp, or whose offset is outside the segment; and
entries that do not rise.

Why it is wrong: a reader of a timestamp starts at the offset of the last entry at or below it
(TimeIndex.lookup) and misses records before that offset. Retention by time takes the last entry as
the age of the whole segment, and deletes it too early or never.

When it is legal: as for the offset index, see `index_entry_invalid`. The offset may be that of any
record of the batch, because releases differ.

Evidence: the entry, and the batch that it contradicts.
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
        F.when(fault == rules.ORDER, F.lit("timestamps that rise, offsets that do not fall"))
        .when(fault == rules.OUTSIDE, F.lit("an offset of its segment"))
        .when(fault == rules.NOT_OF_BATCH, text("timestamp {log_timestamp} of its batch"))
        .otherwise(text("at least {log_timestamp}, the timestamp of the batch at {log_offset}"))
    )


def _why() -> Column:
    fault = F.col("fault")
    return (
        F.when(
            fault == rules.ORDER,
            F.lit(
                "The timestamp is not above that of the entry before it, or the offset is below."
            ),
        )
        .when(fault == rules.OUTSIDE, F.lit("That offset is outside the segment."))
        .when(
            fault == rules.NOT_OF_BATCH,
            text("In the log the batch with that offset has timestamp {log_timestamp}."),
        )
        .otherwise(
            text(
                "In the log an earlier batch, at offset {log_offset}, has the later timestamp "
                "{log_timestamp}."
            )
        )
    )


CHECK = Check(
    code="timeindex_invalid",
    severity=WARNING,
    context="side_fault",
    source="TimeIndex.lookup",
    fires=lambda: F.col("side_kind") == "time_index",
    excuses=index_excuses(),
    expected=_expected,
    found=lambda: text("timestamp {entry_value} at offset {entry_offset}"),
    proofs=(
        Proof("the entry"),
        Proof("the batch that the entry contradicts", "log_file", "position", "length"),
    ),
    message=lambda: text(
        "Entry {ordinal} of the time index maps timestamp {entry_value} to offset {entry_offset}. "
        "{why}",
        why=_why(),
    ),
    remedy=lambda: rebuild_index(".timeindex"),
)
