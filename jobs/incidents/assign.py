"""Which incident explains which finding: a row a finding and place, assigned by one task.

All findings of an audit are one partition already (`jobs.verify.verify`); here a task has them
without their texts.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.incidents.causes import KINDS, NO_INCIDENT, Findings, incidents, kinds
from jobs.incidents.moments import Moments
from jobs.incidents.signature import LOST, MISSING_MARKER
from jobs.model.found import NO_DATA
from schemas.violation import FINDING_PLACE

VIOLATION = "violation"
PLACE = ("broker", "topic", "partition")
# Columns by which a finding is found again in the table `violation`.
KEY = (
    "code", "verdict", "reason", *PLACE, "offset_first", "producer_id", "producer_epoch", "file",
    "byte_position",
)  # fmt: skip
PREPARE = "the Prepare record"
MOST_TOPICS = 20

NO_BROKER = -1
UNKNOWN = -1


def placed(findings: DataFrame, moments: Moments) -> DataFrame:
    """One row a finding and place: `incident` (null: none), kind, label, finding, verdict, at.

    The place is in the columns broker, topic, partition, offset_first and offset_last; `key` has
    the columns of KEY, and `first` is true in one row a finding. `findings`: rows of VIOLATION
    without audit_id, kept.
    """
    rows = _with_moment(_rows(findings), moments).coalesce(1)
    columns = ", ".join(f"`{one.name}` {one.dataType.simpleString()}" for one in rows.schema)
    return rows.mapInArrow(_assign, f"{columns}, incident int, kind string")


def _rows(findings: DataFrame) -> DataFrame:
    """One row a finding and place, with where its Prepare record lies."""
    lost = (F.col("code") == MISSING_MARKER) & F.col("found").startswith(NO_DATA)
    prepare = F.get(F.filter("evidence", lambda proof: proof["role"] == PREPARE), 0)
    own = F.array(F.struct(*FINDING_PLACE.names))
    exploded = findings.select(
        F.monotonically_increasing_id().alias("finding"),
        F.when(lost, F.lit(LOST)).otherwise(F.col("code")).alias("label"),
        F.struct(*KEY).alias("key"),
        "verdict",
        "producer_id",
        "producer_epoch",
        prepare["file"].alias("prepare_file"),
        prepare["byte_position"].alias("prepare_position"),
        F.posexplode(F.coalesce("places", own)).alias("turn", "place"),
    )
    names = [name for name in exploded.columns if name not in ("turn", "place")]
    place = [F.col(f"place.{name}") for name in (*PLACE, "offset_first", "offset_last")]
    return exploded.select(*names, (F.col("turn") == 0).alias("first"), *place)


def _with_moment(rows: DataFrame, moments: Moments) -> DataFrame:
    """The rows with `at`: of the record that decided, of the epoch, or where its data begin."""
    numbered = rows.withColumn("number", F.coalesce("broker", F.lit(NO_BROKER)))
    of_place = moments.by_start.withColumn("number", F.coalesce("broker", F.lit(NO_BROKER)))
    starts = of_place.drop("broker").withColumnRenamed("at", "began")
    decided = moments.by_record.withColumnRenamed("at", "decided")
    of_epoch = moments.by_epoch.withColumnRenamed("at", "ended")
    joined = (
        numbered.join(F.broadcast(decided), ["prepare_file", "prepare_position"], "left")
        .join(F.broadcast(of_epoch), ["producer_id", "producer_epoch"], "left")
        .join(
            F.broadcast(starts),
            ["number", "topic", "partition", "producer_id", "offset_first"],
            "left",
        )
    )
    names = [name for name in rows.columns if not name.startswith("prepare_")]
    return joined.select(*names, F.coalesce("decided", "ended", "began").alias("at"))


def _assign(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of `_with_moment` in, the same with incident and kind out."""
    given = list(batches)
    if not given:
        return
    table = pa.Table.from_batches(given)
    findings, number = _arrays(table)
    kind = kinds(findings)
    incident = incidents(findings, kind)
    mine = pa.array(incident[number], pa.int32(), mask=(incident == NO_INCIDENT)[number])
    names = pa.array(np.array(KINDS)[kind][number].tolist(), pa.string())
    table = table.append_column("incident", mine).append_column("kind", names)
    yield from table.combine_chunks().to_batches()


def _arrays(table: pa.Table) -> tuple[Findings, NDArray[np.int64]]:
    """What is asked of the findings, and the number of the finding of each row."""
    _, first, number = np.unique(
        table["finding"].to_numpy(), return_index=True, return_inverse=True
    )
    whole = [pc.fill_null(table[name].cast(pa.string()), "") for name in ("topic", "partition")]
    place = pc.binary_join_element_wise(*whole, "-").combine_chunks().dictionary_encode()

    def numbers(name: str, none: int = UNKNOWN) -> NDArray[np.int64]:
        filled: NDArray[np.int64] = pc.fill_null(table[name], none).to_numpy().astype(np.int64)
        return filled

    verdict = np.array(table["verdict"].to_pylist())[first]
    findings = Findings(
        label=np.array(table["label"].to_pylist())[first],
        violation=verdict == VIOLATION,
        weighty=np.isin(verdict, (VIOLATION, "suspect")),
        producer=numbers("producer_id")[first],
        broker=numbers("broker")[first],
        at=numbers("at")[first],
        row_finding=number,
        row_place=place.indices.to_numpy().astype(np.int64),
        row_offset=numbers("offset_first"),
    )
    return findings, number


def summed(rows: DataFrame) -> DataFrame:
    """One row an incident: kind, numbers of findings, codes violated, places, topics, moments."""
    first = F.col("first")
    violated = F.col("verdict") == VIOLATION
    return (
        rows.filter(F.col("incident").isNotNull())
        .groupBy("incident", "kind")
        .agg(
            F.count_if(first).alias("findings"),
            F.count_if(first & violated).alias("violations"),
            F.collect_set(F.when(violated, F.col("key.code"))).alias("codes"),
            F.count_distinct(F.struct(*PLACE)).alias("places"),
            F.slice(F.sort_array(F.collect_set("topic")), 1, MOST_TOPICS).alias("topics"),
            F.min("broker").alias("broker"),
            F.min("producer_id").alias("producer_id"),
            F.min("at").alias("at"),
        )
    )
