"""A replica lacks records, or its side files contradict its log.

What it looks like: missing offsets in one copy that others have, checkpoints above the log end
offset, indexes and snapshots that contradict the batches, on one broker.

Why: a broker was restored from an older state, files were copied by hand, or state was not rebuilt
after a crash. The records are right in another copy, or they are right here and only the side files
are wrong. Or a marker was changed after the broker had written its index: then the index is right
(changed_marker, where the coordinator's decision shows it).

Evidence: the entry of the side file and the batch that contradicts it.

Look-alikes: damage: there the bytes of batches are wrong. An unclean leader election: there both
copies have valid batches, of different leaders. Skipped markers, or a late write: there the cleaner
never passes the data.

Known bug: KAFKA-7866 and other failed appends to side files; KAFKA-8351, a cleaner that removed the
markers of data that it kept (up to 2.2.1).
"""

from jobs.incidents.offset_steps import abort_offsets, of_clients
from jobs.incidents.signature import (
    BROKER,
    CLEANED_DATA,
    DIVERGED_ALIKE,
    DIVERGED_CLEANED,
    INDEXED_OUTCOME,
    MISSING_MARKER,
    OPEN_DATA,
    Signature,
    Step,
    end_steps,
    of_both,
)

STALE = (
    "replica_range_hole", "replica_divergence", DIVERGED_CLEANED, DIVERGED_ALIKE, "offset_gap",
    "hw_beyond_log_end",
    "hw_below_log_start", "log_start_beyond_end", "recovery_point_beyond_log_end",
    "leader_epoch_checkpoint_mismatch", "leader_epoch_regression", "index_entry_invalid",
    "timeindex_invalid", *INDEXED_OUTCOME,
    "txnindex_empty_transaction", "txnindex_wrong_first_offset", "txnindex_wrong_lso",
    "snapshot_state_mismatch", "snapshot_foreign_producer", CLEANED_DATA,
    "aborted_data_below_cleaned_bound", "offset_not_increasing",
)  # fmt: skip
# The cleaner passes decided data only: these have had a marker.
FOLLOWS = (
    MISSING_MARKER, OPEN_DATA, "hanging_transaction", "lso_stuck", "open_transaction_overdue",
)  # fmt: skip

COMMITTED = "a transaction that was committed: save its records first (read_uncommitted)"

SIGNATURE = Signature(
    name="stale_replica",
    title="A copy lacks records, or its side files contradict its log",
    why="A copy must equal its replicas, and its indexes and checkpoints must fit its batches.",
    explains=lambda finding: (
        finding.one_of(*STALE) | (finding.one_of(*FOLLOWS) & of_both(finding, CLEANED_DATA))
    ),
    key=BROKER,
    steps=(
        Step(
            "Find out which is wrong, the txnindex or the marker: one that was changed after the "
            "broker had written its index has another outcome than that. Compare the marker with "
            "the other replicas and with the decision in __transaction_state. Where they agree "
            "with the index, do not rebuild it from this log: consumers would then get the wrong "
            "outcome",
            where=INDEXED_OUTCOME,
        ),
        Step(
            "Stop the broker, move the index, snapshot and txnindex files of the partition away "
            "(keep them), and start it. It rebuilds them from the log",
            before="another in-sync replica can lead the partition",
            check="an audit of a new dump has no finding on this broker",
        ),
        Step(
            "Where offsets are missing, move the whole folder of the partition away. The broker "
            "then fetches it again from the leader",
            before="a replica that has these offsets is in sync and leads",
            cannot="offsets that no replica has",
            reversible=False,
        ),
        *of_clients(
            *end_steps(
                "The cleaner has passed data whose marker no replica has: abort their transaction",
                cannot=COMMITTED,
            )
        ),
        *abort_offsets(),
    ),
)
