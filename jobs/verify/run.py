"""The engine: all checks of a context in one pass over its irregular rows.

A context may have millions of rows and dozens of checks. Rows on which no check can fire are
dropped first by the context's own `regular` column; on the rest, one `select` evaluates every
check into an array of findings, which is then exploded.
"""

from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.verify.check import Check, Proof
from jobs.verify.contexts.context import Context
from jobs.verify.verdict import EXPLAINED, judge
from schemas.violation import EVIDENCE, FINDING_COLUMNS

RAN, SKIPPED, CRASHED = "ran", "skipped", "crashed"


@dataclass(frozen=True)
class Outcome:
    """What became of one check: `status` ran, skipped or crashed, and why where it did not run."""

    check: Check
    status: str
    detail: str | None


def _evidence(proofs: tuple[Proof, ...]) -> Column:
    items = [
        F.when(
            F.col(proof.position).isNotNull(),
            F.struct(
                F.col(proof.file).alias("file"),
                F.col(proof.position).cast("long").alias("byte_position"),
                F.col(proof.length).cast("long").alias("byte_length"),
                F.lit(proof.role).alias("role"),
            ),
        )
        for proof in proofs
    ]
    present = F.filter(F.array(*items), lambda item: item.isNotNull())
    return present.cast(f"array<{EVIDENCE.simpleString()}>")


def finding(check: Check) -> Column:
    """The finding of a check on a row as a struct, null where it does not fire."""
    verdict, reason = judge(check.excuses)
    values = {
        "code": F.lit(check.code),
        "severity": F.lit(check.severity),
        "verdict": verdict,
        "reason": reason,
        "expected": check.expected(),
        "found": check.found(),
        "evidence": _evidence(check.proofs),
        "message": check.message(),
        "remedy": check.remedy() if check.remedy else F.lit(None),
    }
    columns = [
        values.get(field.name, F.col(field.name)).cast(field.dataType).alias(field.name)
        for field in FINDING_COLUMNS
    ]
    reported = F.coalesce(check.fires(), F.lit(False)) & (verdict != EXPLAINED)
    return F.when(reported, F.struct(*columns))


def _compiled(rows: DataFrame, checks: list[Check]) -> DataFrame:
    found = F.filter(F.array(*[finding(check) for check in checks]), lambda item: item.isNotNull())
    return rows.select(F.explode(found).alias("finding")).select("finding.*")


def _usable(context: Context, checks: list[Check], keep_regular: bool) -> list[Outcome]:
    """Tries to compile each check alone; one that cannot be compiled has crashed."""
    outcomes = []
    for check in checks:
        try:
            _compiled(context.irregular(keep_regular), [check]).schema  # noqa: B018
        except (PySparkException, ValueError, TypeError) as error:
            outcomes.append(Outcome(check, CRASHED, _one_line(error)))
        else:
            outcomes.append(Outcome(check, RAN, None))
    return outcomes


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:500]


def run_context(
    context: Context, checks: list[Check], depth: str, keep_regular: bool = False
) -> tuple[DataFrame | None, list[Outcome]]:
    """Findings of all checks of one context and what became of each check.

    The frame has `schemas.violation.FINDING_COLUMNS`; None when no check could run. With
    `keep_regular` the shortcut over regular rows is not taken: the findings must be the same.
    """
    skipped = [
        Outcome(check, SKIPPED, "needs the records, which --depth headers does not read")
        for check in checks
        if check.needs_records and depth != "records"
    ]
    chosen = [check for check in checks if not (check.needs_records and depth != "records")]
    outcomes = _usable(context, chosen, keep_regular)
    running = [outcome.check for outcome in outcomes if outcome.status == RAN]
    if not running:
        return None, skipped + outcomes
    return _compiled(context.irregular(keep_regular), running), skipped + outcomes
