"""Builds every context from the tables of decode and replay."""

from dataclasses import dataclass

from pyspark.sql import DataFrame

from jobs.model.coordinator_log import CoordinatorLog
from jobs.verify.contexts.context import Context, no_rows
from jobs.verify.contexts.coordinator_copies import coordinator_copies_context
from jobs.verify.contexts.coordinator_step import coordinator_step_context
from jobs.verify.contexts.decided_partition import Decided, decided_partition_context
from jobs.verify.contexts.frame import frame_context
from jobs.verify.contexts.group_record import group_record_context
from jobs.verify.contexts.log import (
    offset_discontinuity_context,
    partition_context,
    segment_context,
)
from jobs.verify.contexts.log_directory import log_directory_context
from jobs.verify.contexts.offset_commit import offset_commit_context
from jobs.verify.contexts.offset_transaction import (
    OffsetTransactions,
    offset_transaction_context,
)
from jobs.verify.contexts.open_transaction import CoordinatorListing
from jobs.verify.contexts.producer import producer_context
from jobs.verify.contexts.producer_block import producer_block_context
from jobs.verify.contexts.replicas import replicas_context
from jobs.verify.contexts.run import run_context
from jobs.verify.contexts.side_fault import side_fault_context
from jobs.verify.contexts.snapshot import snapshot_context
from jobs.verify.contexts.torn_epoch import TornEpochs, torn_epoch_context
from jobs.verify.contexts.transaction import Ages, transaction_context
from jobs.verify.contexts.txn_index_entry import IndexInputs, txn_index_entry_context


@dataclass(frozen=True)
class OffsetInputs:
    """What is known of `__consumer_offsets`; None for what the dump cannot have.

    `faults`: rows of `log_row.GROUP_FAULT_TYPE`; `late`: of LATE_COMMIT_TYPE.
    `assumed_partitions`: how many partitions the decoder took the topic to have.
    """

    faults: DataFrame | None
    assumed_partitions: int | None
    late: DataFrame | None
    transactions: OffsetTransactions | None


@dataclass(frozen=True)
class BlockInputs:
    """Blocks of producer ids: `copies` of `__cluster_metadata` were read.

    `regressions`: rows of `producer_block.PRODUCER_BLOCK`, None where no block is one.
    """

    copies: int
    regressions: DataFrame | None


@dataclass(frozen=True)
class ReplicaInputs:
    """What the brokers of a dump are compared by; None for what it has only once.

    `directories`: rows of `log_directory.LOG_DIRECTORY`. `blocks`: rows of `log_row.BLOCK_TYPE` of
    the partitions that have a replica_set; `retained_records`: of RETAINED_RECORDS_TYPE of
    those that were cleaned; `max_batch_bytes`: limit of the decoder.
    """

    directories: DataFrame | None
    blocks: DataFrame | None
    retained_records: DataFrame | None
    max_batch_bytes: int


@dataclass(frozen=True)
class SnapshotInputs:
    """What producer snapshots tell; None for what the dump cannot have.

    `states`: rows of `log_row.PRODUCER_STATES_TYPE`; `faults`: of SNAPSHOT_FAULT_TYPE. `entries`:
    states in all snapshots.
    """

    states: DataFrame | None
    faults: DataFrame | None
    entries: int


@dataclass(frozen=True)
class Inputs:
    """Everything that contexts are built from; each frame is described where it is made.

    `regular`: number of regular transactions, which were folded away in the decoder;
    `following`: runs that follow one and were found regular there too.
    `side_faults`: rows of `log_row.SIDE_FAULT_TYPE`; None where no side file contradicts the log;
    `txn_index_entries`: entries that were compared.
    `torn_epochs`: None where no transaction can be torn between partitions of client topics.
    `coordinator_listing`: what tells whether all partitions of `__transaction_state` are there.
    `coordinator_copies`: partition_index of those of which the dump has several copies.
    """

    frames: DataFrame
    failures: DataFrame
    index: IndexInputs
    side_faults: DataFrame | None
    txn_index_entries: int
    coordinator_log: CoordinatorLog
    splits: DataFrame
    discontinuities: DataFrame
    partition_info: DataFrame
    files: DataFrame
    states: DataFrame
    transactions: DataFrame
    markers: DataFrame
    regular_transactions: DataFrame
    histories: DataFrame
    owners: DataFrame
    offsets: OffsetInputs
    replicas: ReplicaInputs
    blocks: BlockInputs
    snapshots: SnapshotInputs
    torn_epochs: TornEpochs | None
    regular: int
    following: int
    ages: Ages
    coordinator_listing: CoordinatorListing
    coordinator_copies: list[int]


def build_contexts(given: Inputs) -> list[Context]:
    """All contexts, in the order in which a log is judged: bytes, log, producers, transactions."""
    known, files, log = given.partition_info, given.files, given.coordinator_log
    return [
        frame_context(given.frames, given.failures, known, files),
        offset_discontinuity_context(given.discontinuities, known, files),
        segment_context(given.splits, known, files),
        partition_context(known),
        txn_index_entry_context(given.index, known, files),
        no_rows("side_fault", known, given.txn_index_entries)
        if given.side_faults is None
        else side_fault_context(given.side_faults, known, files, given.txn_index_entries),
        run_context(
            given.states, known, files, given.ages.producer_expiration, given.ages.now,
            given.regular + given.following,
        ),
        producer_context(
            given.states, log.txn_log_records, known, files, given.ages.clock_tolerance
        ),
        no_rows("producer_block", known, given.blocks.copies)
        if given.blocks.regressions is None
        else producer_block_context(given.blocks.regressions, given.blocks.copies),
        decided_partition_context(_decided(given), known, files, given.ages),
        coordinator_step_context(log, given.transactions, known, files, given.ages),
        coordinator_copies_context(log.txn_log_records, given.coordinator_copies, known, files),
        transaction_context(
            given.transactions, given.states, known, files, given.owners, log, given.histories,
            given.ages,
            given.coordinator_listing, given.regular,
        ),
        no_rows("torn_epoch", known)
        if given.torn_epochs is None
        else torn_epoch_context(given.torn_epochs, known, files),
        _snapshot_context(given),
        *_offset_contexts(given),
        *_replica_contexts(given),
    ]  # fmt: skip


def _decided(given: Inputs) -> Decided:
    return Decided(
        log=given.coordinator_log,
        history=given.histories,
        owners=given.owners,
        states=given.states,
        markers=given.markers,
        regular=given.regular_transactions,
        several_copies=bool(given.coordinator_copies),
    )


def _snapshot_context(given: Inputs) -> Context:
    told = given.snapshots
    if told.states is None and told.faults is None:
        return no_rows("snapshot", given.partition_info)
    return snapshot_context(
        told.states, told.faults, told.entries, given.partition_info, given.files,
        given.ages.producer_expiration, given.ages.now,
    )  # fmt: skip


def _offset_contexts(given: Inputs) -> list[Context]:
    """Contexts of `__consumer_offsets`; what does not occur is not even planned."""
    known, files, offsets = given.partition_info, given.files, given.offsets
    return [
        no_rows("group_record", known)
        if offsets.faults is None
        else group_record_context(
            offsets.faults, given.splits, known, files, offsets.assumed_partitions
        ),
        no_rows("offset_commit", known)
        if offsets.late is None
        else offset_commit_context(offsets.late, known, files),
        no_rows("offset_transaction", known)
        if offsets.transactions is None
        else offset_transaction_context(offsets.transactions, known, files, given.ages),
    ]


def _replica_contexts(given: Inputs) -> list[Context]:
    """Contexts of several brokers; a dump of one does not even plan them."""
    known, replicas = given.partition_info, given.replicas
    return [
        no_rows("log_directory", known)
        if replicas.directories is None
        else log_directory_context(replicas.directories),
        no_rows("replicas", known)
        if replicas.blocks is None
        else replicas_context(
            replicas.blocks,
            replicas.retained_records,
            known,
            given.discontinuities,
            given.splits,
            given.files,
            replicas.max_batch_bytes,
        ),
    ]
