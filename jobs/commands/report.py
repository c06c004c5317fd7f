"""`eosaudit report --out DIR [--audit ID]`: tells the result of a finished audit again."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs import _tables, report
from jobs._finished import finished_audit


def tell_again(spark: SparkSession, out: str, audit: str | None, per_code: int) -> tuple[str, int]:
    """(summary, exit code) of a finished audit. Raises UsageError where there is none."""
    verdict = report.Verdict.from_json(finished_audit(spark, out, audit).result)
    findings = _tables.read(spark, out, "violation")
    examples = []
    if findings is not None:
        mine = findings.filter(F.col("audit_id") == verdict.audit_id)
        examples = report.examples(mine, per_code)
    return report.summary(verdict, examples, out, per_code), verdict.exit_code
