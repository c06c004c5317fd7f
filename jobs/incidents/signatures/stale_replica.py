"""A replica lacks records, or its side files contradict its log.

What it looks like: missing offsets in one copy that others have, checkpoints above the log end
offset, indexes and snapshots that contradict the batches, on one broker.

Why: a broker was restored from an older state, files were copied by hand, or state was not rebuilt
after a crash. The records are right in another copy, or they are right here and only the side files
are wrong. Or a marker was changed after the broker had written its index: then the index is right
(changed_marker, where the coordinator's decision shows it).

Evidence: the entry of the side file and the batch that contradicts it.

Look-alikes: damage: there the bytes of batches are wrong. An unclean leader election: there both
copies have valid batches, of different leaders, up to the end of the older one. Skipped markers, or
a late write: there the cleaner never passes the data.

Known bug: KAFKA-6361, a follower that truncates too little after two elections (up to 1.1;
KIP-279): the copies differ and are equal again behind that. KAFKA-7866 and other failed appends to
side files. A cleaner that removed the markers of data that it kept: KAFKA-8351 (up to 2.2.1),
KAFKA-13727 (up to 3.1.0; first it lost their entries in the .txnindex), KAFKA-14055 (up to 3.2.0).
"""

from jobs.incidents.offset_steps import abort_offsets, of_clients
from jobs.incidents.outcome_steps import INVISIBLE, VISIBLE
from jobs.incidents.signature import (
    BROKER,
    CLEANED_DATA,
    DIVERGED_ALIKE,
    DIVERGED_CLEANED,
    DIVERGED_WITHIN,
    INDEXED_OUTCOME,
    MISSING_MARKER,
    OPEN_DATA,
    Signature,
    Step,
    end_steps,
)

SNAPSHOTS = ("snapshot_state_mismatch", "snapshot_foreign_producer")
# Files from which a broker that starts makes others anew.
REBUILT = (
    "index_entry_invalid", "timeindex_invalid", *INDEXED_OUTCOME, "txnindex_malformed",
    "txnindex_wrong_first_offset", "txnindex_wrong_lso",
)  # fmt: skip
# Data that the cleaner passed, without the marker that decided them.
UNENDED = (CLEANED_DATA, "aborted_data_below_cleaned_bound")
STALE = (
    "replica_range_hole", "replica_divergence", DIVERGED_CLEANED, DIVERGED_ALIKE, DIVERGED_WITHIN,
    "offset_gap", "hw_beyond_log_end",
    "hw_below_log_start", "log_start_beyond_end", "recovery_point_beyond_log_end",
    "leader_epoch_checkpoint_mismatch", "leader_epoch_regression", "index_entry_invalid",
    "timeindex_invalid", *INDEXED_OUTCOME,
    "txnindex_wrong_first_offset", "txnindex_wrong_lso",
    *SNAPSHOTS, "snapshot_corrupt", "txnindex_malformed", CLEANED_DATA,
    "aborted_data_below_cleaned_bound", "offset_not_increasing",
)  # fmt: skip
LACKING = tuple(
    name for name in STALE if name not in (*REBUILT, *SNAPSHOTS, "snapshot_corrupt", *UNENDED)
)
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
        finding.one_of(*STALE) | (finding.one_of(*FOLLOWS) & finding.of_both(CLEANED_DATA))
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
            "Data are without the marker that they had: keep a copy of the indexes and producer "
            "snapshots of this partition, do not rebuild them, and stop its brokers cleanly only. "
            "These are the last that know the outcome. A broker that recovers the log without "
            "the marker opens the transaction again, or delivers what was aborted",
            check="describe-producers shows no open transaction, as before",
            where=UNENDED,
        ),
        Step(
            "An index is wrong: stop the broker, move it away with the .index file of its segment "
            "(keep them), and start the broker. It makes the indexes of a segment anew "
            "where its .index file is not there; a .txnindex that alone is not there counts as one "
            "without an aborted transaction",
            before="another in-sync replica can lead the partition, and no finding tells of damage "
            "in the segment: the broker would cut the log off there (LogSegment.recover)",
            check="an audit of a new dump has no finding on this broker",
            where=REBUILT,
            unless=UNENDED,
        ),
        Step(
            "Correct results that consumers of this broker computed from aborted records. The "
            "table consequence has their offsets",
            cannot="what they did with these records outside of Kafka",
            of=(VISIBLE,),
            offsets=False,
        ),
        Step(
            "Read the committed records again that this broker did not deliver. A group that has "
            "passed them gets them where it is set back to the first of them, and what lies behind "
            "a second time",
            before="the index is made anew, or another replica leads the partition",
            check="the offsets of the table consequence were read with read_committed",
            of=(INVISIBLE,),
            offsets=False,
        ),
        Step(
            "A producer snapshot is wrong: stop the broker, move this and all later .snapshot "
            "files of the partition away (keep them), and the file .kafka_cleanshutdown of the log "
            "directory, and start it. Without a snapshot, a broker that had stopped cleanly would "
            "begin with no producer and no open transaction (UnifiedLog.rebuildProducerState)",
            before="another in-sync replica can lead the partition, and no finding tells of damage "
            "in this log directory: the broker recovers all of its logs, and cuts each off there",
            check="an audit of a new dump has no finding on this broker, and its newest snapshot "
            "has producers",
            where=SNAPSHOTS,
            unless=UNENDED,
        ),
        Step(
            "A producer snapshot cannot be read: check the disk. When the broker loads the "
            "partition, it drops the file and goes on from an older snapshot and the log "
            "(ProducerStateManager.loadFromSnapshot)",
            where=("snapshot_corrupt",),
        ),
        Step(
            "Copies that differ and are equal again behind that: a follower truncated too little "
            "(KAFKA-6361, up to 1.1). Save both folders: each may have acknowledged records that "
            "the other lacks. Then stop the follower, move its folder of the partition away, and "
            "start it. It fetches the leader's copy",
            before="another in-sync replica leads the partition, and both folders are saved",
            cannot="the records that only the moved folder has: produce them again from it",
            reversible=False,
            where=(DIVERGED_WITHIN,),
        ),
        Step(
            "Where offsets are missing, move the whole folder of the partition away, and keep it: "
            "it may have records that no other copy has. The broker then fetches it again from "
            "the leader",
            before="a replica that has these offsets is in sync and leads",
            cannot="offsets that no replica has",
            reversible=False,
            where=LACKING,
            unless=UNENDED,
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
