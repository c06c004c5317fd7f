"""The leader epochs of the log differ from its leader-epoch-checkpoint.

What it finds: batches whose partition leader epoch differs from the last entry of
leader-epoch-checkpoint at or below their offset, and entries of that file that do not rise.

Why it is wrong: a broker adds an entry before the first batch of an epoch and removes entries with
the batches that it truncates (LeaderEpochFileCache). Replicas use this file to agree where to
truncate, so a wrong entry makes a follower keep, or drop, the wrong records.

When it is legal: the checkpoint of a running or killed broker may be older than its log and lack
the newest epochs; above the high watermark a log may have been truncated since. Batches of magic 0
and 1 have no epoch, and one of them clears the file. Batches before the first entry are not judged,
because it moves with the log start offset. An entry without batches is legal too: that leader wrote
nothing.

Evidence: the first contradicting batch, and the file.
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
from udfs.rules.extent import is_replicated
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
            lambda: (
                ~F.col("clean_shutdown")
                & ~is_replicated(F.col("log_offset"), F.col("stable_below"))
            ),
        ),
        suspect(VERSION_DEPENDENT),
    ),
    expected=lambda: F.when(
        F.col("fault") == ORDER, F.lit("epochs that rise, from offsets that do not fall")
    ).otherwise(text("leader epoch {entry_value}, from offset {entry_offset} on")),
    found=lambda: F.when(
        F.col("fault") == ORDER,
        text("a later entry of leader epoch {entry_value} from offset {entry_offset} on"),
    ).otherwise(text("{batches} batches of leader epoch {leader_epoch}")),
    proofs=(
        Proof("the first batch", "log_file", "position", "length"),
        Proof("the checkpoint", "side_file", "side_position", "side_length"),
    ),
    message=lambda: F.when(
        F.col("fault") == ORDER,
        text(
            "The leader-epoch-checkpoint has an entry of leader epoch {entry_value} from offset "
            "{entry_offset} on after an entry of a higher epoch or offset."
        ),
    ).otherwise(
        text(
            "Batches from offset {log_offset} on have leader epoch {leader_epoch}. The "
            "leader-epoch-checkpoint gives epoch {entry_value} from offset {entry_offset} on."
        )
    ),
)
