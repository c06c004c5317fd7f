"""A replica must be fetched again: its side files or its ranges do not fit its log.

What it looks like: holes in one copy that others do not have, checkpoints beyond the log, indexes
and snapshots that contradict the batches, on one broker.

Why: a broker that was restored from an older state, files that were copied by hand, or state that
was not rebuilt after a crash. The records are right in another copy, or right here with wrong side
files.

Evidence: the entry of the side file and the batch that contradicts it.

Look-alikes: damage: there the bytes of batches are wrong. An unclean election: there batches of two
histories are whole. Skipped markers, or a late write: there the cleaner never passes the data.

Known bug: KAFKA-7866 and other failed appends to side files; KAFKA-8351, a cleaner that took the
markers of data that it kept (up to 2.2.1).
"""

from jobs.incidents.signature import (
    BROKER,
    CLEANED_DATA,
    DIVERGED_ALIKE,
    DIVERGED_CLEANED,
    MISSING_MARKER,
    OPEN_DATA,
    Signature,
    Step,
    abort_step,
    of_both,
)

STALE = (
    "replica_range_hole", "replica_divergence", DIVERGED_CLEANED, DIVERGED_ALIKE, "offset_gap",
    "hw_beyond_log_end",
    "hw_below_log_start", "log_start_beyond_end", "recovery_point_beyond_log_end",
    "leader_epoch_checkpoint_mismatch", "leader_epoch_regression", "index_entry_invalid",
    "timeindex_invalid", "txnindex_missing_entry", "txnindex_extra_entry",
    "txnindex_empty_transaction", "txnindex_wrong_first_offset", "txnindex_wrong_lso",
    "snapshot_state_mismatch", "snapshot_foreign_producer", CLEANED_DATA,
    "aborted_data_below_cleaned_bound", "offset_not_increasing",
)  # fmt: skip
# The cleaner passes decided data only: these have had a marker.
FOLLOWS = (
    MISSING_MARKER, OPEN_DATA, "hanging_transaction", "lso_stuck", "open_transaction_overdue",
)  # fmt: skip

SIGNATURE = Signature(
    name="stale_replica",
    title="A copy and its side files do not fit together: fetch or rebuild it",
    why="Indexes, snapshots and checkpoints follow from the batches, and here they do not.",
    explains=lambda finding: (
        finding.one_of(*STALE) | (finding.one_of(*FOLLOWS) & of_both(finding, CLEANED_DATA))
    ),
    key=BROKER,
    steps=(
        Step(
            "Stop the broker, move the index, snapshot and txnindex files of the partition away "
            "(keep them), and start it: it rebuilds them from the log",
            before="another in-sync replica can lead the partition",
            check="an audit of a new dump has no finding on this broker",
        ),
        Step(
            "Where ranges are missing, move the whole folder of the partition away, so that the "
            "broker fetches it again from its leader",
            before="a replica without the hole is in sync and leads",
            cannot="offsets that no replica has",
            reversible=False,
        ),
        abort_step(
            "Where no replica has the marker of data that the cleaner has passed, check that their "
            "transaction is still open, and abort it",
            cannot="a transaction that was committed: save its records first (read_uncommitted)",
        ),
    ),
)
