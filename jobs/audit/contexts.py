"""The contexts of one audit: which of the stages' results each of them is built from.

What a context needs is the signature of its function in `jobs/verify/contexts`; which columns it
gives is in `schemas/contexts`. A context that can have no rows is not even planned.
"""

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.audit.audit import Aborts, DecodedDump, Request
from jobs.decode.splits import offsets_partitions
from jobs.model.coordinator_listing import coordinator_listing
from jobs.model.decoded import Decoded
from jobs.model.dump import Dump
from jobs.model.markers import Markers, as_markers
from jobs.model.replicas import coordinator_copies
from jobs.model.transactions import all_transactions
from jobs.replay.coordinator import last_of_all_copies
from jobs.replay.offsets import in_effect, late_commits
from jobs.replay.replay import Replayed
from jobs.spark.joins import inner, small
from jobs.verify.conditions.missing import LOST_OFFSETS, end_may_be_another
from jobs.verify.contexts.committed_end import committed_end_context
from jobs.verify.contexts.context import Context, no_rows
from jobs.verify.contexts.coordinator_copies import coordinator_copies_context
from jobs.verify.contexts.coordinator_links import EndedTransactions
from jobs.verify.contexts.coordinator_step import coordinator_step_context
from jobs.verify.contexts.decided.unnamed import named_moments
from jobs.verify.contexts.decided_partition import DecidedInputs, decided_partition_context
from jobs.verify.contexts.frame import frame_context
from jobs.verify.contexts.group_record import group_record_context
from jobs.verify.contexts.log import (
    offset_discontinuity_context,
    partition_context,
    segment_context,
)
from jobs.verify.contexts.log_directory import log_directories, log_directory_context
from jobs.verify.contexts.offset_commit import offset_commit_context
from jobs.verify.contexts.offset_transaction import OffsetTransactions, offset_transaction_context
from jobs.verify.contexts.open_lookups import log_completeness
from jobs.verify.contexts.producer import producer_context
from jobs.verify.contexts.producer_block import producer_block_context, producer_blocks
from jobs.verify.contexts.replicas import replicas_context
from jobs.verify.contexts.run import run_context
from jobs.verify.contexts.side_fault import side_fault_context
from jobs.verify.contexts.snapshot import snapshot_context
from jobs.verify.contexts.told import told_context, told_partitions
from jobs.verify.contexts.told_transaction import told_transaction_context, told_transactions
from jobs.verify.contexts.torn_epoch import torn_epoch_context
from jobs.verify.contexts.transaction import Ages, TransactionInputs, transaction_context
from jobs.verify.contexts.txn_index_entry import IndexedAborts, txn_index_entry_context
from schemas import log_row


@dataclass(frozen=True)
class StageResults:
    """What the stages before made. `now`: the moment that ages refer to, ms; None for none."""

    request: Request
    dump: Dump
    read: DecodedDump
    replayed: Replayed
    aborts: Aborts
    now: int | None

    @property
    def ages(self) -> Ages:
        """What moments are compared with."""
        settings = self.request.settings
        allowed = [one for told in self.dump.told for one in told.timeouts_ms]
        return Ages(
            now=self.now,
            transaction_max_timeout=max(settings.transaction_max_timeout_ms, *allowed, 0),
            late_slack=settings.late_transaction_slack_ms,
            clock_tolerance=settings.clock_tolerance_ms,
            producer_expiration=self.read.decoded.producer_expiration_ms,
        )


def build_contexts(made: StageResults) -> list[Context]:
    """All contexts, in the order in which a log is judged: bytes, log, producers, transactions."""
    return [
        *_contexts_of_logs(made),
        *_contexts_of_producers(made),
        *_contexts_of_coordinators(made),
        *_contexts_of_transactions(made),
        *_contexts_of_offsets(made),
        *_contexts_of_replicas(made),
    ]


def _contexts_of_logs(made: StageResults) -> list[Context]:
    decoded, replayed, files = made.read.decoded, made.replayed, made.read.files
    known, lists = replayed.partition_info, made.aborts.lists
    compared = decoded.side_file_entries
    faults = _rows_of(decoded, log_row.SIDE_FAULT, "side_fault")
    return [
        frame_context(decoded.nested(log_row.FRAME, "frame"), made.read.damages, known, files),
        offset_discontinuity_context(replayed.discontinuities, known, files),
        segment_context(replayed.splits, known, files),
        partition_context(known),
        txn_index_entry_context(
            IndexedAborts(lists.markers, lists.entries, lists.newest, lists.number), known, files
        ),
        no_rows("side_fault", known, compared)
        if faults is None
        else side_fault_context(faults, known, files, compared),
    ]


def _contexts_of_producers(made: StageResults) -> list[Context]:
    replayed, files, ages = made.replayed, made.read.files, made.ages
    decoded, known, states = made.read.decoded, replayed.partition_info, replayed.states
    reused, copies = decoded.clusters.regressions, len(made.dump.metadata_logs)
    records = replayed.coordinator_log.txn_log_records
    return [
        run_context(
            states, known, files, ages.producer_expiration, ages.now, ages.clock_tolerance,
            replayed.regular + decoded.following,
        ),
        producer_context(states, records, known, files, ages.clock_tolerance),
        producer_block_context(producer_blocks(files.sparkSession, reused), copies)
        if reused
        else no_rows("producer_block", known, copies),
        _snapshot_context(made),
        _told_context(made),
    ]  # fmt: skip


def _snapshot_context(made: StageResults) -> Context:
    decoded, known = made.read.decoded, made.replayed.partition_info
    states = (
        decoded.nested(log_row.PRODUCER_STATES, "producer_states")
        if decoded.snapshot_states
        else None
    )
    faults = _rows_of(decoded, log_row.SNAPSHOT_FAULT, "snapshot_fault")
    if states is None and faults is None:
        return no_rows("snapshot", known)
    return snapshot_context(
        states, faults, decoded.snapshot_entries, known, made.read.files,
        made.ages.producer_expiration, made.now,
    )  # fmt: skip


def _told_context(made: StageResults) -> Context:
    """What leaders said; a dump of disks has no answers."""
    known, files = made.replayed.partition_info, made.read.files
    if not any(one.told for one in made.dump.partitions):
        return no_rows("told", known)
    states = made.read.decoded.nested(log_row.PRODUCER_STATES, "producer_states")
    told = told_partitions(files.sparkSession, made.dump.partitions)
    return told_context(told, states, known, files)


def _contexts_of_coordinators(made: StageResults) -> list[Context]:
    replayed, files = made.replayed, made.read.files
    known, log = replayed.partition_info, replayed.coordinator_log
    copies = sorted(coordinator_copies(made.dump))
    decided = DecidedInputs(
        log=log,
        history=replayed.histories,
        owners=replayed.owners,
        states=replayed.states,
        transactions=replayed.transactions,
        markers=_markers(made.read.decoded, replayed),
        plain=made.read.decoded.plain,
        regular_of=made.read.decoded.regular_of,
        naming=_named_moments(made),
        several_copies=bool(copies),
        keep=made.read.kept.keep,
    )
    ended = EndedTransactions(
        rows=replayed.transactions,
        folded_in=made.read.decoded.regular_in,
        decisions_of=log.decisions_of,
    )
    return [
        decided_partition_context(decided, known, files, made.ages),
        coordinator_step_context(log, ended, known, files, made.ages, made.read.kept),
        coordinator_copies_context(log.txn_log_records, copies, known, files),
        _told_transaction_context(made),
    ]


def _told_transaction_context(made: StageResults) -> Context:
    """What coordinators said; a dump of disks has no answers."""
    known = made.replayed.partition_info
    told = [one for answers in made.dump.told for one in answers.transactions]
    if not told:
        return no_rows("told_transaction", known)
    listed = told_transactions(known.sparkSession, told)
    last = last_of_all_copies(made.replayed.coordinator)
    return told_transaction_context(listed, last, known)


def _contexts_of_transactions(made: StageResults) -> list[Context]:
    replayed, files = made.replayed, made.read.files
    known, torn = replayed.partition_info, made.aborts.torn_epochs
    settled = TransactionInputs(
        transactions=replayed.transactions,
        states=replayed.states,
        partition_info=known,
        owners=replayed.owners,
        log=replayed.coordinator_log,
        history=replayed.histories,
        listing=coordinator_listing(made.dump, made.read.decoded.clusters),
        folded=replayed.regular,
        kept=made.read.kept,
    )
    return [
        transaction_context(settled, files, made.ages),
        no_rows("torn_epoch", known) if torn is None else torn_epoch_context(torn, known, files),
    ]  # fmt: skip


def _contexts_of_offsets(made: StageResults) -> list[Context]:
    """Contexts of `__consumer_offsets`."""
    decoded, replayed, files = made.read.decoded, made.replayed, made.read.files
    known = replayed.partition_info
    faults = _rows_of(decoded, log_row.GROUP_FAULT, "group_fault")
    late = decoded.counts.get(log_row.LATE_COMMIT) or decoded.commits_at_seams
    return [
        no_rows("group_record", known)
        if faults is None
        else group_record_context(
            faults, replayed.splits, known, files, offsets_partitions(made.dump)
        ),
        offset_commit_context(_late_commits(decoded, replayed), known, files)
        if late
        else no_rows("offset_commit", known),
        offset_transaction_context(_offset_transactions(made), known, files, made.ages)
        if decoded.offset_runs
        else no_rows("offset_transaction", known),
        committed_end_context(
            in_effect(decoded, replayed.transactions), known, files, made.ages.clock_tolerance
        )
        if decoded.counts.get(log_row.COMMITS)
        else no_rows("committed_end", known),
    ]


def _contexts_of_replicas(made: StageResults) -> list[Context]:
    """Contexts of several log directories and of several copies of a partition."""
    dump, decoded, replayed, files = made.dump, made.read.decoded, made.replayed, made.read.files
    known = replayed.partition_info
    copied = any(partition.replica_set is not None for partition in dump.partitions)
    return [
        log_directory_context(log_directories(files.sparkSession, dump.directories))
        if len(dump.directories) > 1
        else no_rows("log_directory", known),
        replicas_context(
            decoded.nested(log_row.BLOCK, "block"),
            _rows_of(decoded, log_row.RETAINED_RECORDS, "retained_records"),
            known,
            replayed.discontinuities,
            replayed.splits,
            files,
            made.request.settings.max_batch_bytes,
        )
        if copied
        else no_rows("replicas", known),
    ]


def _rows_of(decoded: Decoded, kind: int, name: str) -> DataFrame | None:
    """Rows of a kind of `log_row`, None where the decoder found none."""
    return decoded.nested(kind, name) if decoded.counts.get(kind) else None


def _late_commits(decoded: Decoded, replayed: Replayed) -> DataFrame:
    over_seams = late_commits(decoded, replayed.transactions)
    in_splits = decoded.nested(log_row.LATE_COMMIT, "late_commit")
    return in_splits.select(*over_seams.columns).unionByName(over_seams)


def _offset_transactions(made: StageResults) -> OffsetTransactions:
    decoded, replayed = made.read.decoded, made.replayed
    return OffsetTransactions(
        transactions=replayed.transactions,
        regular=decoded.regular_transactions(),
        regular_aborts=decoded.regular_aborts(),
        epochs_of=replayed.coordinator_log.epochs_of,
        pending=decoded.nested(log_row.PENDING_COMMIT, "pending"),
        owners=replayed.owners,
        listing=coordinator_listing(made.dump, decoded.clusters),
    )


def _markers(decoded: Decoded, replayed: Replayed) -> Markers:
    """Markers of the dump; those that were folded away stay packed until they are asked for."""
    lost = replayed.partition_info.select("partition_index", *LOST_OFFSETS)
    met = inner(
        replayed.transactions.filter(F.col("marker_offset").isNotNull()),
        small(lost),
        on="partition_index",
    )
    sure = F.when(~end_may_be_another(), F.col("highest_epoch"))
    kept = met.withColumn("highest_epoch", sure)
    asked = decoded.counts.get(log_row.TXN_LOG_RECORD)

    def beside(rows: DataFrame, folded: DataFrame | None) -> DataFrame:
        # Without coordinator records nobody asks.
        return as_markers(all_transactions(rows, folded if asked else None))

    return Markers(
        rows=beside(kept, None),
        every=beside(kept, decoded.regular_transactions()),
        not_plain=beside(kept, decoded.regular_not_plain()),
        of_producers=lambda producers: beside(
            kept.join(small(producers), on="producer_id", how="left_semi"),
            decoded.regular_of(producers),
        ),
        in_partitions=lambda partitions: beside(
            kept.join(small(partitions), on="partition_index", how="left_semi"),
            decoded.regular_in(partitions),
        ),
    )


def _named_moments(made: StageResults) -> DataFrame | None:
    """See `decided.unnamed`; None where the log has other partitions for sure."""
    replayed = made.replayed
    listing = coordinator_listing(made.dump, made.read.decoded.clusters)
    if not listing.may_be_complete:
        return None
    # Of the default number of partitions, which checkpoints list, brokers may be assigned just
    # these: then an id of another partition is named nowhere.
    proven = log_completeness(replayed.partition_info, replace(listing, listed=False))
    records = replayed.coordinator_log.txn_log_records
    return named_moments(records, replayed.partition_info, proven)
