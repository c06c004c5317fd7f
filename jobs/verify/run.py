"""The engine: all checks of a context in one pass over its irregular rows.

A context may have millions of rows and dozens of checks. Rows on which no check can fire are
dropped first by the context's own `regular` column; on the rest, one `select` evaluates every
check that fires at all into an array of findings, which is then exploded.
"""

from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from jobs.spark.kept import KeptFrames
from jobs.verify.check import Check, Proof
from jobs.verify.contexts.context import PLACE_COLUMNS, Context
from jobs.verify.verdict import EXPLAINED, judge
from schemas.contexts import columns_of
from schemas.violation import EVIDENCE, FINDING_COLUMNS

# Columns of the place that a check may take from elsewhere than its context does.
MOVABLE_COLUMNS = ("offset_first", "offset_last", "producer_epoch", "file", "byte_position")
FIXED_COLUMNS = [name for name in PLACE_COLUMNS if name not in MOVABLE_COLUMNS]
OWN_COLUMNS = [field.name for field in FINDING_COLUMNS if field.name not in FIXED_COLUMNS]
FINDING_TYPES = {field.name: field.dataType for field in FINDING_COLUMNS}
RAN, SKIPPED, CRASHED = "ran", "skipped", "crashed"


# What a broken check may raise, when it is compiled or when it runs.
CHECK_ERRORS = (PySparkException, ValueError, TypeError)
# So many enriched rows of a context, with all its columns, are no burden for memory.
FEW_ROWS = 100_000


@dataclass(frozen=True)
class CheckOutcome:
    """What became of one check: `status` ran, skipped or crashed, and why where it did not run."""

    check: Check
    status: str
    detail: str | None


@dataclass(frozen=True)
class ContextFindings:
    """Findings of some checks as kept frames of FINDING_COLUMNS, and one outcome a check."""

    frames: list[DataFrame]
    outcomes: list[CheckOutcome]


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


def _cause(check: Check) -> Column:
    """Name and value of each column of the cause, as in `producer_id=4 producer_epoch=16`."""
    if not check.cause:
        return F.lit(None).cast("string")
    parts = [F.concat(F.lit(f"{name}="), check.place.get(name, name)) for name in check.cause]
    return F.concat_ws(" ", *parts)


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
        "remedy": check.remedy() if check.remedy else F.lit(None).cast("string"),
        "cause_id": _cause(check),
    }
    values |= {
        name: F.col(check.place.get(name, name)).cast(FINDING_TYPES[name])
        for name in MOVABLE_COLUMNS
    }
    columns = [value.alias(name) for name, value in values.items()]
    # A rule that is null does not fire: `when` has no value then.
    reported = check.fires() & (verdict != EXPLAINED)
    return F.when(reported, F.struct(*columns))


def _compiled(rows: DataFrame, checks: list[Check]) -> DataFrame:
    found = F.filter(F.array(*[finding(check) for check in checks]), lambda item: item.isNotNull())
    exploded = rows.select(*FIXED_COLUMNS, F.explode(found).alias("finding"))
    fields = {name: f"finding.{name}" for name in OWN_COLUMNS}
    return exploded.select(
        *[
            F.col(fields.get(field.name, field.name)).cast(field.dataType).alias(field.name)
            for field in FINDING_COLUMNS
        ]
    )


@dataclass(frozen=True)
class ContextScan:
    """A context after one pass over it: its irregular `rows`, enriched, and how many there were.

    `fired`: codes of the checks whose rule fires on at least one row; None where they could not
    be asked together because one of them, or what enriches the rows, is broken. `broken`: why the
    rows could not be enriched, None if they could.
    """

    context: Context
    rows: DataFrame
    rows_examined: int
    fired: frozenset[str] | None
    broken: str | None = None


def look(
    context: Context, checks: list[Check], kept: KeptFrames, keep_regular: bool = False
) -> ContextScan:
    """Passes over a context once: keeps the rows that need a look, and asks who fires at all.

    On a healthy log hardly any check fires, and the rest of a check (excuses, texts, evidence),
    which costs most of the planning, is never compiled. With `keep_regular` all rows are kept.
    """
    if context.empty:
        return ContextScan(context, context.rows, context.folded, frozenset())
    counted = Observation()
    wanted = F.lit(True) if keep_regular else context.is_irregular()
    observed = context.rows.observe(
        counted, F.count(F.lit(1)).alias("rows"), F.count_if(wanted).alias("irregular")
    )
    irregular = kept.keep(observed.filter(wanted), lambda: int(counted.get["irregular"]))
    examined = int(counted.get["rows"]) + context.folded
    number = int(counted.get["irregular"])
    if not number:
        return ContextScan(context, irregular, examined, frozenset())
    try:
        # What only led to these columns is computed no further.
        rows = context.enrich(irregular).select(*columns_of(context.name))
    except CHECK_ERRORS as error:
        return ContextScan(context, irregular, examined, None, _one_line(error))
    try:
        if number <= FEW_ROWS:
            rows, fired = _kept_and_asked(rows, checks, kept)
        else:
            fired = _asked(rows, checks)
    except CHECK_ERRORS:
        return ContextScan(context, rows, examined, None)
    return ContextScan(context, rows, examined, fired)


def _rules(checks: list[Check]) -> list[Column]:
    """Whether each check fires on any row, by its code; among them a count, so never none."""
    fire = [F.max(check.fires()).alias(check.code) for check in checks]
    return [F.count(F.lit(1)).alias("rows"), *fire]


def _asked(rows: DataFrame, checks: list[Check]) -> frozenset[str]:
    answer = rows.agg(*_rules(checks)).collect()[0]
    return frozenset(check.code for check in checks if answer[check.code])


def _kept_and_asked(
    rows: DataFrame, checks: list[Check], kept: KeptFrames
) -> tuple[DataFrame, frozenset[str]]:
    """Both in one query: findings do not plan and run the joins of the context again."""
    answer = Observation()
    enriched = kept.keep(rows.observe(answer, *_rules(checks)), lambda: int(answer.get["rows"]))
    return enriched, frozenset(check.code for check in checks if answer.get[check.code])


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:500]


def run_checks(looked: ContextScan, checks: list[Check], kept: KeptFrames) -> ContextFindings:
    """Findings of the checks of one context, computed, and what became of each check.

    A check that cannot be compiled or that fails while it runs has crashed: it takes no other
    with it, nor does it pass for silent.
    """
    chosen = [check for check in checks if looked.fired is None or check.code in looked.fired]
    silent = [CheckOutcome(check, RAN, None) for check in checks if check not in chosen]
    if not chosen:
        return ContextFindings([], silent)
    rows = looked.rows
    try:
        ran = [CheckOutcome(check, RAN, None) for check in chosen]
        return ContextFindings([_computed(rows, chosen, kept)], silent + ran)
    except CHECK_ERRORS:
        found = ContextFindings([], silent)
        for check in chosen:
            try:
                found.frames.append(_computed(rows, [check], kept))
                found.outcomes.append(CheckOutcome(check, RAN, None))
            except CHECK_ERRORS as error:
                why = looked.broken or _one_line(error)
                found.outcomes.append(CheckOutcome(check, CRASHED, why))
        return found


def _computed(rows: DataFrame, checks: list[Check], kept: KeptFrames) -> DataFrame:
    return kept.keep(_compiled(rows, checks))
