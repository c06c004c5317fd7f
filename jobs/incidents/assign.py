"""Which incident explains which finding: rules of the signatures over all findings, on Spark."""

from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.incidents.catalogue import SIGNATURES
from jobs.incidents.signature import LOST, MISSING_MARKER, UNEXPLAINED, Traits
from jobs.model.found import NO_DATA
from jobs.spark.joins import small
from schemas.violation import FINDING_PLACE

VIOLATION = "violation"
PLACE = ("broker", "topic", "partition")
# Columns by which a finding is found again in the table `violation`.
KEY = (
    "code", "verdict", "reason", *PLACE, "offset_first", "producer_id", "producer_epoch", "file",
    "byte_position",
)  # fmt: skip


@dataclass(frozen=True)
class FindingTraits:
    """The traits of a row with the columns label, beside_labels and producer_labels."""

    label: Column
    beside_labels: Column
    producer_labels: Column

    def one_of(self, *codes: str) -> Any:
        """See `Traits`."""
        own = self.label.isin(*codes)
        return own | (self.label == LOST) if MISSING_MARKER in codes else own

    def beside(self, *codes: str) -> Any:
        """See `Traits`."""
        return _any_of(self.beside_labels, codes)

    def of_producer(self, *codes: str) -> Any:
        """See `Traits`."""
        return _any_of(self.producer_labels, codes)


def _any_of(labels: Column, codes: tuple[str, ...]) -> Column:
    wanted = (*codes, LOST) if MISSING_MARKER in codes else codes
    return F.arrays_overlap(labels, F.array(*[F.lit(code) for code in wanted]))


def first_kind(finding: Traits) -> Column:
    """The signature that takes a finding: the first of the catalogue, or none."""
    kind = F.lit(UNEXPLAINED)
    for signature in reversed(SIGNATURES):
        taken = F.coalesce(signature.explains(finding), F.lit(False))
        kind = F.when(taken, F.lit(signature.name)).otherwise(kind)
    return kind


def at_places(findings: DataFrame) -> DataFrame:
    """One row a finding and place; the columns of the place are its own."""
    names = list(FINDING_PLACE.names)
    alone = F.array(F.struct(*names))
    others = [name for name in findings.columns if name not in (*names, "places")]
    return findings.select(
        *others, F.explode(F.coalesce("places", alone)).alias("place")
    ).select(*others, "place.*")  # fmt: skip


def assigned(findings: DataFrame) -> DataFrame:
    """Rows of VIOLATION without audit_id, with `finding` (a number), kind and incident_broker.

    `findings` is kept, so that the numbers are the same each time they are asked for.
    """
    lost = (F.col("code") == MISSING_MARKER) & F.col("found").startswith(NO_DATA)
    label = F.when(lost, F.lit(LOST)).otherwise(F.col("code"))
    numbered = findings.withColumns({"label": label, "finding": F.monotonically_increasing_id()})
    weighty = numbered.filter(F.col("verdict").isin(VIOLATION, "suspect"))
    placed = at_places(numbered.select("finding", *FINDING_PLACE.names, "places"))
    by_place = (
        at_places(weighty.select("label", *FINDING_PLACE.names, "places"))
        .groupBy("topic", "partition")
        .agg(F.collect_set("label").alias("labels"))
    )
    beside = (
        placed.join(small(by_place), on=["topic", "partition"])
        .groupBy("finding")
        .agg(F.array_distinct(F.flatten(F.collect_list("labels"))).alias("beside_labels"))
    )
    of_producer = (
        weighty.filter(F.col("producer_id").isNotNull())
        .groupBy("producer_id")
        .agg(F.collect_set("label").alias("producer_labels"))
    )
    nothing = F.array().cast("array<string>")
    known = (
        numbered.join(beside, on="finding", how="left")
        .join(of_producer, on="producer_id", how="left")
        .withColumns(
            {name: F.coalesce(name, nothing) for name in ("beside_labels", "producer_labels")}
        )
    )
    traits = FindingTraits(F.col("label"), F.col("beside_labels"), F.col("producer_labels"))
    by_broker = F.col("kind").isin(*[one.name for one in SIGNATURES if one.by_broker])
    return (
        known.withColumn("kind", first_kind(traits))
        .withColumn("incident_broker", F.when(by_broker, F.col("broker")))
        .drop("beside_labels", "producer_labels")
    )


def counted(kinds: DataFrame) -> DataFrame:
    """One row a kind and broker with a violation: numbers, codes violated, topics."""
    violated = F.col("verdict") == VIOLATION
    sizes = kinds.groupBy("kind", "incident_broker").agg(
        F.count("*").alias("findings"),
        F.count_if(violated).alias("violations"),
        F.collect_set(F.when(violated, F.col("code"))).alias("codes"),
    )
    places = (
        at_places(kinds.select("kind", "incident_broker", *FINDING_PLACE.names, "places"))
        .groupBy("kind", "incident_broker")
        .agg(
            F.count_distinct(F.struct(*PLACE)).alias("places"),
            F.slice(F.sort_array(F.collect_set("topic")), 1, 20).alias("topics"),
        )
    )
    same = reduce(
        lambda one, other: one & other,
        [sizes[name].eqNullSafe(places[name]) for name in ("kind", "incident_broker")],
    )
    joined = sizes.join(places, same).drop(places["kind"]).drop(places["incident_broker"])
    return joined.filter(F.col("violations") > 0)


def numbered(kinds: DataFrame, numbers: dict[tuple[str, int | None], int]) -> DataFrame:
    """The findings with `incident`; null where what fits is not proven by any violation."""
    incident = F.lit(None).cast("int")
    for (kind, broker), number in numbers.items():
        mine = (F.col("kind") == kind) & F.col("incident_broker").eqNullSafe(
            F.lit(broker).cast("int")
        )
        incident = F.when(mine, F.lit(number)).otherwise(incident)
    return kinds.withColumn("incident", incident)
