"""The leader epochs of the log are not those of its leader-epoch-checkpoint.

What it finds: batches whose partition leader epoch is another one than that of the newest entry of
leader-epoch-checkpoint at or below them, and entries of that file that do not rise.

Why it is wrong: a broker adds an entry before the first batch of an epoch and takes entries away
with the batches that it truncates (LeaderEpochFileCache). Replicas agree by this file where to
truncate, so a wrong entry makes a follower keep, or drop, the wrong records.

When it is legal: the checkpoint of a running or killed broker may be older than its log, and lack
the newest epochs; above the high watermark a log may since have been truncated. Batches of magic 0
and 1 have no epoch, and one of them clears the file; nothing is said in front of the first entry,
which moves with the log start. An entry without batches is legal too: the leader wrote nothing.

Evidence: the first batch that contradicts, and the file.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.verdict import (
    DUMP_BEFORE_EVENT,
    UNSTABLE_TAIL,
    VERSION_DEPENDENT,
    explained,
    inconclusive,
    suspect,
)
from udfs.wire.side_files.index_rules import ORDER

CHECK = Check(
    code="leader_epoch_checkpoint_mismatch",
    severity=WARNING,
    context="side_fault",
    source="LeaderEpochFileCache.assign",
    fires=lambda: F.col("side_kind") == "leader_epoch_checkpoint",
    excuses=(
        explained(
            DUMP_BEFORE_EVENT,
            lambda: ~F.col("clean_shutdown") & (F.col("leader_epoch") > F.col("newest_epoch")),
        ),
        inconclusive(
            UNSTABLE_TAIL,
            lambda: ~F.col("clean_shutdown") & (F.col("log_offset") >= F.col("stable_below")),
        ),
        suspect(VERSION_DEPENDENT),
    ),
    expected=lambda: F.when(
        F.col("what") == ORDER, F.lit("epochs that rise, from offsets that do not fall")
    ).otherwise(text("leader epoch {entry_value}, from offset {entry_offset} on")),
    found=lambda: F.when(
        F.col("what") == ORDER,
        text("an entry of leader epoch {entry_value} from offset {entry_offset} on behind it"),
    ).otherwise(text("{batches} batches of leader epoch {leader_epoch}")),
    proofs=(
        Proof("the first batch", "log_file", "position", "length"),
        Proof("the checkpoint", "side_file", "side_position", "side_length"),
    ),
    message=lambda: F.when(
        F.col("what") == ORDER,
        text(
            "The leader-epoch-checkpoint has an entry of leader epoch {entry_value} from offset "
            "{entry_offset} on behind one of a higher epoch or offset."
        ),
    ).otherwise(
        text(
            "From offset {log_offset} on batches have leader epoch {leader_epoch}, but by the "
            "leader-epoch-checkpoint all from offset {entry_offset} on have {entry_value}."
        )
    ),
)
