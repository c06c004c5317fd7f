"""An operator aborted a transaction in one partition, and the coordinator then committed it.

What it looks like: one transaction, committed by the coordinator, is aborted in some of its
partitions by a marker with the epoch of its data.

Why: `kafka-transactions.sh abort` writes a marker into one partition and does not ask the
coordinator. If the producer is still running, it goes on and commits.

Evidence: the ABORT marker with the epoch of the data and no Prepare record of it, and the Prepare
record of the COMMIT.

Look-alikes: an abort of a transaction that hangs and is never committed: that is the right use of
the tool, and no finding. Skipped markers: there the partition has no marker of the transaction at
all. A coordinator that contradicts itself: its markers raise the epoch of the data, the tool's does
not.

Known bug: none. `kafka-transactions.sh abort`, since 3.0 (KIP-664), works as documented.
"""

from jobs.incidents.offset_steps import ENDS, set_groups, start_groups, stop_groups
from jobs.incidents.signature import MISSING_MARKER, MOMENT, Signature, Step, of_one_end

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
        "An operator's abort writes its marker into one partition only. The coordinator then "
        "committed the transaction in the others."
    ),
    explains=lambda finding: (
        (finding.one_of(*TORN) | (finding.one_of(*FOLLOWS) & of_one_end(finding, *TORN)))
        & ~of_one_end(finding, MISSING_MARKER)
    ),
    proven_by=(),
    key=MOMENT,
    steps=(
        Step(
            "Before you abort a transaction, make sure that its producer is stopped: "
            "kafka-transactions.sh describe shows no Ongoing state for its transactional id",
        ),
        *ENDS,
        Step(
            "Read the committed records that are not delivered, with "
            "isolation.level=read_uncommitted. Produce them again in a new transaction",
            before="no application has written them again by itself",
            cannot="their order among newer records",
            reversible=False,
            of=("committed_records_invisible",),
            offsets=False,
        ),
        stop_groups("committed_records_invisible"),
        set_groups("committed_records_invisible"),
        start_groups("committed_records_invisible"),
    ),
)
