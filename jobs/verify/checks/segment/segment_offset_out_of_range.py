"""A segment holds offsets that its name excludes.

What it finds: a segment with a batch below its base offset, at or above the base offset of the next
segment, or more than 2147483647 above its own.

Why it is wrong: a broker looks an offset up in the segment whose name is next below it
(LogSegment), so the records cannot be found, or others are found instead.

When it is legal: never, but for leftovers of an interrupted cleaner swap, which are not read.

Evidence: the batch that lies outside.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from udfs.wire.batches.batch_layout import MAX_OFFSET_SPAN

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
    expected=lambda: text("offsets from {base_offset} to below {next_base_offset}"),
    found=lambda: text("offsets from {lowest_offset} to {highest_offset}"),
    message=lambda: text(
        "The segment with base offset {base_offset} holds offsets {lowest_offset} to "
        "{highest_offset}, but the next segment begins at {next_base_offset}."
    ),
)
