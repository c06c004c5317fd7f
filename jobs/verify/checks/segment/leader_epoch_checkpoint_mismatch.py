"""The leader epochs of the log differ from its leader-epoch-checkpoint.

What it finds: batches whose partition leader epoch differs from the last entry of
leader-epoch-checkpoint at or below their offset, entries of that file that do not rise, and a log
whose first segment begins behind the first entry.

Why it is wrong: a broker adds an entry before the first batch of an epoch and removes entries with
the batches that it truncates (LeaderEpochFileCache). Replicas use this file to agree where to
truncate, so a wrong entry makes a follower keep, or drop, the wrong records. Where retention or
DeleteRecords raise the log start offset, the first entry moves there (truncateFromStart), so the
first segments of a log that begins behind it are lost, or were not copied.

When it is legal: the checkpoint of a running or killed broker may be older than its log and lack
the newest epochs; above the high watermark a log may have been truncated since. Batches of magic 0
and 1 have no epoch, and one of them clears the file. Batches before the first entry are not judged.
An entry without batches is legal too: that leader wrote nothing. Where a log begins is asked only
after a clean shutdown, and not where log-start-offset-checkpoint lists it, as of remote storage. A
broker that is stopped in the middle of retention may leave the old first entry: from 3.8 on that is
written by a scheduler that no longer runs then. A suspect for that reason.

Evidence: the first contradicting batch, and the file.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.verdict import (
    DUMP_BEFORE_EVENT,
    MISSING_RANGE,
    UNSTABLE_TAIL,
    VERSION_DEPENDENT,
    explained,
    inconclusive,
    suspect,
)
from udfs.rules.extent import is_replicated
from udfs.wire.side_files.index_rules import ORDER
from udfs.wire.side_files.leader_epochs import LOG_BEGINS_LATER


def _by_fault(order: Column, begins_later: Column, otherwise: Column) -> Column:
    """The words for an entry out of order, for the first of a log without its head, for others."""
    fault = F.col("fault")
    known = F.when(fault == ORDER, order).when(fault == LOG_BEGINS_LATER, begins_later)
    words: Column = known.otherwise(otherwise)
    return words


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
                & ~is_replicated(F.col("log_offset"), F.col("replicated_below"))
            ),
        ),
        suspect(MISSING_RANGE, lambda: F.col("fault") == LOG_BEGINS_LATER),
        suspect(VERSION_DEPENDENT),
    ),
    expected=lambda: _by_fault(
        F.lit("epochs that rise, from offsets that do not fall"),
        text("a log that begins at offset {entry_offset}"),
        text("leader epoch {entry_value}, from offset {entry_offset} on"),
    ),
    found=lambda: _by_fault(
        text("a later entry of leader epoch {entry_value} from offset {entry_offset} on"),
        text("the first segment begins at offset {first_base}"),
        text("{batches} batches of leader epoch {leader_epoch}"),
    ),
    proofs=(
        Proof("the first batch", "log_file", "position", "length"),
        Proof("the checkpoint", "side_file", "side_position", "side_length"),
    ),
    message=lambda: _by_fault(
        text(
            "The leader-epoch-checkpoint has an entry of leader epoch {entry_value} from offset "
            "{entry_offset} on after an entry of a higher epoch or offset."
        ),
        text(
            "The leader-epoch-checkpoint begins at offset {entry_offset}, the log at offset "
            "{first_base}. Retention moves the first entry, so the segments between are lost or "
            "were not copied, unless the broker was stopped in the middle of retention."
        ),
        text(
            "Batches from offset {log_offset} on have leader epoch {leader_epoch}. The "
            "leader-epoch-checkpoint gives epoch {entry_value} from offset {entry_offset} on."
        ),
    ),
)
