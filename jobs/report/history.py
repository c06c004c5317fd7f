"""An audit and the earlier ones of the same folder: its number, and what is new."""

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.report.facts import PastAudit
from jobs.report.verdict import OpenTransactions, Since
from schemas.verdicts import VIOLATION
from schemas.violation import FINDING_KEY

# What tells a copy of a partition from others.
COPY = ("topic", "partition", "broker")
# A file in a partition's folder, by its path.
IN_FOLDER = "([^/]+-[0-9]+)/[^/]+$"
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

    new: `before` lacks the finding, or it is a violation and was none there: proven_anew. It is
    there if one place of it is: retention may take the others.
    """
    if before is None:
        none = F.lit(None).cast("boolean")
        return findings.withColumns({"new": none, "proven_anew": none})
    proven = F.max(F.col("verdict") == VIOLATION).alias("proven")
    known = _places(before).groupBy("identity").agg(proven)
    found = _places(findings).join(known, on="identity", how="left")
    told = found.groupBy("key").agg(F.max("proven").alias("proven"))
    joined = findings.join(told, F.struct(*FINDING_KEY) == F.col("key"), "left")
    anew = F.coalesce((F.col("verdict") == VIOLATION) & ~F.col("proven"), F.lit(False))
    return joined.select(
        *findings.columns,
        (F.col("proven").isNull() | anew).alias("new"),
        anew.alias("proven_anew"),
    )


def _places(findings: DataFrame) -> DataFrame:
    """One row a place of a finding: key (FINDING_KEY), verdict, copy (COPY), identity.

    Two findings are the same where one of their identities is: check, producer id, topic,
    partition and first offset. Structs with nulls are equal where the nulls are.
    """
    fields = ("topic", "partition", "offset_first", "broker")
    places = F.array(F.struct(*fields))
    if "places" in findings.columns:
        several = F.transform("places", lambda one: F.struct(*[one[name] for name in fields]))
        places = F.coalesce(several, places)
    key = F.struct(*FINDING_KEY).alias("key")
    each = findings.select(key, "verdict", "code", "producer_id", F.explode(places).alias("place"))
    of_place = [f"place.{name}" for name in fields[:-1]]
    return each.select(
        "key",
        "verdict",
        F.struct(*[f"place.{name}" for name in COPY]).alias("copy"),
        F.struct("code", "producer_id", *of_place).alias("identity"),
    )


def since(previous_audit_id: str, findings: DataFrame, before: DataFrame, read: DataFrame) -> Since:
    """What changed between two audits; both are rows of the table `violation`.

    `read`: columns COPY, the copies of partitions that this audit could read. What the audit before
    found only in others, or proved by another partition that is not there now, is not gone.
    """
    there = _places(findings).select("identity")
    of_before = _places(before)
    kept = of_before.join(there, on="identity", how="left_semi").select("key")
    here = read.select(F.struct(*COPY).alias("read"))
    looked_at = of_before.join(here, _may_be_one(), "left_semi").select("key")
    unproven = _named_by_evidence(before).join(
        read.select(_folder(F.col("topic"), F.col("partition"))), on="folder", how="left_anti"
    )
    looked_at = looked_at.join(unproven.select("key"), on="key", how="left_anti")
    lost = before.withColumn("key", F.struct(*FINDING_KEY)).join(kept, on="key", how="left_anti")
    placeless = F.col("topic").isNull()
    gone = lost.filter(~placeless).join(looked_at, on="key", how="left_semi")
    fresh = marked(findings, before).filter(F.col("new"))
    sides = {
        "new": fresh,
        "gone": gone.unionByName(lost.filter(placeless)),
        "unseen": lost.filter(~placeless).join(looked_at, on="key", how="left_anti"),
    }
    rows = [frame.select("verdict", F.lit(side).alias("side")) for side, frame in sides.items()]
    told = (
        reduce(DataFrame.unionByName, rows)
        .groupBy("side", "verdict")
        .agg(F.count("*").alias("number"))
    )
    numbers: dict[str, dict[str, int]] = {side: {} for side in sides}
    for row in sorted(told.collect()):
        numbers[row.side][row.verdict] = row.number
    return Since(previous_audit_id, numbers["new"], numbers["gone"], unseen=numbers["unseen"])


def _folder(topic: Column, partition: Column) -> Column:
    return F.concat_ws("-", topic, partition.cast("string")).alias("folder")


def _named_by_evidence(findings: DataFrame) -> DataFrame:
    """One row a partition's folder in the evidence of a finding: key (FINDING_KEY), folder."""
    each = findings.select(
        F.struct(*FINDING_KEY).alias("key"), F.explode("evidence.file").alias("file")
    )
    folder = F.regexp_extract("file", IN_FOLDER, 1)
    return each.select("key", folder.alias("folder")).filter(F.col("folder") != "")


def _may_be_one() -> Column:
    """Whether two copies are one; a folder that names no broker may be any broker's."""
    place = (F.col("copy.topic") == F.col("read.topic")) & (
        F.col("copy.partition") == F.col("read.partition")
    )
    brokers = F.col("copy.broker"), F.col("read.broker")
    unknown = brokers[0].isNull() | brokers[1].isNull()
    return place & (unknown | (brokers[0] == brokers[1]))


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
