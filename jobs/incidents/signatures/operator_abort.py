"""An operator aborted a transaction of which the coordinator then committed the rest.

What it looks like: one transaction, committed by the coordinator, is aborted in some of its
partitions by a marker with the epoch of its data.

Why: `kafka-transactions.sh abort` writes a marker into one partition and does not ask the
coordinator. A producer that is still running goes on and commits.

Evidence: the ABORT marker with the epoch of the data and no Prepare record of it, and the Prepare
record of the COMMIT.

Look-alikes: an abort of a transaction that hangs, after which nobody commits: that is the right use
of the tool and no finding. Skipped markers: there no marker is in the partition at all. A
coordinator that contradicts itself: its markers raise the epoch of the data, the tool's does not.

Known bug: none; `kafka-transactions.sh abort` since 3.0 (KIP-664) does what it says.
"""

from jobs.incidents.signature import MISSING_MARKER, MOMENT, Signature, Step

TORN = ("torn_transaction",)
FOLLOWS = (
    "offset_commit_outcome_mismatch", "committed_output_without_offsets", "marker_outcome_mismatch",
    "marker_without_transaction", "marker_without_prepare", "late_write_after_marker",
    "epoch_committed_and_aborted", "conflicting_markers",
)  # fmt: skip

SIGNATURE = Signature(
    name="operator_abort",
    title="A transaction was aborted in some partitions and committed in the others",
    why=(
        "An abort by hand writes its marker into one partition only. The producer was still "
        "running, and its coordinator committed the rest."
    ),
    explains=lambda finding: (
        (finding.one_of(*TORN) | (finding.one_of(*FOLLOWS) & finding.of_producer(*TORN)))
        & ~finding.of_producer(MISSING_MARKER)
    ),
    proven_by=(),
    key=MOMENT,
    steps=(
        Step(
            "Read the records that were committed but are not delivered, with "
            "isolation.level=read_uncommitted, and produce them again in a new transaction",
            before="no application has written them again by itself",
            cannot="their order among newer records",
            reversible=False,
            of=("committed_records_invisible",),
        ),
        Step(
            "Before an abort by hand, make sure that the producer is stopped: describe shows no "
            "Ongoing state for its transactional id",
        ),
    ),
)
