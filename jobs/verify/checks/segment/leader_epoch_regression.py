"""The partition leader epoch goes down.

What it finds: a batch whose partition leader epoch is lower than that of an earlier batch.

Why it is wrong: every leader writes with a higher epoch than the previous one, and a follower
truncates records that are not in its leader's history (LeaderEpochFileCache). A lower epoch after a
higher one means that two histories were mixed in one log.

When it is legal: never within one replica's log below the high watermark.

Evidence: the batch before and the batch with the lower epoch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.settled import unstable_tail

CHECK = Check(
    code="leader_epoch_regression",
    severity=ERROR,
    context="offset_discontinuity",
    source="LeaderEpochFileCache.assign",
    fires=lambda: F.col("discontinuity") == "leader_epoch",
    excuses=(unstable_tail("base_offset"),),
    expected=lambda: text("leader epoch of at least {previous_leader_epoch}"),
    found=lambda: text("leader epoch {leader_epoch}"),
    proofs=(
        Proof("the batch before", "previous_file", "previous_position", "previous_length"),
        Proof("the batch with the lower epoch"),
    ),
    message=lambda: text(
        "The batch at offset {base_offset} was written under leader epoch {leader_epoch}, after a "
        "batch of leader epoch {previous_leader_epoch}."
    ),
)
