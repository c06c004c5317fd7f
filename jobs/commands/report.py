"""`eosaudit report --out DIR [--audit ID]`: tells the result of a finished audit again."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs import _tables, report
from jobs._errors import UsageError


def tell_again(spark: SparkSession, out: str, audit: str | None, per_code: int) -> tuple[str, int]:
    """(summary, exit code) of a finished audit. Raises UsageError where there is none."""
    audits = _tables.read(spark, out, "audit")
    if audits is None:
        raise UsageError(f"--out {out} holds no finished audit; run `audit --out {out}` first.")
    chosen = audits if audit is None else audits.filter(F.col("audit_id") == audit)
    rows = chosen.select("audit_id", "result").orderBy("audit_id").limit(20).collect()
    if len(rows) != 1:
        known = ", ".join(row.audit_id for row in audits.select("audit_id").limit(20).collect())
        problem = f"no audit {audit}" if audit else "more than one audit"
        raise UsageError(f"--out {out} holds {problem}; choose with --audit one of: {known}.")
    verdict = report.Verdict.from_json(rows[0].result)
    findings = _tables.read(spark, out, "violation")
    examples = []
    if findings is not None:
        mine = findings.filter(F.col("audit_id") == verdict.audit_id)
        examples = report.examples(mine, per_code)
    return report.summary(verdict, examples, out, per_code), verdict.exit_code
