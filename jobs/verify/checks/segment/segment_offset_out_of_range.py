"""A segment has offsets that its name excludes.

What it finds: a segment with a batch below its base offset, at or above the base offset of the next
segment, or more than 2147483647 above its own.

Why it is wrong: a broker looks up an offset in the segment with the highest base offset at or below
it (LogSegment), so these records are not found, or others are found instead.

When it is legal: never in a log of one moment. The copy of a running broker may have a segment
from before a truncation, and the next one, at or above the high watermark, from after it.
Compressed messages of magic 0 or 1 may reach below the first segment: a follower began there,
inside of them. Files left over from an interrupted cleaner swap are not read.

Evidence: the batch that is out of range.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.verdict import UNSTABLE_TAIL, VERSION_DEPENDENT, inconclusive, suspect
from udfs.rules.extent import is_replicated
from udfs.rules.logic import surely
from udfs.wire.batches.batch_layout import MAX_OFFSET_SPAN


def _truncated_since() -> Column:
    """Whether the segment alone is of before a truncation, and the next one is of after it."""
    own = (F.col("lowest_offset") >= F.col("base_offset")) & (
        F.col("highest_offset") - F.col("base_offset") <= MAX_OFFSET_SPAN
    )
    above: Column = ~is_replicated(F.col("next_base_offset"), F.col("replicated_below"))
    return own & ~F.col("clean_shutdown") & above


def _begins_within_a_wrapper() -> Column:
    """Whether a follower may have begun its log at the leader's log start, inside of a wrapper.

    Of magic 0 and 1 only the last offset of what is appended was compared with the log end
    (`Log.append`, up to 3.0); a batch of magic 2 makes the log begin anew (KAFKA-6975).
    """
    first = (F.col("base_offset") == F.col("first_base")) & (F.col("byte_position") == 0)
    return (
        first
        & (F.col("lowest_offset") < F.col("base_offset"))
        & surely(F.col("last_legacy_offset") >= F.col("base_offset"))
    )


CHECK = Check(
    code="segment_offset_out_of_range",
    severity=ERROR,
    context="segment",
    source="LogSegment.append",
    fires=lambda: (
        (F.col("lowest_offset") < F.col("base_offset"))
        | (F.col("highest_offset") >= F.col("next_base_offset"))
        | (F.col("highest_offset") - F.col("base_offset") > MAX_OFFSET_SPAN)
    ),
    excuses=(
        inconclusive(UNSTABLE_TAIL, _truncated_since),
        suspect(VERSION_DEPENDENT, _begins_within_a_wrapper),
    ),
    expected=lambda: F.when(
        F.col("next_base_offset").isNull(), text("offsets from {base_offset} on")
    ).otherwise(text("offsets from {base_offset} to below {next_base_offset}")),
    found=lambda: text("offsets from {lowest_offset} to {highest_offset}"),
    message=lambda: (
        F.when(
            F.col("lowest_offset") < F.col("base_offset"),
            text(
                "The segment with base offset {base_offset} has offset {lowest_offset}, which is "
                "below its base offset."
            ),
        )
        .when(
            F.col("highest_offset") >= F.col("next_base_offset"),
            text(
                "The segment with base offset {base_offset} has offset {highest_offset}, but the "
                "next segment begins at offset {next_base_offset}."
            ),
        )
        .otherwise(
            text(
                "The segment with base offset {base_offset} has offset {highest_offset}, more than "
                "{most} above its base offset.",
                most=F.lit(MAX_OFFSET_SPAN),
            )
        )
    ),
)
