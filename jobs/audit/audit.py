"""One audit while it runs: what was asked for, and what the stages made of it."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.audit.torn_epochs import torn_epochs
from jobs.decode.splits import offsets_partitions
from jobs.model.cluster import Clusters
from jobs.model.decoded import Decoded
from jobs.model.dump import Dump
from jobs.model.expectation_results import Result
from jobs.model.replicas import coordinator_copies
from jobs.model.settings import Settings
from jobs.policy.suites import Policy
from jobs.replay.aborted_lists import AbortedLists, FoldedAborts, aborted_lists
from jobs.replay.coordinator_log import Folded
from jobs.replay.offsets import late_commits
from jobs.replay.replay import Replayed
from jobs.report.verdict import Verdict
from jobs.spark.kept import Kept
from jobs.verify.contexts.build import (
    BlockInputs,
    Inputs,
    OffsetInputs,
    ReplicaInputs,
    SnapshotInputs,
)
from jobs.verify.contexts.log_directory import log_directories
from jobs.verify.contexts.offset_transaction import OffsetTransactions
from jobs.verify.contexts.open_transaction import CoordinatorListing
from jobs.verify.contexts.producer_block import producer_blocks
from jobs.verify.contexts.torn_epoch import TornEpochs
from jobs.verify.contexts.transaction import Ages
from jobs.verify.contexts.txn_index_entry import IndexInputs
from jobs.verify.verify import Verified
from schemas import log_row
from schemas.topics import TXN_LOG_TOPIC
from udfs.storage.dump_path import DumpPath

MARKER_COLUMNS = (
    "partition_index",
    "producer_id",
    "marker_epoch",
    "marker_commit",
    "marker_offset",
    "coordinator_epoch",
    "marker_timestamp",
    "file_index",
    "marker_position",
    "marker_length",
    "data_epoch",
    "first_offset",
    "last_offset",
)


@dataclass(frozen=True)
class Request:
    """What the command line asks for; `as_of` in ms or None, `depth` records or headers.

    `policy`: the acceptance policy to judge by; None where none was asked for.
    """

    dumps: Sequence[DumpPath]
    out: str
    as_of: int | None
    depth: str
    settings: Settings
    policy: Policy | None = None

    def configuration(self) -> str:
        """Everything besides the input that a result depends on, as canonical JSON."""
        asked = {"settings": self.settings.digested(), "as_of": self.as_of, "depth": self.depth}
        if self.policy:
            asked["policy"] = self.policy.digest
        return json.dumps(asked)


@dataclass(frozen=True)
class Read:
    """What one pass over the bytes gave: the listing, decoded rows, damage, digests, identity.

    `clusters`: facts of `__cluster_metadata`.
    """

    files: DataFrame
    decoded: Decoded
    clusters: Clusters
    damages: DataFrame
    digests: DataFrame
    audit_id: str
    kept: Kept

    def release(self) -> None:
        """Gives the memory back, also that of what was kept later on."""
        self.decoded.release()
        self.kept.release()


@dataclass(frozen=True)
class Aborts:
    """What was made of aborted transactions: the aborted lists, and what is committed elsewhere."""

    lists: AbortedLists
    torn_epochs: TornEpochs | None


@dataclass(frozen=True)
class Audit:
    """One audit while it runs: input, decoded rows, rebuilt tables, findings.

    `expectation_results`: what became of the acceptance policy, once it is judged by.
    """

    request: Request
    dump: Dump
    read: Read
    replayed: Replayed
    aborts: Aborts
    verified: Verified
    verdict: Verdict
    expectation_results: list[Result] = field(default_factory=list)

    def release(self) -> None:
        """Gives back the memory of everything that was kept between the stages."""
        self.read.release()


def aborts_of(dump: Dump, read: Read, replayed: Replayed, tolerance: int) -> Aborts:
    """Looks through all that was aborted, for two purposes at once.

    `tolerance`: of the clocks of brokers, ms.
    """
    decoded, met, kept = read.decoded, replayed.transactions, read.kept
    with ThreadPoolExecutor(2) as pool:
        lists = pool.submit(aborted_lists, _folded_aborts(decoded), met, read.files, kept)
        split = pool.submit(torn_epochs, dump, decoded, replayed, kept, tolerance)
        return Aborts(lists.result(), split.result())


def _folded_aborts(decoded: Decoded) -> FoldedAborts:
    """What was folded away of aborted transactions and their indexes."""
    return FoldedAborts(
        aborts=decoded.regular_aborts(),
        entries=decoded.aborted_entries(),
        packed=decoded.packed_aborts() if decoded.matches_aborts() else None,
        number=decoded.aborts + decoded.index_entries,
        newest=decoded.newest_entries(),
    )


def context_inputs(
    request: Request,
    dump: Dump,
    read: Read,
    replayed: Replayed,
    aborts: Aborts,
    now: int | None,
) -> Inputs:
    """What the contexts are built from; `now` is the moment that ages refer to, ms."""
    settings, lists = request.settings, aborts.lists
    return Inputs(
        frames=read.decoded.nested(log_row.FRAME, "frame"),
        failures=read.damages,
        coordinator_log=replayed.coordinator_log,
        index=IndexInputs(lists.markers, lists.entries, lists.newest, lists.number),
        side_faults=side_faults(read.decoded),
        txn_index_entries=read.decoded.txn_index_entries,
        splits=replayed.splits,
        discontinuities=replayed.discontinuities,
        partition_info=replayed.partition_info,
        files=read.files,
        states=replayed.states,
        transactions=replayed.transactions,
        markers=markers(read.decoded, replayed),
        regular_transactions=read.decoded.regular_transactions(),
        histories=replayed.histories,
        owners=replayed.owners,
        offsets=offset_inputs(dump, read.decoded, replayed),
        replicas=replica_inputs(request, dump, read),
        blocks=block_inputs(dump, read),
        snapshots=snapshot_inputs(read.decoded),
        torn_epochs=aborts.torn_epochs,
        regular=replayed.regular,
        following=read.decoded.following,
        ages=Ages(
            now=now,
            transaction_max_timeout=settings.transaction_max_timeout_ms,
            late_slack=settings.late_transaction_slack_ms,
            clock_tolerance=settings.clock_tolerance_ms,
            producer_expiration=read.decoded.producer_expiration_ms,
        ),
        coordinator_listing=coordinator_listing(dump, read.clusters),
        coordinator_copies=sorted(coordinator_copies(dump)),
    )


def side_faults(decoded: Decoded) -> DataFrame | None:
    """Entries of side files that contradict the log; without any nothing is planned."""
    if not decoded.counts.get(log_row.SIDE_FAULT):
        return None
    return decoded.nested(log_row.SIDE_FAULT, "side_fault")


def folded(decoded: Decoded) -> Folded:
    """What was folded away of the coordinator's log."""
    return Folded(
        blocks=decoded.nested(log_row.FOLDED, "folded"),
        rows=decoded.folded_rows,
        unevaluated=decoded.unevaluated,
    )


def replica_inputs(request: Request, dump: Dump, read: Read) -> ReplicaInputs:
    """What the brokers of a dump are compared by; what it has only once is not even planned."""
    several = len(dump.directories) > 1
    copied = any(p.replica_set is not None for p in dump.partitions)
    cleaned = read.decoded.counts.get(log_row.RETAINED_RECORDS)
    spark = read.files.sparkSession
    return ReplicaInputs(
        directories=log_directories(spark, dump.directories) if several else None,
        blocks=read.decoded.nested(log_row.BLOCK, "block") if copied else None,
        retained_records=read.decoded.nested(log_row.RETAINED_RECORDS, "retained_records")
        if cleaned
        else None,
        max_batch_bytes=request.settings.max_batch_bytes,
    )


def block_inputs(dump: Dump, read: Read) -> BlockInputs:
    """Blocks of producer ids; hardly any dump has one to look at."""
    odd = read.clusters.regressions
    spark = read.files.sparkSession
    return BlockInputs(
        copies=len(dump.metadata_logs),
        regressions=producer_blocks(spark, odd) if odd else None,
    )


def snapshot_inputs(decoded: Decoded) -> SnapshotInputs:
    """Rows of producer snapshots; kinds that do not occur are not even planned."""
    states, faults = log_row.PRODUCER_STATES, log_row.SNAPSHOT_FAULT
    return SnapshotInputs(
        states=decoded.nested(states, "producer_states") if decoded.snapshot_states else None,
        faults=decoded.nested(faults, "snapshot_fault") if decoded.counts.get(faults) else None,
        entries=decoded.snapshot_entries,
    )


def offset_inputs(dump: Dump, decoded: Decoded, replayed: Replayed) -> OffsetInputs:
    """What is known of `__consumer_offsets`; what does not occur is not even planned."""
    faults = decoded.counts.get(log_row.GROUP_FAULT)
    late = decoded.counts.get(log_row.LATE_COMMIT) or decoded.commits_at_seams
    return OffsetInputs(
        faults=decoded.nested(log_row.GROUP_FAULT, "group_fault") if faults else None,
        assumed_partitions=offsets_partitions(dump),
        late=_late_commits(decoded, replayed) if late else None,
        transactions=_offset_transactions(decoded, replayed) if decoded.offset_runs else None,
    )


def _late_commits(decoded: Decoded, replayed: Replayed) -> DataFrame:
    over_seams = late_commits(decoded.commits(), replayed.transactions)
    in_splits = decoded.nested(log_row.LATE_COMMIT, "late_commit")
    return in_splits.select(*over_seams.columns).unionByName(over_seams)


def _offset_transactions(decoded: Decoded, replayed: Replayed) -> OffsetTransactions:
    return OffsetTransactions(
        transactions=replayed.transactions,
        regular=decoded.regular_transactions(),
        regular_aborts=decoded.regular_aborts(),
        epochs_of=replayed.coordinator_log.epochs_of,
        pending=decoded.nested(log_row.PENDING_COMMIT, "pending"),
        owners=replayed.owners,
    )


def markers(decoded: Decoded, replayed: Replayed) -> DataFrame:
    """All markers of the dump with the epoch and offsets of the data that they end.

    Columns: MARKER_COLUMNS; data_epoch is the highest producer epoch of the data, null for none.
    Without coordinator records nobody asks for them, and those that were folded away stay packed.
    """
    ended = (
        replayed.transactions.filter(F.col("marker_offset").isNotNull())
        .withColumn("data_epoch", F.col("highest_epoch"))
        .withColumn("file_index", F.col("marker_file_index"))
        .select(*MARKER_COLUMNS)
    )
    if not decoded.counts.get(log_row.TXN_LOG_RECORD):
        return ended
    regular = decoded.regular_transactions().withColumn("data_epoch", F.col("producer_epoch"))
    return ended.unionByName(regular.select(*MARKER_COLUMNS))


def coordinator_listing(dump: Dump, clusters: Clusters) -> CoordinatorListing:
    """Facts of the partitions of `__transaction_state` from side files."""
    numbers = {p.partition for p in dump.partitions if p.topic == TXN_LOG_TOPIC}
    listings = [
        one.coordinator_partitions
        for one in dump.directories
        if one.coordinator_partitions is not None
    ]
    listed = frozenset[int]().union(*listings)
    told = {
        one.partitions[TXN_LOG_TOPIC]
        for one in clusters.by_id.values()
        if TXN_LOG_TOPIC in one.partitions
    }
    return CoordinatorListing(
        number=len(numbers) if numbers == set(range(len(numbers))) else 0,
        told=max(told, default=None),
        listed=bool(numbers) and listed == numbers,
        beyond=bool(listed - numbers),
    )
