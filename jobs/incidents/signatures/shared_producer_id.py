"""Two producers use one producer id.

What it looks like: two transactional ids, or a transactional and an idempotent producer, write with
one producer id; blocks of producer ids overlap.

Why: producer ids were allocated a second time, by a restored controller or after a migration, or
the logs of two clusters were mixed.

Evidence: the coordinator's records of both ids, or the blocks of the metadata log.

Look-alikes: a zombie: there both producers have one transactional id. A transactional id that got a
new producer id.

Known bug: KAFKA-15552, the migration from ZooKeeper.
"""

from jobs.incidents.offset_steps import ENDS
from jobs.incidents.signature import Signature, Step

SHARED = (
    "txnlog_pid_shared", "producer_block_regression", "pid_used_outside_transaction_id",
    "mixed_transactional_mode", "producer_id_unallocated", "nontransactional_in_open_txn",
)  # fmt: skip
FOLLOWS = (
    "zombie_write_after_fence", "producer_epoch_regression", "sequence_gap", "sequence_regression",
    "duplicate_batch", "txnlog_pid_regression", "txnlog_pid_changed",
)  # fmt: skip

SIGNATURE = Signature(
    name="shared_producer_id",
    title="Two producers use one producer id",
    why=(
        "A broker has one state per producer id. Two producers with one id fence each other; "
        "batches of one count as duplicates of the other's."
    ),
    explains=lambda finding: (
        finding.one_of(*SHARED) | (finding.one_of(*FOLLOWS) & finding.of_producer(*SHARED))
    ),
    proven_by=("txnlog_pid_shared", "producer_block_regression"),
    known_bug="KAFKA-15552 (migration from ZooKeeper)",
    steps=(
        Step(
            "Stop the producers of all these transactional ids before anything is aborted: a "
            "partition does not distinguish their transactions, and an abort ends what another id "
            "has open. Before each abort describe all of these ids, not one alone",
            check="kafka-transactions.sh describe shows none of these ids Ongoing or prepared",
            where=("txnlog_pid_shared",),
        ),
        *ENDS,
        Step(
            "Stop the producers of these transactional ids, and start them again under "
            "transactional ids that were never used. A restart alone does not help: an id keeps "
            "its producer id (TransactionMetadata.prepareIncrementProducerEpoch), and each restart "
            "fences the other producer",
            before="the controller allocates only producer ids above every id in use",
            check="the records of the new ids in __transaction_state have different producer ids",
        ),
        Step(
            "Restart a producer without a transactional id: it gets a new producer id",
            before="the controller allocates only producer ids above every id in use",
            where=("pid_used_outside_transaction_id", "mixed_transactional_mode"),
        ),
    ),
)
