"""One fault of a transaction over many partitions is one finding with all its places."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.model.found import ALL_ABORTED, PREPARE_RECORD
from jobs.verify.repeated import IN_ORDER
from jobs.verify.verdict import DECIDED_BY
from schemas.verdicts import INCONCLUSIVE
from schemas.violation import FINDING_COLUMNS, FINDING_PLACE, VIOLATION
from udfs.rules.logic import surely

# Places that a finding holds, and those that its message names.
MOST_PLACES = 1_000
MOST_NAMED = 20
OF_EACH = " (Offsets and commands are those of the first place.)"
SAME = ("code", "severity", "verdict", "reason", "cause_id", "decision", "turn")


def one_a_cause(findings: DataFrame) -> DataFrame:
    """Rows of FINDING_COLUMNS in, rows of VIOLATION without audit_id out.

    Findings of one check, verdict and cause in several partitions or copies become the first of
    them, by place; the message tells how many places there are and names the first, `places` has
    them, up to MOST_PLACES. What one cause did more than once in a partition stays apart: the first
    there is put to the first of each other partition. So do findings that name different Prepare
    records: before transaction.version 2 transactions share an epoch, and a finding with its one
    message and evidence cannot be about several of them. Nor are data that were surely aborted put
    to others: their finding says so, and may be the first.
    """
    caused = F.col("cause_id").isNotNull()
    place = F.struct(*FINDING_PLACE.names)
    of_partition = Window.partitionBy(
        "code", "verdict", "reason", "cause_id", "decision", "topic", "partition", "broker"
    ).orderBy(*IN_ORDER)
    rest = [field.name for field in FINDING_COLUMNS if field.name not in SAME]
    joined = (
        findings.filter(caused)
        .withColumn("decision", _decision())
        .withColumn("turn", F.row_number().over(of_partition))
        .groupBy(*SAME)
        .agg(
            F.min_by(F.struct(*rest), place).alias("first"),
            F.array_sort(F.collect_list(place)).alias("places"),
        )
        .select(*SAME, "first.*", "places")
        .withColumn("message", F.concat("message", _sentence()))
        .withColumn("remedy", F.concat("remedy", _more(F.lit(OF_EACH))))
        .withColumn("places", F.when(F.size("places") > 1, F.slice("places", 1, MOST_PLACES)))
    )
    columns = [field for field in VIOLATION if field.name != "audit_id"]
    nothing = F.lit(None).cast(VIOLATION["places"].dataType)
    alone = findings.filter(~caused).withColumn("places", nothing)
    every = alone.unionByName(joined.drop("turn", "decision"))
    return every.withColumn("remedy", _remedy()).select(
        *[F.col(field.name).cast(field.dataType) for field in columns]
    )


def _remedy() -> Column:
    """That of the check; where another dump decides whether anything is wrong, that comes first."""
    first: Column = F.lit("")
    for reason, dump in DECIDED_BY.items():
        # There may be none: what an id wrote expires, and a topic may be deleted.
        first_step = f"Audit {dump} first, if there is one: nothing may be wrong."
        sentence = f"{first_step} If the finding stays, or there is none: "
        undecided = (F.col("verdict") == INCONCLUSIVE) & (F.col("reason") == reason)
        first = F.when(undecided, F.lit(sentence)).otherwise(first)
    return F.concat(first, "remedy")


def _decision() -> Column:
    """Where the Prepare record lies that a finding names, null for none; whether it tells ABORT."""
    named = F.filter("evidence", lambda one: one["role"] == PREPARE_RECORD)
    first = F.get(named, F.lit(0))
    return F.struct(
        first["file"].alias("file"),
        first["byte_position"].alias("position"),
        surely(F.col("found").contains(ALL_ABORTED)).alias("all_aborted"),
    )


def _more(text: Column) -> Column:
    """What is added only to a finding with several places."""
    return F.when(F.size("places") > 1, text).otherwise(F.lit(""))


def _sentence() -> Column:
    """Counts and names all places, at the end of a message; empty for a finding with one place."""
    named = F.transform(
        F.slice("places", 1, MOST_NAMED),
        lambda one: F.concat(
            one["topic"],
            F.lit("-"),
            one["partition"],
            F.coalesce(F.concat(F.lit(" at "), one["offset_first"]), F.lit("")),
            F.coalesce(F.concat(F.lit(" on broker "), one["broker"]), F.lit("")),
        ),
    )
    more = F.when(F.size("places") > MOST_NAMED, F.lit(", …")).otherwise(F.lit(""))
    text = F.concat(
        F.lit(" It shows in "), F.size("places"), F.lit(" places: "),
        F.array_join(named, ", "), more, F.lit("."),
    )  # fmt: skip
    return _more(text)
