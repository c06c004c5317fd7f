"""The incidents of an audit: which of the stages' results they are made of."""

from collections.abc import Iterator
from dataclasses import replace

from pyspark.sql import DataFrame

from jobs.audit.audit import Audit
from jobs.decode.decode import decode_options
from jobs.incidents.consequences import Known
from jobs.incidents.groups import furthest_offsets, newest_offsets
from jobs.incidents.incidents import Incidents, Offsets, incidents
from jobs.incidents.lineage import Traffic
from jobs.spark.session import TASKS_A_CORE
from schemas.lineage import INPUT_COMMITS
from schemas.log_row import SPLIT
from schemas.topics import OFFSETS_TOPIC
from udfs.arrow.input_commits import read_input_commits


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
    }


def _found(audit: Audit, states: DataFrame) -> Incidents | None:
    """The incidents; None, and no query, for an audit without a violation.

    `states`: rows of the table partition_state with partition_index.
    """
    if not audit.verdict.number("violation"):
        return None
    replayed, decoded = audit.replayed, audit.read.decoded

    kept = audit.read.kept

    def known(producers: DataFrame) -> Known:
        return Known(
            decisions=kept.keep(replayed.coordinator_log.decisions_of(producers)),
            runs=replayed.states.join(producers, on="producer_id", how="left_semi"),
            transactions=replayed.transactions.join(producers, on="producer_id", how="left_semi"),
            regular=decoded.regular_of(producers),
            info=replayed.partition_info,
            states=states,
            files=audit.read.files,
        )

    offsets = Offsets(
        any(one.topic == OFFSETS_TOPIC for one in audit.dump.partitions),
        lambda: newest_offsets(decoded.effective_commits(), replayed.partition_info),
        Traffic(
            lambda: kept.keep(_input_commits(audit)),
            replayed.transactions,
            decoded.regular_blocks(),
            replayed.partition_info,
        ),
    )
    return incidents(audit.verified.findings, known, offsets, kept)


def _input_commits(audit: Audit) -> DataFrame:
    """Rows of INPUT_COMMITS, of the copy of each offsets partition that reaches furthest."""
    info = audit.replayed.partition_info
    chosen = {row.partition_index for row in furthest_offsets(info).collect()}
    options = decode_options(audit.request.settings, "records")
    splits = [
        tuple(split.get(name) for name in SPLIT.names)
        for split in audit.read.decoded.splits
        if split["partition_index"] in chosen and split["kind"] == "segment"
        # What a text of kafka-dump-log prints is not read a second time.
        if split.get("first_byte") is None and split["length"]
    ]
    context = info.sparkSession.sparkContext
    tasks = min(max(len(splits), 1), context.defaultParallelism * TASKS_A_CORE)
    source = info.sparkSession.createDataFrame(context.parallelize(splits, tasks), SPLIT)

    def read(batches: Iterator) -> Iterator:  # type: ignore[type-arg]
        return read_input_commits(batches, options)

    return source.mapInArrow(read, INPUT_COMMITS)
