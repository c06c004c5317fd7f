"""Records that were replicated are in no replica of their partition.

What it looks like: the replication-offset-checkpoint of a broker that had stopped cleanly has a
high watermark above the log end of every copy, and the dump has each replica that
`__cluster_metadata` assigns.

Why: what was replicated was on the disks of all in-sync replicas. All of them lost it: they were
restored from older states or copies, or files of all of them were removed. Who wrote the records
was told that they were stored, and consumers may have read them.

Evidence: the checkpoint entry, and the end of the log in each copy.

Look-alikes: a stale copy: there another replica has the records, or may have them, as it is not in
the dump. An unclean leader election: there the new leader cuts the high watermark with the log.
Damage: there the bytes are on the disk, and wrong.

Known bug: none; restored volumes, or files that were removed by hand.
"""

from jobs.incidents.offset_steps import abort_offsets, of_clients
from jobs.incidents.signature import (
    HANGING,
    IN_NONE,
    MISSING_MARKER,
    ONE,
    OPEN_DATA,
    Signature,
    Step,
    end_steps,
)

# What side files or the coordinator say of records behind the end; their transactions lie open.
FOLLOWS = (
    "recovery_point_beyond_log_end", "log_start_beyond_end", "snapshot_state_mismatch",
    "snapshot_foreign_producer", "txnindex_extra_entry", "txnindex_malformed",
    MISSING_MARKER, OPEN_DATA, HANGING, "lso_stuck", "open_transaction_overdue",
    "pending_offsets_stuck",
)  # fmt: skip
LOST_EVERYWHERE = ("replicated_records_lost",)

SIGNATURE = Signature(
    name="lost_in_all_replicas",
    title="Records that were replicated are in no replica",
    why=(
        "Each replica ends below the high watermark that a broker had written when it stopped. No "
        "broker can fetch the records from another one."
    ),
    explains=lambda finding: (
        finding.one_of(IN_NONE) | (finding.one_of(*FOLLOWS) & finding.beside(IN_NONE))
    ),
    proven_by=(IN_NONE,),
    key=ONE,
    steps=(
        Step(
            "Before a broker with such a partition starts, copy the folders and checkpoint files "
            "of all of them to another place: a broker that starts cuts the high watermark to the "
            "end of its log, and gives the lost offsets to new records",
            check="the copies have the replication-offset-checkpoint of each broker",
        ),
        Step(
            "Do not have a broker fetch the partition again: the others do not have these offsets, "
            "either. Look for the records elsewhere: log directories that are no longer in use, "
            "backups and snapshots of the volumes, a mirror, what applications made of them",
            before="the audit of a folder that was found, together with this dump, has them",
            cannot="records that no copy has",
        ),
        Step(
            "Put the folder that has the records in place of that of the broker which is to lead "
            "the partition, before any broker with a replica starts",
            before="it is of the same topic (topic_id in partition.metadata), and ends behind all "
            "others",
            check="an audit of a new dump has no finding about these offsets",
            cannot="records that were not found: let their producers write them again",
            reversible=False,
        ),
        Step(
            "Groups that had read the lost offsets have committed offsets behind the end of the "
            "log: set them back to it before new records are written, else they skip those",
            before="the records are not put back",
            check="no committed offset of a group lies behind the log end offset",
            of=LOST_EVERYWHERE,
            offsets=False,
        ),
        *of_clients(
            *end_steps(
                "Abort the transactions that are still open. Their markers are lost",
                cannot="a transaction that was committed: save its records first "
                "(read_uncommitted)",
            )
        ),
        *abort_offsets(),
    ),
)
