"""Which incident explains which finding: a row a finding and place, assigned by one task.

All findings of an audit are one partition already (`jobs.verify.verify`); here a task has them
without their texts.
"""

from collections.abc import Iterator
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.incidents.causes import KINDS, NO_INCIDENT, Findings, incidents, kinds
from jobs.incidents.moments import BY_EPOCH, BY_RECORD, BY_START, KEYS, KNOWN
from jobs.incidents.signature import (
    BUMPED,
    BUMPED_BY_2,
    CAME_LATE,
    DECISION_LOST,
    DIVERGED,
    DIVERGED_ALIKE,
    DIVERGED_CLEANED,
    DIVERGED_WITHIN,
    ENDS_BELOW,
    FENCED,
    FORGOTTEN,
    HANGING,
    IN_NONE,
    LOST,
    MISSING_MARKER,
    OF_LOWER_EPOCH,
    UNDECIDED_MARKER,
)
from jobs.incidents.versions import Version2
from jobs.model.found import (
    AFTER_THE_END,
    ALL_ABORTED,
    DECIDED_COMMIT,
    EQUAL_AGAIN,
    IN_NO_REPLICA,
    LACK_THE_VALUE,
    LACK_THEIR_MARKER,
    NO_DATA,
    ONE_LEADER_EPOCH,
    PREPARE_RECORD,
    STORED_AGAIN,
    THOUGH_COMMITTED,
)
from jobs.spark.joins import small
from schemas.verdicts import INCONCLUSIVE, SUSPECT, VIOLATION
from schemas.violation import FINDING_KEY, FINDING_PLACE
from udfs.rules.logic import surely

PLACE = ("broker", "topic", "partition")
# Codes of findings whose epoch is that of a marker.
OF_MARKER, OF_TWO_MARKERS = "marker_", ("conflicting_markers", "duplicate_marker")
MOST_TOPICS = 20

UNKNOWN = -1


def placed(findings: DataFrame, moments: DataFrame, of_version_2: Version2 | None) -> DataFrame:
    """One row a finding and place: `incident` (null: none), kind, label, finding, verdict, at.

    completed, data_epoch, decided_offset: of the decision that it is about, see
    `jobs.incidents.moments`. Where no record of one is known, data_epoch is epoch_of_data: the
    finding's own epoch, null for that of a marker, which under transaction.version 2 is another.
    decided_commit: of a finding about a decision, whether that was COMMIT; else it says nothing.
    came_late: the data came after the end of their own transaction. all_aborted: of open data,
    whether ABORT is proven to be what was decided about all of them. lost_behind: of what is lost,
    the offset behind which the partition has none of it.
    The place is in the columns broker, topic, partition, offset_first and offset_last; `key` has
    the columns of FINDING_KEY, and `first` is true in one row a finding. `findings`: rows of the
    table `violation` without audit_id, kept; `moments`: see `jobs.incidents.moments`;
    `of_version_2`: see `jobs.incidents.versions`, None where no finding asks.
    """
    both = with_moments(findings, moments, of_version_2)
    kept = [one for one in both.schema if not one.name.startswith("prepare_")]
    columns = ", ".join(f"`{one.name}` {one.dataType.simpleString()}" for one in kept)
    return both.mapInArrow(assign, f"{columns}, incident int, kind string")


def with_moments(
    findings: DataFrame, moments: DataFrame, of_version_2: Version2 | None
) -> DataFrame:
    """What `assign` takes: a row a finding and place, and the moments, in one partition."""
    told = findings.withColumn("of_version_2", F.lit(None).cast("boolean"))
    if of_version_2 is not None:
        known = small(of_version_2.producers.withColumn("given", F.lit(True)))
        is_above = ~surely(F.col("producer_epoch") <= F.col("older_up_to"))
        is_above |= surely(F.array_contains("given_epochs", F.col("producer_epoch")))
        told = (
            findings.join(known, on="producer_id", how="left")
            .withColumn("of_version_2", F.col("given") & is_above)
            .drop("given", "older_up_to", "given_epochs")
        )
        told = told if of_version_2.sole is None else _of_listed(told, of_version_2.sole)
    return _rows(told).unionByName(moments, allowMissingColumns=True).coalesce(1)


def _of_listed(findings: DataFrame, sole: DataFrame) -> DataFrame:
    """No finding of version 2 where the only transaction of its epoch does not list the partition.

    The coordinator owed no marker there. `sole`: of `jobs.incidents.versions.sole_decisions`.
    """
    of_epoch = sole.select("producer_id", F.col("data_epoch").alias("producer_epoch"), "partitions")
    place = F.concat_ws("-", "topic", "partition")
    unlisted = surely(~F.array_contains("partitions", place))
    return (
        findings.join(small(of_epoch), on=["producer_id", "producer_epoch"], how="left")
        .withColumn("of_version_2", F.col("of_version_2") & ~unlisted)
        .drop("partitions")
    )


def _rows(findings: DataFrame) -> DataFrame:
    """One row a finding and place, with where its Prepare record lies.

    Added to the columns of VIOLATION is of_version_2, null for a producer of which nothing tells.
    """
    lost = (F.col("code") == MISSING_MARKER) & F.col("found").startswith(NO_DATA)
    cleaned = (F.col("code") == DIVERGED) & (
        F.col("found").endswith(LACK_THEIR_MARKER) | F.col("found").endswith(LACK_THE_VALUE)
    )
    alike = (F.col("code") == DIVERGED) & F.col("found").rlike(ONE_LEADER_EPOCH)
    within = (F.col("code") == DIVERGED) & F.col("found").endswith(EQUAL_AGAIN)
    forgotten = (F.col("code") == HANGING) & F.col("found").contains(THOUGH_COMMITTED)
    in_none = (F.col("code") == ENDS_BELOW) & F.col("found").contains(IN_NO_REPLICA)
    again = F.col("code").isin(FENCED, OF_LOWER_EPOCH) & F.col("found").endswith(STORED_AGAIN)
    lost_decision = (F.col("code") == UNDECIDED_MARKER) & (F.col("verdict") == VIOLATION)
    label = (
        F.when(lost, LOST)
        .when(cleaned, DIVERGED_CLEANED)
        .when(alike, DIVERGED_ALIKE)
        .when(within, DIVERGED_WITHIN)
        .when(forgotten, FORGOTTEN)
        .when(again, F.concat("code", F.lit("/again")))
        .when(in_none, IN_NONE)
        .when(lost_decision, DECISION_LOST)
        .when((F.col("code") == BUMPED) & surely(F.col("of_version_2")), BUMPED_BY_2)
        .otherwise(F.col("code"))
    )
    of_marker = F.col("code").startswith(OF_MARKER) | F.col("code").isin(*OF_TWO_MARKERS)
    prepare = F.get(F.filter("evidence", lambda proof: proof["role"] == PREPARE_RECORD), 0)
    own = F.array(F.struct(*FINDING_PLACE.names))
    # In a step of its own: beside an explode every row would get its own number.
    numbered = findings.withColumn("finding", F.monotonically_increasing_id())
    exploded = numbered.select(
        "finding",
        label.alias("label"),
        F.struct(*FINDING_KEY).alias("key"),
        F.col("expected").startswith(DECIDED_COMMIT).alias("decided_commit"),
        surely(F.col("found").contains(AFTER_THE_END)).alias("came_late"),
        surely(F.col("found").contains(ALL_ABORTED)).alias("all_aborted"),
        F.when(lost, F.regexp_extract("found", NO_DATA + r"(\d+)", 1).try_cast("long")).alias(
            "lost_behind"
        ),
        "verdict",
        "producer_id",
        "producer_epoch",
        F.when(~of_marker, F.col("producer_epoch")).alias("epoch_of_data"),
        prepare["file"].alias("prepare_file"),
        prepare["byte_position"].alias("prepare_position"),
        F.posexplode(F.coalesce("places", own)).alias("turn", "place"),
    )
    names = [name for name in exploded.columns if name not in ("turn", "place")]
    place = [F.col(f"place.{name}") for name in (*PLACE, "offset_first", "offset_last")]
    return exploded.select(*names, (F.col("turn") == 0).alias("first"), *place)


def assign(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Findings at their places and moments in, the findings with KNOWN, incident and kind out."""
    given = list(batches)
    if not given:
        return
    both = pa.Table.from_batches(given)
    is_moment = pc.is_null(both["finding"])
    table = both.filter(pc.invert(is_moment))
    if not table.num_rows:
        return
    known = _moments(table, both.filter(is_moment))
    known["data_epoch"] = pc.coalesce(known["data_epoch"], table["epoch_of_data"])
    for name, values in known.items():
        table = table.set_column(table.schema.get_field_index(name), name, values)
    table = table.drop_columns([one for one in table.column_names if one.startswith("prepare_")])
    findings, number = _arrays(table)
    kind = kinds(findings)
    incident = incidents(findings, kind)
    mine = pa.array(incident[number], pa.int32(), mask=(incident == NO_INCIDENT)[number])
    names = pa.array(np.array(KINDS)[kind][number].tolist(), pa.string())
    table = table.append_column("incident", mine).append_column("kind", names)
    yield from table.combine_chunks().to_batches()


def _moments(rows: pa.Table, moments: pa.Table) -> dict[str, pa.ChunkedArray]:
    """KNOWN of what each row is about; null where nothing tells it."""
    none = {name: pa.nulls(rows.num_rows, moments.schema.field(name).type) for name in KNOWN}
    found = {name: pa.chunked_array([values]) for name, values in none.items()}
    for keys in (BY_RECORD, BY_EPOCH, BY_START):
        others = [name for name in KEYS if name not in keys]
        mine = moments.filter(
            _all([pc.is_null(moments[name]) for name in others], moments.num_rows)
        )
        # Of several the first moment, whatever their order.
        mine = mine.sort_by([("at", "descending")])
        turns = {key: turn for turn, key in enumerate(_keys(mine, keys))}
        if turns:
            turn = pa.array([turns.get(key) for key in _keys(rows, keys)], pa.int64())
            found = {name: pc.coalesce(found[name], mine[name].take(turn)) for name in KNOWN}
    return found


def _all(masks: list[pa.ChunkedArray], number: int) -> pa.ChunkedArray:
    every = pa.chunked_array([pa.array(np.ones(number, dtype=bool))])
    return reduce(pc.and_, masks, every)


def _keys(rows: pa.Table, names: tuple[str, ...]) -> Iterator[tuple[object, ...]]:
    return zip(*[rows[name].to_pylist() for name in names], strict=True)


def _arrays(table: pa.Table) -> tuple[Findings, NDArray[np.int64]]:
    """What is asked of the findings, and the number of the finding of each row."""
    _, first, number = np.unique(
        table["finding"].to_numpy(), return_index=True, return_inverse=True
    )
    at = _earliest(table["at"], number, first.size)
    whole = [pc.fill_null(table[name].cast(pa.string()), "") for name in ("topic", "partition")]
    place = pc.binary_join_element_wise(*whole, "-").combine_chunks().dictionary_encode()

    def numbers(name: str, none: int = UNKNOWN) -> NDArray[np.int64]:
        filled: NDArray[np.int64] = pc.fill_null(table[name], none).to_numpy().astype(np.int64)
        return filled

    verdict = np.array(table["verdict"].to_pylist())[first]
    findings = Findings(
        label=np.array(table["label"].to_pylist())[first],
        violation=verdict == VIOLATION,
        weighty=np.isin(verdict, (VIOLATION, SUSPECT)),
        producer=numbers("producer_id")[first],
        broker=numbers("broker")[first],
        at=at,
        row_finding=number,
        row_place=place.indices.to_numpy().astype(np.int64),
        row_offset=numbers("offset_first"),
        row_last=numbers("offset_last"),
    )
    return findings, number


def _earliest(at: pa.ChunkedArray, number: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The first known moment of each of `size` findings, ms; UNKNOWN where no place is dated."""
    none = np.iinfo(np.int64).max
    earliest = np.full(size, none)
    np.minimum.at(earliest, number, pc.fill_null(at, none).to_numpy())
    return np.where(earliest == none, UNKNOWN, earliest)


def summed(rows: DataFrame) -> DataFrame:
    """One row an incident: kind, numbers, codes violated, topics, first and last moment.

    labels: of all its findings; weighty_labels: of its violations and suspects.
    """
    place = F.struct(*PLACE, "offset_first", "producer_id", "producer_epoch")
    first = F.col("first")
    violated = F.col("verdict") == VIOLATION

    def dated(turn: Column) -> Column:
        return F.when(F.col("at").isNotNull(), F.struct("at", turn, place))

    return (
        rows.filter(F.col("incident").isNotNull())
        .groupBy("incident", "kind")
        .agg(
            F.count_if(first).alias("findings"),
            F.count_if(first & violated).alias("violations"),
            F.array_union(
                F.collect_set(F.when(violated, F.col("key.code"))),
                F.collect_set(
                    F.when(violated & F.col("came_late"), F.lit(CAME_LATE)).when(
                        violated & F.col("label").isin(FORGOTTEN, IN_NONE), F.col("label")
                    )
                ),
            ).alias("codes"),
            F.count_distinct(F.struct(*PLACE)).alias("places"),
            F.slice(F.sort_array(F.collect_set("topic")), 1, MOST_TOPICS).alias("topics"),
            F.min("broker").alias("broker"),
            F.min("producer_id").alias("producer_id"),
            F.collect_set("label").alias("labels"),
            F.collect_set(F.when(F.col("verdict") != INCONCLUSIVE, F.col("label"))).alias(
                "weighty_labels"
            ),
            F.min("at").alias("first_ms"),
            F.max("at").alias("last_ms"),
            # Of several at one moment one that is proven.
            F.min_by(place, dated(~violated)).alias("first"),
            F.max_by(place, dated(violated)).alias("last"),
        )
    )
