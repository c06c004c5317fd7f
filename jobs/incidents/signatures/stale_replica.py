"""A replica must be fetched again: its side files or its ranges do not fit its log.

What it looks like: holes in one copy that others do not have, checkpoints beyond the log, indexes
and snapshots that contradict the batches, on one broker.

Why: a broker that was restored from an older state, files that were copied by hand, or state that
was not rebuilt after a crash. The records are right in another copy, or right here with wrong side
files.

Evidence: the entry of the side file and the batch that contradicts it.

Look-alikes: damage: there the bytes of batches are wrong. An unclean election: there batches of two
histories are whole.

Known bug: KAFKA-7866 and other failed appends to side files.
"""

from jobs.incidents.signature import BROKER, Signature, Step

STALE = (
    "replica_range_hole", "replica_divergence", "offset_gap", "hw_beyond_log_end",
    "hw_below_log_start", "log_start_beyond_end", "recovery_point_beyond_log_end",
    "leader_epoch_checkpoint_mismatch", "leader_epoch_regression", "index_entry_invalid",
    "timeindex_invalid", "txnindex_missing_entry", "txnindex_extra_entry",
    "txnindex_empty_transaction", "txnindex_wrong_first_offset", "txnindex_wrong_lso",
    "snapshot_state_mismatch", "snapshot_foreign_producer", "cleaned_data_without_marker",
    "aborted_data_below_cleaned_bound",
)  # fmt: skip

SIGNATURE = Signature(
    name="stale_replica",
    title="A copy and its side files do not fit together: fetch or rebuild it",
    why="Indexes, snapshots and checkpoints follow from the batches, and here they do not.",
    explains=lambda finding: finding.one_of(*STALE),
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
    ),
)
