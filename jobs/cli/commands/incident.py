"""`eosaudit explain --out DIR --incident N`: what happened, whom it hit, what to do."""

from pyspark.sql import SparkSession

from jobs.cli.commands.report import finished
from jobs.model.errors import UsageError
from jobs.report.incident_text import told
from jobs.report.incidents import incidents


def explain_incident(spark: SparkSession, out: str, audit: str | None, number: int) -> str:
    """The text of one incident. Raises UsageError where the audit has no such incident."""
    result = finished(spark, out, audit)
    lines = {one.incident: one for one in result.verdict.incidents}
    found = incidents(result.table, number) if number in lines else ()
    if not found:
        known = ", ".join(str(one) for one in lines) or "none"
        raise UsageError(
            f"audit {result.verdict.audit_id} has no incident {number}; it has: {known}."
        )
    return f"{told(found[0], lines[number])}\n\nAudit {result.verdict.audit_id}."
