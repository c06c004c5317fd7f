"""A log was truncated below acknowledged data: by an unclean leader election, or a lost log.

What it looks like: completed transactions of several producers have neither data nor marker in a
partition that still has older data, or two copies have different batches at the same offsets
under different leader epochs.

Why: a replica that lacked acknowledged batches became leader, and the others truncated their logs
to its end. All records after that offset are gone, although the producers got acknowledgements.

Evidence: the coordinator's Prepare and Complete records of transactions that have no record in the
partition. If the dump has the old leader's copy: the batches that only that copy has.

Look-alikes: skipped markers: there the data are in the log and only the marker is not. Retention:
it removes the beginning of a log, never the end. A lagging follower: its copy only ends earlier.
Two clusters in one dump. Copies whose first difference has one leader epoch in both: no election is
the reason.

Known bug: none; `unclean.leader.election.enable=true`, elections forced by an operator, or a broker
whose disk was lost or restored from an older state.
"""

from jobs.incidents.signature import (
    DIVERGED,
    DIVERGED_ALIKE,
    LOST,
    MISSING_MARKER,
    MOMENT,
    Signature,
    Step,
    end_steps,
)
from jobs.model.commands import EXPORT_TOPIC

CUT = (DIVERGED, LOST)
LOSSES = ("records_lost", "plain_records_lost")
FOLLOWS = (
    MISSING_MARKER, "hanging_transaction", "open_data_of_completed_transaction",
    "epoch_bump_inside_open_txn", "lso_stuck", "sequence_gap", "sequence_nonzero_at_new_epoch",
    "offset_commit_outcome_mismatch", "committed_output_without_offsets", "torn_transaction",
    "marker_outcome_mismatch", "txnindex_missing_entry", "txnindex_extra_entry",
    "leader_epoch_regression", "hw_beyond_log_end", "pending_offsets_stuck",
    "marker_without_transaction", "open_transaction_overdue", DIVERGED_ALIKE,
)  # fmt: skip

SIGNATURE = Signature(
    name="unclean_election",
    title="A log was truncated below acknowledged data (unclean leader election)",
    why=(
        "A replica without these records became leader. The coordinator had completed their "
        "transactions, so the producers saw the commits succeed."
    ),
    explains=lambda finding: (
        finding.one_of(*CUT) | (finding.one_of(*FOLLOWS) & finding.beside(*CUT))
    ),
    proven_by=(DIVERGED,),
    key=MOMENT,
    steps=(
        Step(
            "Keep the old leader's copy: stop that broker before it truncates its log, or copy its "
            "partition folders to another place",
            before="the old leader has not come back yet, or its copy is kept",
            check="the folder still has the offsets that are listed as lost",
            cannot="records that no copy has",
            of=LOSSES,
        ),
        Step(
            "Export the lost records from that copy",
            command=EXPORT_TOPIC,
            before="the copy is readable",
            check="the table record has the offsets that are listed as lost",
            of=LOSSES,
        ),
        *end_steps(
            "Abort the transactions that are still open on the new leader. Their markers were "
            "truncated",
            cannot="a transaction that was committed: save its records first (read_uncommitted)",
        ),
        Step(
            "Produce the lost records again. They are then at the end of the partition: consumers "
            "get them after newer records of the same key",
            before="no application has produced them again by itself",
            cannot="their order among the records written since",
            reversible=False,
            of=LOSSES,
        ),
        Step(
            "Set unclean.leader.election.enable=false and min.insync.replicas of at least 2 for "
            "the topic",
            command=(
                "kafka-configs.sh --bootstrap-server HOST:PORT --alter --entity-type topics "
                "--entity-name {topic} "
                "--add-config unclean.leader.election.enable=false,min.insync.replicas=2"
            ),
            check="kafka-configs.sh --describe shows both",
        ),
    ),
)
