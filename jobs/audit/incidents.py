"""The incidents of an audit: which of the stages' results they are made of."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from jobs.audit.audit import Audit
from jobs.decode.decode import decode_options
from jobs.incidents.events import Logs
from jobs.incidents.groups import furthest_offsets, newest_offsets
from jobs.incidents.incidents import Incidents, Offsets, incidents
from jobs.incidents.known import Known
from jobs.incidents.leaders import judged_elections
from jobs.incidents.lineage import Traffic
from jobs.incidents.lost import first_differences
from jobs.incidents.signature import DIVERGED
from jobs.model.counted import count
from jobs.model.dump import DumpPartition, files_cleaned_below
from jobs.model.incident import NOT_DUMPED
from jobs.model.transactions import all_runs
from jobs.replay.offsets import in_effect
from jobs.spark.joins import inner, small
from jobs.spark.kept import is_known_empty
from jobs.spark.local import local_frame
from jobs.spark.session import TASKS_A_CORE
from schemas.lineage import BETWEEN, INPUT_COMMITS, METADATA_CHANGE, OWN_COMMIT, SENT, SURVIVED
from schemas.log_row import SPLIT
from schemas.topics import OFFSETS_TOPIC, TXN_LOG_TOPIC
from schemas.verdicts import VIOLATION
from udfs.arrow.data_between import Between, read_between
from udfs.arrow.input_commits import read_input_commits
from udfs.arrow.metadata_changes import read_changes
from udfs.arrow.own_commits import CommitsIn, read_own_commits
from udfs.arrow.sent_again import read_sends
from udfs.arrow.survivors import Asked, read_survivors

NOT_PRINTED = f"texts of {OFFSETS_TOPIC} were printed without --offsets-decoder"
NOT_READ_AGAIN = f"texts of {OFFSETS_TOPIC} are not read again"


def with_incidents(
    audit: Audit, tables: dict[str, DataFrame]
) -> tuple[Audit, dict[str, DataFrame]]:
    """The audit whose verdict names its incidents, and `tables` with theirs."""
    found = _found(audit, tables["partition_state"])
    if found is None:
        return audit, tables
    told = replace(audit, verdict=replace(audit.verdict, incidents=found.lines))
    return told, tables | {
        "incident": found.incident,
        "incident_finding": found.incident_finding,
        "consequence": found.consequence,
        "affected": found.affected,
        "affected_group": found.affected_group,
        "incident_event": found.incident_event,
    }


def _found(audit: Audit, states: DataFrame) -> Incidents | None:
    """The incidents; None, and no query, for an audit without a violation.

    `states`: rows of the table partition_state with partition_index.
    """
    if not audit.verdict.number("violation"):
        return None
    replayed, decoded = audit.replayed, audit.read.decoded

    kept = audit.read.kept

    def known(of_findings: DataFrame) -> Known:
        producers = _concerned(audit, of_findings)
        return Known(
            tolerance_ms=audit.request.settings.clock_tolerance_ms,
            decisions=_decisions(audit, producers),
            runs=replayed.states.join(producers, on="producer_id", how="left_semi"),
            transactions=replayed.transactions.join(producers, on="producer_id", how="left_semi"),
            regular=decoded.regular_of(producers),
            info=replayed.partition_info,
            states=states,
            open=replayed.open_transactions(),
            indexed=audit.aborts.lists.entries,
            owners=replayed.owners,
            files=audit.read.files,
            splits=replayed.splits,
            between=lambda ranges: _between(audit, ranges),
            commits_in=lambda ranges: _commits_in(audit, ranges),
            sends=lambda asked: _of_ranges(audit, asked, read_sends, SENT),
            survivors=lambda asked: _survivors(audit, asked),
        )

    copies = _copies_of_groups(audit)
    offsets = Offsets(
        *_commits_known(audit, copies),
        lambda: newest_offsets(
            in_effect(decoded, replayed.transactions), [row.partition_index for row in copies]
        ),
        Traffic(
            lambda: kept.keep(_input_commits(audit, copies)),
            replayed.transactions,
            decoded.regular_blocks(),
            replayed.partition_info,
            audit.request.settings.clock_tolerance_ms,
        ),
    )
    files = _metadata_files(audit)

    def logs(decisions: DataFrame | None) -> Logs:
        records = replayed.coordinator_log.txn_log_records
        changes = (
            None
            if not files
            else cache(lambda: kept.keep(judged_elections(_changes(audit, files))))
        )
        return Logs(decisions, records, changes)

    codes = {code for code, _, _ in audit.verdict.counts}
    return incidents(audit.verified.findings, codes, known, offsets, logs, kept)


def _concerned(audit: Audit, of_findings: DataFrame) -> DataFrame:
    """producer_id: of findings, and of those who wrote where copies differ, from there on.

    Their transactions may be in one copy alone, and nothing is wrong with them there.
    """
    proven = {code for code, _, verdict in audit.verdict.counts if verdict == VIOLATION}
    if DIVERGED not in proven:
        return of_findings
    replayed, findings = audit.replayed, audit.verified.findings
    found = first_differences(findings, replayed.partition_info)
    written = all_runs(replayed.states, audit.read.decoded.regular_transactions())
    behind = inner(written, small(found), on="partition_index")
    beside = behind.filter(F.col("last_offset") >= F.col("cut")).select("producer_id")
    return of_findings.unionByName(beside).distinct()


def _decisions(audit: Audit, producers: DataFrame) -> DataFrame | None:
    """The decisions about some producers; None where there are none."""
    if not any(one.topic == TXN_LOG_TOPIC for one in audit.dump.partitions):
        return None
    found = audit.read.kept.keep(audit.replayed.coordinator_log.decisions_of(producers))
    return None if is_known_empty(found) else found


def _input_commits(audit: Audit, copies: Sequence[Row]) -> DataFrame:
    """Rows of INPUT_COMMITS of some copies: see `furthest_offsets`."""
    begun = {one.partition_index for one in audit.dump.partitions if _has_its_head(one)}
    chosen = {row.partition_index for row in copies}
    whole = {row.partition_index for row in copies if not row.missing} & begun
    options = decode_options(audit.request.settings, "records")

    def read(batches: Iterator) -> Iterator:  # type: ignore[type-arg]
        return read_input_commits(batches, whole, options)

    return _again(
        audit, lambda split: split["partition_index"] in chosen and split["kind"] == "segment"
    ).mapInArrow(read, INPUT_COMMITS)


def _has_its_head(partition: DumpPartition) -> bool:
    """Whether no cleaner of its broker passed a copy, and nothing was taken from its head."""
    begins = partition.segments[0].base_offset if partition.segments else None
    return begins == 0 and not files_cleaned_below(partition)


def _copies_of_groups(audit: Audit) -> list[Row]:
    """See `furthest_offsets`; no query where the dump has none."""
    if not any(one.topic == OFFSETS_TOPIC for one in audit.dump.partitions):
        return []
    return furthest_offsets(audit.replayed.partition_info).collect()


def _lost_commits(copies: Sequence[Row]) -> str | None:
    """What no cleaner took of the groups' logs and nobody can read; None for nothing."""
    lost = [(row.partition, one.first, one.end - 1) for row in copies for one in row.holes or ()]
    if not lost:
        return None
    partition, first, last = min(lost)
    more = f" and {count(len(lost) - 1, 'more range')}" if len(lost) > 1 else ""
    return (
        f"offsets {first} to {last} of {OFFSETS_TOPIC}-{partition}{more} cannot be read, and the "
        "newest commits of a group may be among them"
    )


def _commits_known(audit: Audit, copies: Sequence[Row]) -> tuple[bool, str | None, str | None]:
    """`known`, `unknown` and `untraced` of Offsets. `copies`: see `furthest_offsets`."""
    mine = [one for one in audit.dump.partitions if one.topic == OFFSETS_TOPIC]
    files = [one for partition in mine for one in partition.segments]
    if not mine:
        return False, NOT_DUMPED, None
    if audit.request.depth != "records":
        return False, f"--depth {audit.request.depth} does not read {OFFSETS_TOPIC}", None
    texts = [one.text for one in files if one.text is not None]
    bare = [one for one in texts if one.lacks_records or not one.decoded]
    return (
        len(bare) < len(files) or not files,
        NOT_PRINTED if bare else _lost_commits(copies),
        NOT_READ_AGAIN if texts else None,
    )


def _between(audit: Audit, ranges: Mapping[int, Between]) -> DataFrame:
    """Rows of BETWEEN of some copies, by partition_index."""
    return _of_ranges(audit, ranges, read_between, BETWEEN)


def _commits_in(audit: Audit, ranges: Mapping[int, Sequence[CommitsIn]]) -> DataFrame:
    """Rows of OWN_COMMIT of some copies of partitions of __consumer_offsets."""
    return _of_ranges(audit, ranges, read_own_commits, OWN_COMMIT)


def _survivors(audit: Audit, asked: Mapping[int, Sequence[tuple[int, Asked]]]) -> DataFrame:
    """Rows of SURVIVED of some copies."""
    return _of_ranges(audit, asked, read_survivors, SURVIVED)


def _of_ranges(
    audit: Audit, ranges: Mapping[int, Any], read: Callable[..., Iterator[Any]], schema: StructType
) -> DataFrame:
    """What `read` finds in ranges of some copies, by partition_index; `schema`: its rows."""
    options = decode_options(audit.request.settings, "records")
    return _again(
        audit, lambda split: split["partition_index"] in ranges and split["kind"] == "segment"
    ).mapInArrow(lambda batches: read(batches, ranges, options), schema)


def _metadata_files(audit: Audit) -> frozenset[int]:
    """The files of the copy of `__cluster_metadata` that its facts are from; of several none."""
    copies = list(audit.read.decoded.clusters.furthest.values())
    return copies[0] if len(copies) == 1 else frozenset()


def _changes(audit: Audit, files: frozenset[int]) -> DataFrame:
    """Rows of METADATA_CHANGE of some files."""
    options = decode_options(audit.request.settings, "records")

    def read(batches: Iterator) -> Iterator:  # type: ignore[type-arg]
        return read_changes(batches, options)

    return _again(audit, lambda split: split["file_index"] in files).mapInArrow(
        read, METADATA_CHANGE
    )


def _again(audit: Audit, wanted: Callable[[dict[str, Any]], bool]) -> DataFrame:
    """Splits that are read a second time; not of what a text of kafka-dump-log prints."""
    splits = [
        tuple(split.get(name) for name in SPLIT.names)
        for split in audit.read.decoded.splits
        if split.get("first_byte") is None and split["length"] and wanted(split)
    ]
    spark = audit.replayed.partition_info.sparkSession
    tasks = min(max(len(splits), 1), spark.sparkContext.defaultParallelism * TASKS_A_CORE)
    return local_frame(spark, splits, SPLIT).repartition(tasks)
