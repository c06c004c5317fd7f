"""The coordinator completed transactions without writing their markers.

What it looks like: the data of a completed transaction are in the log, and no marker follows. They
hang, or the producer's next marker decides them, whatever the coordinator had decided.

Why: while a broker is fenced after a restart, its partitions have no leader. The coordinator takes
such a partition for a deleted one and counts its marker as done.

Evidence: the Prepare and Complete records of a transaction that lists the partition, and the first
batch of the data that is still open, or was ended by a marker of a later epoch. Where the
coordinator's log has no such record any more: the first batch of a higher epoch behind open data,
of a producer of transaction.version 2. It gets that epoch when its transaction has ended. Only
`__cluster_metadata` proves it: each partition that is concerned had no leader when the transaction
was completed. And it had lost it before the Prepare record, or no partition of the transaction had
one: the Complete record waits for the last of them. It does so, too, of an aborted transaction that
has no data in the partition, as its client could write none there.

Look-alikes: a log that was truncated: there the data of some transaction are gone too. If the cut
took markers only, just the records of the controller show it: a leader was elected behind the
Complete record that was not in sync, and nothing that lies behind the data is of a moment between
the two. A leader that is fenced, alone in sync, and goes on as it does not know it: it writes the
marker, and an unclean election behind the decision cuts it off. A marker that was in memory only
when the power failed in all replicas: the partition lost its leader behind the Prepare record. A
late write: there the coordinator never listed the partition. A transaction that is being completed:
it has no Complete record. Data that the cleaner has passed: it passes decided data only, so their
marker was there and is lost. Behind the cleaner's checkpoint, in the segment where that lies, a
cleaner up to 3.1.0 lost markers, too (KAFKA-13727): offsets are missing behind the data there, and
a producer snapshot behind them has the transaction ended.

Known bug: KAFKA-20734, seen in 4.3.0, and in 2.8.2 with ZooKeeper, where a broker that was killed
and started again knew no leader yet. 3.9 to 4.1 queue the markers of such partitions and try again
(`TransactionMarkerChannelManager`, `Node.noNode`). At level INFO the coordinator logs which
partitions it takes for deleted ones.
"""

from typing import Any

from jobs.incidents.offset_steps import abort_offsets, of_clients
from jobs.incidents.outcome_steps import INVISIBLE, VISIBLE, correct_results, produce_again
from jobs.incidents.signature import (
    BUMPED_BY_2,
    CLEANED_DATA,
    DECISION_LOST,
    FORGOTTEN,
    LOST,
    MISSING_MARKER,
    MOMENT,
    OPEN_DATA,
    UNLISTED,
    ZOMBIE,
    Signature,
    Step,
    Traits,
    end_steps,
    of_one_end,
    of_zombie,
)

FOLLOWS = (
    "hanging_transaction", "epoch_bump_inside_open_txn",
    "pending_offsets_stuck", "lso_stuck", "marker_outcome_mismatch", "marker_epoch_invalid",
    "offset_commit_outcome_mismatch", "committed_output_without_offsets", "torn_transaction",
    "marker_without_transaction", "open_transaction_overdue", "epoch_committed_and_aborted",
)  # fmt: skip

# Data that no transaction had, told beside those of the lower epoch.
CAME_OTHERWISE = (*UNLISTED, "late_write_after_marker", "marker_stale", *ZOMBIE)


def _explains(finding: Traits) -> Any:
    listed = ~finding.of_both(*UNLISTED)
    skipped = (finding.one_of(MISSING_MARKER) & ~finding.one_of(LOST)) | (
        finding.one_of(OPEN_DATA) & listed
    )
    # Each epoch of transaction.version 2 is given when the one before it has ended.
    lost = of_one_end(finding, DECISION_LOST) | finding.of_producer(FORGOTTEN)
    went_on = ~finding.of_both(*CAME_OTHERWISE) & ~lost
    skipped = skipped | (finding.one_of(BUMPED_BY_2) & went_on)
    completed = of_one_end(finding, MISSING_MARKER) | (of_one_end(finding, OPEN_DATA) & listed)
    completed = completed | (of_one_end(finding, BUMPED_BY_2) & went_on)
    other = of_zombie(finding) | finding.of_both(CLEANED_DATA)
    return (skipped | (finding.one_of(*FOLLOWS) & completed)) & ~other


SIGNATURE = Signature(
    name="skipped_markers",
    title="The coordinator completed transactions without writing their markers",
    why=(
        "While a partition has no leader, as when its broker is fenced, the coordinator counts its "
        "marker as done. A marker that no disk had yet when all replicas lost power leaves the "
        "same traces. Data that stay open take the outcome of the producer's next marker."
    ),
    explains=_explains,
    known_bug="KAFKA-20734 (seen in 2.8.2 and 4.3.0), where the partition had no leader",
    key=MOMENT,
    steps=(
        *of_clients(
            *end_steps(
                "Abort the transaction before the producer's next marker decides its records",
                cannot="a skipped COMMIT: save its records first (read_uncommitted)",
            )
        ),
        correct_results(),
        *abort_offsets(INVISIBLE, back=(VISIBLE,)),
        produce_again(),
        Step(
            "See which it was: server.log of the coordinator has an INFO line with 'likely deleted "
            "already', the transactional id and the partitions where it skipped markers. Without "
            "that line the marker was lost with the power",
        ),
        Step(
            "Until a release has the fix: shut brokers down cleanly. After a kill, and while all "
            "replicas of a partition are down, however they were stopped, keep its producers "
            "stopped until the broker has been fenced and is back. A partition with one replica "
            "may lose the end of its log with the power of that broker",
        ),
    ),
)
