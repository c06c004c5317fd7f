"""`eosaudit report --out DIR [--audit ID]`: tells the result of a finished audit again."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs import _tables, report
from jobs._acceptance import judged_again
from jobs._finished import finished_audit
from jobs.policy.suites import Policy


def tell_again(
    spark: SparkSession, out: str, audit: str | None, policy: Policy | None, per_code: int
) -> tuple[str, int]:
    """(summary, exit code) of a finished audit. Raises UsageError where there is none.

    With a policy its stored tables are judged by that one instead; nothing is written.
    """
    verdict = report.Verdict.from_json(finished_audit(spark, out, audit).result)
    if policy:
        verdict = judged_again(spark, out, verdict, policy)
    findings = _tables.read(spark, out, "violation")
    examples = []
    if findings is not None:
        mine = findings.filter(F.col("audit_id") == verdict.audit_id)
        examples = report.examples(mine, per_code)
    return report.summary(verdict, examples, out, per_code), verdict.exit_code
