"""A log was truncated below acknowledged data: by an unclean leader election, or a lost log.

What it looks like: completed transactions of several producers have neither data nor marker in a
partition that still has older data, or whose log begins anew at offset 0; or two copies have
different batches at the same offsets under different leader epochs.

Why: a replica that lacked acknowledged batches became leader, and the others truncated their logs
to its end. All records after that offset are gone, although the producers got acknowledgements.

Evidence: the coordinator's Prepare and Complete records of transactions that have no record in the
partition. If the dump has the old leader's copy: the batches that only that copy has. Without that
only `__cluster_metadata` proves it: behind the decision, in each partition that is concerned, a
leader was elected that was neither in sync nor eligible, and no batch of the partition is of a
moment between the two.

Look-alikes: skipped markers: there the data are in the log and only the marker is not, in every
partition of the transaction; a cut that took no more than that is told by `__cluster_metadata`
alone, and so is a skipped ABORT of a transaction that had no data there. Copies that are equal
again behind their difference: a cut takes all up to the end, so one of them was truncated too
little (KAFKA-6361). Retention: it removes the beginning of a log, never the
end. A lagging follower: its copy only ends earlier. Two clusters in one dump. Copies whose first
difference has one leader epoch in both: no election is the reason.

Known bug: none; `unclean.leader.election.enable=true`, elections forced by an operator, or a broker
whose disk was lost or restored from an older state, or that lost the end of its log with its power
and was the last in sync (KIP-966).
"""

from jobs.incidents.offset_steps import READERS_NAMED, abort_offsets, of_clients
from jobs.incidents.outcome_steps import INVISIBLE, VISIBLE, correct_results, produce_again
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
from jobs.model.commands import DESCRIBE_GROUPS, DESCRIBE_TOPIC, EXPORT_TOPIC

ALTER_TOPIC = (
    "kafka-configs.sh --bootstrap-server HOST:PORT --alter --entity-type topics "
    "--entity-name {topic} --add-config "
)
CUT = (DIVERGED, LOST)
COMMITTED = "a transaction that was committed: save its records first (read_uncommitted)"
LOSSES = ("records_lost", "plain_records_lost")
# Of what was cut off, also where a part of it is still there, in front of the cut.
FOLLOWS = (
    MISSING_MARKER, "hanging_transaction", "open_data_of_completed_transaction", "lso_stuck",
    "offset_commit_outcome_mismatch", "committed_output_without_offsets", "hw_beyond_log_end",
    "pending_offsets_stuck", "open_transaction_overdue", "offset_commit_beyond_log_end",
    "epoch_bump_inside_open_txn", DIVERGED_ALIKE,
)  # fmt: skip
# Of what was written since, or is left of what was cut off: none of it ends in front of the cut.
BEHIND = (
    "sequence_gap", "sequence_nonzero_at_new_epoch",
    "torn_transaction", "marker_outcome_mismatch", "txnindex_missing_entry", "txnindex_extra_entry",
    "leader_epoch_regression", "marker_without_transaction",
)  # fmt: skip

SIGNATURE = Signature(
    name="unclean_election",
    title="A log was truncated below acknowledged data",
    why=(
        "A replica without these records became leader: by an unclean election, or because it had "
        "lost the end of its log. Where the coordinator had completed their transactions, the "
        "producers saw the commits succeed."
    ),
    explains=lambda finding: (
        finding.one_of(*CUT)
        | (finding.one_of(*FOLLOWS) & finding.beside(*CUT))
        | (finding.one_of(*BEHIND) & finding.behind(*CUT))
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
            "Export the lost records from that copy, up to its log end: they lie above its high "
            "watermark. What lies behind a transaction that is open there needs --isolation "
            "read_uncommitted, into a folder of its own: two exports in one folder hold the same "
            "records twice",
            command=EXPORT_TOPIC,
            before="the copy is readable, and RESCUED has no other export of the topic",
            check="the table record has the offsets that are listed as lost",
            of=LOSSES,
            offsets=False,
        ),
        Step(
            "Groups that had read what is lost have committed offsets behind it, and skip what the "
            "new leader wrote to the same offsets. Stop their members, and set each group whose "
            "commit is older than the election back to the first lost offset of the partition. "
            f"{READERS_NAMED}",
            command=DESCRIBE_GROUPS,
            before="the group has not gone back by itself (OffsetForLeaderEpoch, KIP-320)",
            check="no commit from before the election lies behind the first lost offset",
            of=LOSSES,
            offsets=False,
        ),
        *of_clients(
            *end_steps(
                "Abort the transactions that are still open on the new leader. Their markers were "
                "truncated",
                cannot=COMMITTED,
            )
        ),
        correct_results(),
        *abort_offsets(*LOSSES, INVISIBLE, back=(VISIBLE,)),
        produce_again(),
        Step(
            "Produce the lost records again, and of the export only these. They are then at the "
            "end of the partition: consumers get them after newer records of the same key",
            before="no application has produced them again by itself",
            cannot="their order among the records written since",
            reversible=False,
            of=LOSSES,
            offsets=False,
        ),
        Step(
            "Set unclean.leader.election.enable=false for the topic",
            command=f"{ALTER_TOPIC}unclean.leader.election.enable=false",
            check="kafka-configs.sh --describe shows it",
            offsets=False,
        ),
        Step(
            "Set min.insync.replicas of the topic to 2, if it is 1. With fewer than 3 replicas, "
            "producers with acks=all would fail whenever one is offline, or always",
            command=f"{ALTER_TOPIC}min.insync.replicas=2",
            before=(
                "the topic has at least 3 replicas, and its min.insync.replicas is below 2, by: "
                f"{DESCRIBE_TOPIC}"
            ),
            check="kafka-configs.sh --describe shows it, and producers with acks=all go on",
            offsets=False,
        ),
    ),
)
