"""Offsets are missing between two batches.

What it finds: a batch whose base offset is more than one above the last offset before it.

Why it is wrong: offsets are assigned without gaps (UnifiedLog.append), so records have been lost.

When it is legal: the cleaner removed the records of a compacted topic. The cleaner checkpoint shows
what this broker has compacted: all segments that begin below it. It is written at the end of a
pass, so if the broker did not stop cleanly, it does not cover all that was cleaned below the active
segment. Without that file the finding is only a suspect. It is also a suspect if the file does not
list the partition: another broker, or a pass that a kill interrupted, may have compacted it. That
is excluded if `__cluster_metadata` shows that cleanup.policy was always delete; if it shows
compact, the finding is inconclusive: a new replica fetches what the cleaner of its leader left.

Evidence: the batches on both sides of the gap.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.cleaned import cleaned_between
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.verdict import (
    CLEANED_RANGE,
    CONFIG_UNKNOWN,
    explained,
    inconclusive,
    suspect,
)
from schemas.dump_partition import CLEANED, CLEANING_UNKNOWN

CHECK = Check(
    code="offset_gap",
    severity=ERROR,
    context="offset_discontinuity",
    source="UnifiedLog.append",
    fires=lambda: F.col("discontinuity") == "gap",
    excuses=(
        explained(CLEANED_RANGE, lambda: cleaned_between(F.col("offset_first"))),
        inconclusive(
            CLEANED_RANGE, lambda: (F.col("cleaning") == CLEANED) | F.col("compacted_once")
        ),
        unstable_tail("base_offset"),
        inconclusive(
            CLEANED_RANGE,
            lambda: F.col("first_pass_possible") & (F.col("base_offset") <= F.col("newest_base")),
        ),
        suspect(CONFIG_UNKNOWN, lambda: F.col("cleaning") == CLEANING_UNKNOWN),
        suspect(CLEANED_RANGE, lambda: ~F.col("never_compacted")),
    ),
    expected=lambda: text("base offset {offset_first}"),
    found=lambda: text("base offset {base_offset}"),
    proofs=(
        Proof("the batch before", "previous_file", "previous_position", "previous_length"),
        Proof("the batch after the gap"),
    ),
    message=lambda: text(
        "Offsets {offset_first} to {offset_last} are missing. {cleaner}",
        cleaner=F.when(F.col("never_compacted"), "The partition was never compacted.").otherwise(
            "Nothing shows that the cleaner of this broker passed there."
        ),
    ),
)
