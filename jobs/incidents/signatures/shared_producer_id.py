"""A producer id is in two hands.

What it looks like: two transactional ids, or a transactional and an idempotent producer, write with
one producer id; blocks of producer ids overlap.

Why: the allocation of producer ids went back: a restored controller, a migration, or two clusters
whose logs were mixed.

Evidence: the coordinator's records of both ids, or the blocks of the metadata log.

Look-alikes: a zombie: there it is one transactional id. An id whose producer id was rotated.

Known bug: KAFKA-15552, the migration from ZooKeeper.
"""

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
    title="A producer id is in two hands",
    why="Brokers keep one state a producer id, so two owners fence and deduplicate each other.",
    explains=lambda finding: (
        finding.one_of(*SHARED) | (finding.one_of(*FOLLOWS) & finding.of_producer(*SHARED))
    ),
    proven_by=("txnlog_pid_shared", "producer_block_regression"),
    known_bug="KAFKA-15552 (migration from ZooKeeper)",
    steps=(
        Step(
            "Restart the producers concerned: InitProducerId gives each a new epoch or id",
            before="the allocation of producer ids is beyond every id in use",
            check="their next records in __transaction_state have different producer ids",
        ),
    ),
)
