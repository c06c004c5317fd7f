"""The incidents of an audit: which of the stages' results they are made of."""

from pyspark.sql import DataFrame

from jobs.audit.audit import Audit
from jobs.incidents.consequences import Known
from jobs.incidents.groups import newest_offsets
from jobs.incidents.incidents import incidents


def incident_tables(audit: Audit, states: DataFrame) -> dict[str, DataFrame]:
    """Table name -> rows; nothing, and no query, for an audit without a violation.

    `states`: rows of the table partition_state with partition_index.
    """
    if not audit.verdict.number("violation"):
        return {}
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

    found = incidents(audit.verified.findings, known, offsets, audit.read.kept)
    return {
        "incident": found.incident,
        "incident_finding": found.incident_finding,
        "consequence": found.consequence,
        "affected_group": found.affected_group,
    }
