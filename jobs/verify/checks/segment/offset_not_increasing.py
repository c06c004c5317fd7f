"""Offsets go back or are used twice.

What it finds: a batch whose base offset is not above the last offset of the batch before it.

Why it is wrong: the leader assigns offsets in order and a follower refuses others
(UnifiedLog.append). If two records have one offset, a consumer gets at most one of them.

When it is legal: above the high watermark, a truncated tail may have been copied twice.

Evidence: the batch before and the batch that goes back.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.settled import unstable_tail

CHECK = Check(
    code="offset_not_increasing",
    severity=ERROR,
    context="offset_discontinuity",
    source="UnifiedLog.append",
    fires=lambda: F.col("discontinuity") == "overlap",
    excuses=(unstable_tail("base_offset"),),
    expected=lambda: text("base offset above {previous_last_offset}"),
    found=lambda: text("base offset {base_offset}"),
    proofs=(
        Proof("the batch before", "previous_file", "previous_position", "previous_length"),
        Proof("the batch that goes back"),
    ),
    message=lambda: text(
        "A batch begins at offset {base_offset}, but the batch before it ends at offset "
        "{previous_last_offset}."
    ),
)
