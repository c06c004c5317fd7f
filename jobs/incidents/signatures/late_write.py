"""Data reached a partition outside of every transaction and hang there.

What it looks like: transactional data after the marker of their own epoch, or in a partition that
the coordinator never listed. The coordinator writes no marker for them. The marker of the
producer's next transaction in that partition ends them too.

Why: a produce request was delayed, or a client did not add the partition, and the broker did not
verify that a transaction is open.

Evidence: the first batch of the data, the marker before it, and the coordinator's record that does
not list the partition.

Look-alikes: a slow producer: its coordinator lists the partition. Skipped markers: the coordinator
completed that transaction, and its Prepare record lists the partition; where that record is
compacted away, nothing distinguishes the two, and brokers that verify, with clients of
transaction.version 2, speak for a skipped marker. A coordinator that lost its state: it sent a
marker to the partition that its records do not list, or its log lacks a decision of the producer
whose marker is there, or, whole from the beginning, any decision about it.

Known bug: KAFKA-12671, KAFKA-15449. Brokers verify the partitions of produce requests from 3.6 on,
those of offset commits from 3.7 on; 4.0 ends every transaction with a new epoch (KIP-890). It still
happens with `transaction.partition.verification.enable=false`, or with an older protocol.
"""

from typing import Any

from jobs.incidents.offset_steps import ENDS
from jobs.incidents.outcome_steps import correct_results
from jobs.incidents.signature import (
    CAME_LATE,
    CLEANED_DATA,
    DECISION_LOST,
    FORGOTTEN,
    MISSING_MARKER,
    MOMENT,
    OPEN_DATA,
    UNDECIDED_MARKER,
    UNLISTED,
    UNLISTED_MARKER,
    Signature,
    Step,
    Traits,
    of_one_end,
    of_zombie,
)

LATE = (
    "late_write_after_marker", "hanging_transaction", *UNLISTED,
    "epoch_bump_inside_open_txn", "marker_stale",
)  # fmt: skip
FOLLOWS = (
    "pending_offsets_stuck", "lso_stuck", "marker_epoch_invalid",
    "open_transaction_overdue", OPEN_DATA,
)  # fmt: skip


def _explains(finding: Traits) -> Any:
    follows = finding.one_of(*FOLLOWS) & of_one_end(finding, *LATE)
    late = (finding.one_of(*LATE) & ~finding.one_of(FORGOTTEN)) | (
        follows & ~finding.of_producer(FORGOTTEN)
    )
    # Of such data it is proven that their epoch had its marker.
    proven = finding.one_of("late_write_after_marker")
    had_marker = of_one_end(finding, MISSING_MARKER) | finding.of_both(CLEANED_DATA)
    ended = finding.one_of(*UNLISTED) & finding.of_both(UNLISTED_MARKER, UNDECIDED_MARKER)
    other = of_zombie(finding) | (had_marker & ~proven) | ended
    return late & ~other & ~of_one_end(finding, DECISION_LOST)


SIGNATURE = Signature(
    name="late_write",
    title="Data were written outside of every transaction and hang",
    why=(
        "The broker took data of a transaction that had ended, or that never listed the "
        "partition. The coordinator does not list them and writes no marker for them."
    ),
    explains=_explains,
    proven_by=("late_write_after_marker", *UNLISTED, CAME_LATE),
    known_bug=(
        "KAFKA-12671, KAFKA-15449; prevented by KIP-890 (verification of produce requests from "
        "3.6, of offset commits from 3.7; 4.0)"
    ),
    key=MOMENT,
    steps=(
        *ENDS,
        correct_results(),
        Step(
            "Set transaction.partition.verification.enable=true on brokers from 3.6 on (of offset "
            "commits they verify from 3.7 on), and move to transaction.version 2 (4.0). Where both "
            "were in effect, a marker may have been skipped instead (KAFKA-20734), and the records "
            "of its decision be compacted away",
        ),
    ),
)
