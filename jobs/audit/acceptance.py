"""Puts an acceptance policy to the tables of an audit, while it runs or long after."""

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from jobs.audit.audit import Audit
from jobs.audit.write import audit_row
from jobs.model.expectation_results import Judged, outcome
from jobs.policy.suites import Policy
from jobs.report.verdict import Verdict
from jobs.spark import delta_tables
from schemas.tables import TABLES


def judged(
    spark: SparkSession, audit: Audit, tables: dict[str, DataFrame], policy: Policy
) -> Audit:
    """The audit with what became of the policy; `tables`: what is about to be written."""
    verdict = audit.verdict
    rows = tables | {"audit": audit_row(spark, audit, verdict)}
    written = {name: delta_tables.stamped(rows[name], name, verdict.audit_id) for name in rows}
    judgement = _judged(policy, written, verdict)
    return replace(
        audit,
        verdict=replace(verdict, policy=judgement.outcome),
        expectation_results=judgement.results,
    )


def judged_again(spark: SparkSession, out: str, verdict: Verdict, policy: Policy) -> Verdict:
    """The verdict of a finished audit under another policy, from its stored tables."""
    stored = {name: delta_tables.read(spark, out, name, verdict.audit_id) for name in TABLES}
    mine = {name: rows for name, rows in stored.items() if rows is not None}
    return replace(verdict, policy=_judged(policy, mine, verdict).outcome)


def _judged(policy: Policy, tables: dict[str, DataFrame], verdict: Verdict) -> Judged:
    # What this imports takes seconds, and only an audit with a policy needs it.
    try:
        from jobs.policy.judge import judge  # noqa: PLC0415
        from jobs.policy.subjects import Results  # noqa: PLC0415
    except ImportError as error:
        return _not_judged(policy, f"the driver does not have the package {error.name}")
    except SystemExit:
        # Spark Connect ends a program without a file, as a success, where it lacks packages.
        return _not_judged(policy, "it needs a program in a file, not `python -c` or a pipe")
    return judge(policy, Results(tables, verdict.as_of_ms))


def _not_judged(policy: Policy, reason: str) -> Judged:
    problem = f"The acceptance policy could not be evaluated: {reason}."
    return Judged([], outcome(policy.digest, [], [problem]))
