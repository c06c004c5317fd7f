"""The incidents of an audit: which of the stages' results they are made of."""

from dataclasses import replace

from pyspark.sql import DataFrame

from jobs.audit.audit import Audit
from jobs.incidents.consequences import Known
from jobs.incidents.groups import newest_offsets
from jobs.incidents.incidents import Incidents, incidents
from schemas.topics import OFFSETS_TOPIC


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
        "affected_group": found.affected_group,
    }


def _found(audit: Audit, states: DataFrame) -> Incidents | None:
    """The incidents; None, and no query, for an audit without a violation.

    `states`: rows of the table partition_state with partition_index.
    """
    if not audit.verdict.number("violation"):
        return None
    replayed, decoded = audit.replayed, audit.read.decoded

    def known(producers: DataFrame) -> Known:
        return Known(
            decisions=replayed.coordinator_log.decisions_of(producers),
            runs=replayed.states.join(producers, on="producer_id", how="left_semi"),
            transactions=replayed.transactions,
            regular=decoded.regular_transactions().join(
                producers, on="producer_id", how="left_semi"
            ),
            info=replayed.partition_info,
            states=states,
        )

    def offsets() -> DataFrame:
        return newest_offsets(decoded.effective_commits(), replayed.partition_info)

    groups_known = any(one.topic == OFFSETS_TOPIC for one in audit.dump.partitions)
    return incidents(audit.verified.findings, known, offsets, audit.read.kept, groups_known)
