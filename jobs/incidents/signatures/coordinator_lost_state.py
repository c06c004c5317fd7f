"""A coordinator lost or forgot records that it had written.

What it looks like: records of `__transaction_state` in an order that no coordinator writes; markers
whose coordinator epoch went back; markers without a Prepare record, or with both outcomes; a
Prepare record that is never completed; copies of the coordinator's log that differ; transactions
that hang, of a producer whose earlier ones a coordinator committed, without a decision in its log.

Why: the coordinator's log was truncated or compacted wrongly, as by an unclean leader election of
its partition, or a coordinator went on after it had lost its partition. A broker that comes back
with an empty disk makes the partition anew, at offset 0: transactional ids get new producer ids,
and nobody ends what the old ones had begun.

Evidence: the two records of the id, or the marker and the place where its decision should be.

Look-alikes: an unclean leader election of a topic partition: there the coordinator's own log is
complete. An operator's abort: its marker has the epoch of the data. A marker that was changed on
disk: there the transaction index agrees with the decision, and not with the marker. A dump
whose copies were taken at different moments.

Known bug: KAFKA-16352, KAFKA-19999, KAFKA-9777 for decisions that are never completed. A COMMIT
that has no decision of its own, under transaction.version 0 or 1, may have been sent a second time,
and have come when the next transaction of its epoch had begun: KAFKA-14402, and KAFKA-15468 up to
3.7, by which a coordinator loads its log again while it leads. Nothing of the log is lost then.
"""

from jobs.incidents.offset_steps import ENDS, abort_offsets, correct_groups, of_clients
from jobs.incidents.outcome_steps import INVISIBLE, VISIBLE, correct_results, produce_again
from jobs.incidents.signature import (
    DECISION_LOST,
    FORGOTTEN,
    UNDECIDED_MARKER,
    UNLISTED,
    UNLISTED_MARKER,
    Signature,
    Step,
    end_steps,
    of_one_end,
)

STATE = (
    "txnlog_invalid_transition", "txnlog_pid_regression", "txnlog_epoch_regression",
    "txnlog_complete_without_prepare", "txnlog_replica_divergence", "txnlog_partitions_invalid",
    "txnlog_state_invalid", "txnlog_undecodable", "txnlog_wrong_partition", "txnlog_batch_shape",
    "txnlog_epoch_invalid", "txnlog_epoch_jump", "txnlog_first_epoch_nonzero", "txnlog_pid_changed",
    "txnlog_start_timestamp_invalid", "txnlog_timeout_invalid", "txnlog_timeout_changed",
    "txnlog_tombstone_invalid", "txnlog_unknown_tag", "txnlog_update_timestamp_regression",
    "txnlog_overdue_transaction", "coordinator_epoch_regression", "prepare_never_completed",
    "marker_pending", "marker_before_prepare", "marker_coordinator_epoch_mismatch",
    UNDECIDED_MARKER, UNLISTED_MARKER, "marker_protocol_mixed",
    "marker_outcome_mismatch", "epoch_committed_and_aborted", "conflicting_markers",
)  # fmt: skip

# Of a producer that the log has lost.
FOLLOWS = ("pending_offsets_stuck", "lso_stuck")

# What the records before and behind the lost ones make of the data of such a producer.
OF_LOST_DECISION = (
    "late_write_after_marker", "epoch_bump_inside_open_txn", "marker_stale", "hanging_transaction",
    "open_transaction_overdue", *UNLISTED, *FOLLOWS,
)  # fmt: skip

# A marker that nobody decided so, and what the other partition of its transaction shows of it.
CONTRADICTED = ("marker_outcome_mismatch", "epoch_committed_and_aborted", UNDECIDED_MARKER)
OF_OUTPUT = ("offset_commit_outcome_mismatch", "committed_output_without_offsets")

# A decision that is not carried out.
NOT_COMPLETED = ("prepare_never_completed", "marker_pending")
DIFFERENT_COPIES = "txnlog_replica_divergence"

# The transactions that no coordinator ends: their outcome was lost with the log.
OF_FORGOTTEN = tuple(
    step._replace(where=(FORGOTTEN,))
    for step in (
        *of_clients(
            *end_steps(
                "Abort the transactions that no coordinator knows any more",
                cannot="its records do not come back: read_committed consumers will never see "
                "them; save them first",
            )
        ),
        *abort_offsets(),
    )
)

SIGNATURE = Signature(
    name="coordinator_lost_state",
    title="A transaction coordinator lost or contradicted its own state",
    why="The coordinator's log contradicts itself, or the markers in the partitions.",
    explains=lambda finding: (
        finding.one_of(*STATE, FORGOTTEN)
        | (finding.one_of(*OF_LOST_DECISION) & of_one_end(finding, DECISION_LOST))
        | (finding.one_of(*FOLLOWS) & finding.of_producer(FORGOTTEN))
        | (finding.one_of(*OF_OUTPUT) & finding.of_moment(*CONTRADICTED))
        | (finding.one_of(*UNLISTED) & finding.of_both(UNLISTED_MARKER, UNDECIDED_MARKER))
    ),
    proven_by=(DIFFERENT_COPIES, "txnlog_invalid_transition", FORGOTTEN),
    known_bug=(
        "KAFKA-16352, KAFKA-19999 and KAFKA-9777, where a decision is never completed; KAFKA-14402 "
        "and KAFKA-15468 (up to 3.7), where a marker was sent a second time"
    ),
    steps=(
        Step(
            "Compare the records of the transactional ids that the findings name with the markers "
            "in their partitions. Where they contradict each other, keep these producers stopped "
            "until it is known which of them is right",
        ),
        Step(
            "List the transactional ids and their states (brokers from 3.0 on)",
            command="kafka-transactions.sh --bootstrap-server HOST:PORT list",
            check="none stays in PrepareCommit or PrepareAbort",
            where=NOT_COMPLETED,
        ),
        Step(
            "Move the leader of the __transaction_state partition. The new coordinator loads the "
            "log and sends the markers of its decisions again. Where the partitions have all "
            "markers already, of transaction.version 2, their leaders reject them (KAFKA-19999): "
            "upgrade these brokers first",
            before="all replicas of that partition are in sync",
            check="the ids leave PrepareCommit and PrepareAbort",
            where=NOT_COMPLETED,
            unless=(DIFFERENT_COPIES, FORGOTTEN),
        ),
        Step(
            "Copies of a partition of __transaction_state differ: do not move its leader, since "
            "another copy may have other decisions, whether it is in sync or not. Stop each broker "
            "whose copy differs from that of the leader, move its folder of this partition away "
            "(keep it), and start the broker. It fetches the leader's copy",
            before=(
                "the leader's copy has the decisions whose markers are in the partitions, and the "
                "leader stays while the other brokers are stopped"
            ),
            check="an audit of a new dump has no txnlog_replica_divergence",
            cannot="markers that were written by the decisions of the other copy",
            reversible=False,
            where=(DIFFERENT_COPIES,),
        ),
        Step(
            "A COMMIT without a decision, while other transactions of its producer epoch have one: "
            "it may have been sent twice, and the second one have come late. Then the log of the "
            "coordinator lacks nothing, and what that one ended had not been committed. Brokers "
            "that take a marker once only have transaction.version 2 (KIP-890)",
            where=(DECISION_LOST,),
            unless=(FORGOTTEN,),
        ),
        Step(
            "Look for the copy of the __transaction_state partitions that has these producers and "
            "their decisions: the disk that was replaced, another replica, a backup. Keep it. It "
            "tells which of the transactions were decided, and how",
            cannot="a decision that no copy has",
            where=(FORGOTTEN, DECISION_LOST),
        ),
        *OF_FORGOTTEN,
        # An abort cannot be taken back: what was decided is looked for before.
        *(step._replace(unless=(FORGOTTEN,)) for step in ENDS),
        correct_results(),
        *correct_groups(INVISIBLE, VISIBLE),
        produce_again(),
    ),
)
