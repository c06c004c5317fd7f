"""Runs all checks over their contexts."""

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from jobs.spark.kept import KeptFrames
from jobs.spark.local import local_frame
from jobs.spark.threads import side_by_side
from jobs.verify.catalogue import CHECKS
from jobs.verify.check import Check
from jobs.verify.contexts.context import Context
from jobs.verify.places import one_a_cause
from jobs.verify.repeated import combined
from jobs.verify.run import (
    CRASHED,
    SKIPPED,
    CheckOutcome,
    ContextFindings,
    ContextScan,
    look,
    run_checks,
)
from jobs.verify.verdict import over_clusters
from schemas.violation import VIOLATION

# Contexts are independent; planning one overlaps with computing another.
CONTEXTS_AT_ONCE = 4


@dataclass(frozen=True)
class Verified:
    """`findings`: rows of VIOLATION without audit_id, kept.

    `outcomes`: one a check, in catalogue order. `rows_examined`: context name -> rows.
    """

    findings: DataFrame
    outcomes: list[CheckOutcome]
    rows_examined: dict[str, int]


def verify(
    spark: SparkSession,
    contexts: list[Context],
    depth: str,
    kept: KeptFrames,
    checks: tuple[Check, ...] = CHECKS,
    one_cluster: bool = True,
) -> Verified:
    """Runs every check over its context. A check without a context has crashed, not passed.

    Unless the dump is of `one_cluster`, what only makes sense within one is never accused.
    """
    by_name = {context.name: context for context in contexts}
    wanted = list(dict.fromkeys(check.context for check in checks))

    def examine(name: str) -> tuple[ContextScan | None, ContextFindings]:
        mine = [check for check in checks if check.context == name]
        if name not in by_name:
            detail = f"no context named {name}"
            return None, ContextFindings(
                [], [CheckOutcome(check, CRASHED, detail) for check in mine]
            )
        skipped = [
            CheckOutcome(check, SKIPPED, "needs the records, which --depth headers does not read")
            for check in mine
            if check.needs_records and depth != "records"
        ]
        left_out = {outcome.check.code for outcome in skipped}
        asked = [check for check in mine if check.code not in left_out]
        looked = look(by_name[name], asked, kept)
        found = run_checks(looked, asked, kept)
        frames = found.frames
        if by_name[name].within_cluster and not one_cluster:
            frames = [over_clusters(frame) for frame in frames]
        return looked, ContextFindings(frames, found.outcomes + skipped)

    with side_by_side(CONTEXTS_AT_ONCE) as pool:
        results = list(pool.map(examine, wanted))
    order = {check.code: number for number, check in enumerate(checks)}
    outcomes = [outcome for _, found in results for outcome in found.outcomes]
    outcomes.sort(key=lambda outcome: order[outcome.check.code])
    frames = [frame for _, found in results for frame in found.frames]
    nothing = local_frame(spark, [], StructType(VIOLATION.fields[1:]))
    rows = one_a_cause(combined(reduce(DataFrame.unionByName, frames))) if frames else nothing
    findings = kept.keep(rows.coalesce(1))
    examined = {looked.context.name: looked.rows_examined for looked, _ in results if looked}
    return Verified(findings, outcomes, examined)


def counts_by_code(findings: DataFrame) -> dict[tuple[str, str, str], int]:
    """(code, severity, verdict) -> number of findings."""
    rows = findings.groupBy("code", "severity", "verdict").agg(F.count("*").alias("number"))
    return {(row.code, row.severity, row.verdict): row.number for row in rows.collect()}
