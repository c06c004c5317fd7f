"""Builds the contexts and runs all checks over them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from jobs.verify.catalogue import CHECKS
from jobs.verify.check import Check
from jobs.verify.contexts.context import Context
from jobs.verify.run import CRASHED, RAN, Outcome, run_context
from schemas.violation import FINDING_COLUMNS


@dataclass(frozen=True)
class Verified:
    """`findings`: rows of FINDING_COLUMNS. `outcomes`: one a check, in catalogue order.

    `rows_examined`: context name -> rows, filled by `settle`.
    """

    findings: DataFrame
    outcomes: list[Outcome]
    rows_examined: dict[str, int]
    contexts: list[Context]


def verify(
    contexts: list[Context],
    depth: str,
    checks: tuple[Check, ...] = CHECKS,
    keep_regular: bool = False,
) -> Verified:
    """Runs every check over its context. A check without a context has crashed, not passed."""
    by_name = {context.name: context for context in contexts}
    frames: list[DataFrame] = []
    outcomes: list[Outcome] = []
    for name in dict.fromkeys(check.context for check in checks):
        mine = [check for check in checks if check.context == name]
        if name not in by_name:
            outcomes += [Outcome(check, CRASHED, f"no context named {name}") for check in mine]
            continue
        frame, what_became = run_context(by_name[name], mine, depth, keep_regular)
        outcomes += what_became
        if frame is not None:
            frames.append(frame)
    order = {check.code: number for number, check in enumerate(checks)}
    outcomes.sort(key=lambda outcome: order[outcome.check.code])
    return Verified(_union(frames, contexts), outcomes, {}, contexts)


def _union(frames: list[DataFrame], contexts: list[Context]) -> DataFrame:
    """All findings in one frame; an empty one where no check ran."""
    spark = contexts[0].rows.sparkSession
    nothing = spark.createDataFrame([], StructType(list(FINDING_COLUMNS)))
    return reduce(DataFrame.unionByName, frames, nothing)


def settle(verified: Verified, again: Callable[[Check], Verified]) -> Verified:
    """Computes the findings; if that fails, finds the checks at fault and leaves them out.

    `again` verifies one check alone. A check that fails while it runs (an overflow, say) must
    not take the others with it, nor pass for silent.
    """
    examined = {context.name: context.rows.count() for context in verified.contexts}
    kept = verified.findings.persist()
    try:
        kept.count()
    except PySparkException:
        kept.unpersist()
        frames, outcomes = _one_by_one(verified, again)
        kept = _union(frames, verified.contexts).persist()
        return Verified(kept, outcomes, examined, verified.contexts)
    return Verified(kept, verified.outcomes, examined, verified.contexts)


def _one_by_one(
    verified: Verified, again: Callable[[Check], Verified]
) -> tuple[list[DataFrame], list[Outcome]]:
    frames: list[DataFrame] = []
    outcomes: list[Outcome] = []
    for outcome in verified.outcomes:
        if outcome.status != RAN:
            outcomes.append(outcome)
            continue
        alone = again(outcome.check).findings
        try:
            alone = alone.persist()
            alone.count()
            frames.append(alone)
            outcomes.append(outcome)
        except PySparkException as error:
            detail = str(error).splitlines()[0][:500]
            outcomes.append(Outcome(outcome.check, CRASHED, detail))
    return frames, outcomes


def counts_by_code(findings: DataFrame) -> dict[tuple[str, str, str], int]:
    """(code, severity, verdict) -> number of findings."""
    rows = findings.groupBy("code", "severity", "verdict").agg(F.count("*").alias("number"))
    return {(row.code, row.severity, row.verdict): row.number for row in rows.collect()}
