"""Which finished audit under an output folder a command is about."""

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from jobs.model.errors import UsageError
from jobs.spark import delta_tables


def finished_audit(spark: SparkSession, out: str, audit: str | None) -> Row:
    """The row of the table `audit` with that id, or the newest. Raises UsageError without one."""
    audits = delta_tables.read(spark, out, "audit")
    if audits is None:
        raise UsageError(f"--out {out} has no finished audit; run `audit --out {out}` first.")
    chosen = audits if audit is None else audits.filter(F.col("audit_id") == audit)
    rows = chosen.orderBy(F.desc("audit_number"), "audit_id").limit(1).collect()
    if not rows:
        known = ", ".join(row.audit_id for row in audits.select("audit_id").limit(20).collect())
        raise UsageError(f"--out {out} has no audit {audit}; set --audit to one of: {known}.")
    return rows[0]
