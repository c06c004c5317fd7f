"""An audit and the earlier ones of the same folder: its number, and what is new."""

from dataclasses import dataclass
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.report.facts import PastAudit
from jobs.report.verdict import OpenTransactions, Since
from schemas.verdicts import VIOLATION

# Two findings are the same finding where these agree, whatever their verdicts.
IDENTITY = ("code", "topic", "partition", "offset_first", "producer_id")
# A page shows a season of nightly audits.
LONGEST_HISTORY = 90


@dataclass(frozen=True)
class Newest:
    """The audit that was finished last in a folder; None for what its table does not tell."""

    audit_id: str
    audit_number: int
    as_of_ms: int | None
    configuration: str
    input_digest: str | None = None
    code_digest: str | None = None


def newest(audits: DataFrame) -> Newest | None:
    """The newest row of the table `audit`; None where it is empty."""
    names = [name for name in Newest.__dataclass_fields__ if name in audits.columns]
    rows = audits.orderBy(F.desc("audit_number"), "audit_id").select(*names).limit(1).collect()
    return Newest(**rows[0].asDict()) if rows else None


def marked(findings: DataFrame, before: DataFrame | None) -> DataFrame:
    """The findings with `new` and `proven_anew`; both null without a `before`.

    new: `before` lacks the finding, or it is a violation and was none there: proven_anew.
    """
    if before is None:
        none = F.lit(None).cast("boolean")
        return findings.withColumns({"new": none, "proven_anew": none})
    keys = [F.col(name).alias(f"before_{name}") for name in IDENTITY]
    proven = (F.col("verdict") == VIOLATION).alias("proven")
    known = before.select(*keys, proven).groupBy(*[f"before_{name}" for name in IDENTITY])
    joined = findings.join(known.agg(F.max("proven").alias("proven")), _same(), "left")
    anew = F.coalesce((F.col("verdict") == VIOLATION) & ~F.col("proven"), F.lit(False))
    return joined.select(
        *findings.columns,
        (F.col("proven").isNull() | anew).alias("new"),
        anew.alias("proven_anew"),
    )


def _same() -> Column:
    return reduce(and_, [F.col(name).eqNullSafe(F.col(f"before_{name}")) for name in IDENTITY])


def since(previous_audit_id: str, findings: DataFrame, before: DataFrame) -> Since:
    """What changed between two audits; both are rows of the table `violation`."""
    mine = findings.select(*[F.col(name).alias(f"before_{name}") for name in IDENTITY])
    gone = before.join(mine, _same(), "left_anti")
    fresh = marked(findings, before).filter(F.col("new"))
    rows = (
        fresh.select("verdict", F.lit("new").alias("side"))
        .unionByName(gone.select("verdict", F.lit("gone").alias("side")))
        .groupBy("side", "verdict")
        .agg(F.count("*").alias("number"))
        .collect()
    )
    numbers: dict[str, dict[str, int]] = {"new": {}, "gone": {}}
    for row in sorted(rows):
        numbers[row.side][row.verdict] = row.number
    return Since(previous_audit_id, numbers["new"], numbers["gone"])


def new_incidents(explained: DataFrame, before: DataFrame) -> dict[int, bool]:
    """Number of an incident -> whether the audit before had none of its violations.

    `explained`: rows of the table incident_finding; `before`: of violation.
    """
    proven = explained.filter(F.col("incident").isNotNull() & (F.col("verdict") == VIOLATION))
    known = marked(proven, before.filter(F.col("verdict") == VIOLATION))
    rows = known.groupBy("incident").agg(F.bool_and("new").alias("new")).collect()
    return {row.incident: row.new for row in rows}


def lag() -> Column:
    """Offsets that read_committed consumers wait for, of a row of `partition_state`."""
    end = F.coalesce("high_watermark", "log_end_offset")
    return F.greatest(end - F.col("last_stable_offset"), F.lit(0))


def open_transactions(states: DataFrame) -> OpenTransactions:
    """What the rows of `partition_state` say of transactions without a marker."""
    row = states.agg(
        F.coalesce(F.sum("open_transactions"), F.lit(0)).alias("number"),
        F.min("lso_since_ms").alias("oldest"),
        F.coalesce(F.max(lag()), F.lit(0)).alias("lag"),
    ).collect()[0]
    return OpenTransactions(row.number, row.oldest, row.lag)


def past_audits(audits: DataFrame, audit_number: int) -> tuple[PastAudit, ...]:
    """The audits up to and with a number, oldest first, at most LONGEST_HISTORY."""
    names = list(PastAudit.__dataclass_fields__)
    chosen = audits.filter(F.col("audit_number") <= audit_number).select(*names)
    rows = chosen.orderBy(F.desc("audit_number"), "audit_id").limit(LONGEST_HISTORY).collect()
    return tuple(PastAudit(**row.asDict()) for row in reversed(rows))
