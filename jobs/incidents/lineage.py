"""What was derived of affected records: from transaction to transaction, to the end.

A transaction that committed an offset of an input beyond the first affected record has read it, or
may have kept it in its state: what it and the later ones of its producer wrote is suspect. What was
read of that in transactions is suspect in turn. Each round asks once what was read and once what
was written; both are packed, and only sums of producers come to the driver.

`__consumer_offsets` is compacted (`GroupCoordinator.groupMetadataTopicConfigs`): of a group and
partition the cleaner leaves the newest commit. If that lies beyond what is affected, any producer
of the group may have read it first, from the moment on when it was written; and without suspect
records a partition is then not known to be clean.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.incidents.downstream import Partition, Reads, downstream, name
from jobs.spark.joins import inner, small
from jobs.spark.local import local_frame
from schemas.incident import AFFECTED
from schemas.lineage import FIRST_READ, WRITTEN
from schemas.topics import COORDINATOR_TOPICS
from udfs.arrow.input_commits import first_reads
from udfs.arrow.written import ANY_EPOCH, EVER_MS, Since, written_since

# Consequences that a reader takes over into what it writes.
TAKEN_OVER = (
    "aborted_records_visible", "committed_records_invisible", "records_lost",
    "plain_records_lost", "replicated_records_lost", "records_stored_twice",
)  # fmt: skip
SUSPECT, CLEAN, UNKNOWN = "suspect", "clean", "unknown"
# Applications in a row; a cycle ends by itself, since what is suspect only begins earlier.
MOST_ROUNDS = 40
# Groups, partitions and producers that read them: so many applications are followed.
MOST_READS = 500_000
ARROW = " > "
THRESHOLDS = "incident int, topic string, partition int, first_offset long"
OF_WRITTEN = (
    "partition_index", "producer_id", "producer_epoch", "marker_commit", "marker_timestamp",
    "first_offset", "last_offset", "records",
)  # fmt: skip


@dataclass(frozen=True)
class Traffic:
    """What applications read and wrote in transactions.

    `inputs`: rows of INPUT_COMMITS, kept; asked for once. `transactions`: of
    `jobs.replay.transactions`; `blocks`: partition_index and blocks of REGULAR_TXN, None for none;
    `info`: partition_info. `tolerance_ms`: of the clocks of brokers; where transactions share an
    epoch, one that ended so shortly before the first that read is suspect, too.
    """

    inputs: Callable[[], DataFrame]
    transactions: DataFrame
    blocks: DataFrame | None
    info: DataFrame
    tolerance_ms: int


class InputRead(NamedTuple):
    """The first transaction of a group that committed an offset beyond what is affected."""

    incident: int
    at_ms: int
    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    detail: str


class Followed(NamedTuple):
    """`rows`: of AFFECTED without audit_id; `reads`: what led to them.

    Not `whole`: there are more applications than the driver can hold, and none was followed.
    `gone`: earlier commits of their groups may be gone.
    """

    rows: list[dict[str, Any]]
    reads: list[InputRead]
    whole: bool = True
    gone: bool = False


class Written(NamedTuple):
    """What a producer wrote to a partition, summed; of several copies the one with most."""

    first_offset: int
    last_offset: int
    transactions: int
    records: int


@dataclass
class Spread:
    """What is suspect so far. `first`: (incident, partition) -> first suspect offset.

    `begun`: incident -> when the first of its affected records was written, ms.
    `path`: the same -> names of partitions and groups in turn, from the affected partition to it;
    of what was written there, which may be an affected partition again. `written`: (incident,
    partition, producer id) -> what is suspect of that producer.
    """

    first: dict[tuple[int, Partition], int]
    begun: dict[int, int] = field(default_factory=dict)
    path: dict[tuple[int, Partition], tuple[str, ...]] = field(default_factory=dict)
    written: dict[tuple[int, Partition, int], Written] = field(default_factory=dict)
    reads: list[InputRead] = field(default_factory=list)

    def add(
        self, incident: int, producer: int, read: Any, partition: Partition, written: Written
    ) -> bool:
        """Takes in what a reader wrote; whether the partition is suspect from earlier on now."""
        key, source = (incident, partition), (incident, (read.topic, read.partition))
        path = (*self.path.get(source, (name(source[1]),)), read.group, name(partition))
        self.path.setdefault(key, path)
        known = self.written.get((*key, producer))
        if known is None or known.transactions < written.transactions:
            self.written[*key, producer] = written
        if key in self.first and self.first[key] <= written.first_offset:
            return False
        self.first[key] = written.first_offset
        return True


def affected(consequences: DataFrame, traffic: Traffic) -> Followed:
    """What is derived of affected records. `consequences`: rows of CONSEQUENCE, kept."""
    taken_over = consequences.filter(
        F.col("kind").isin(*TAKEN_OVER) & F.col("first_offset").isNotNull()
    )
    # Of what nobody has dated every moment may be the one.
    since = F.min(F.coalesce("since_ms", F.lit(EVER_MS)))
    heads = (
        taken_over.groupBy("incident", "topic", "partition")
        .agg(F.min("first_offset"), since)
        .collect()
    )
    first = {(row[0], (row[1], row[2])): row[3] for row in heads}
    begun = {row[0]: min(one[4] for one in heads if one[0] == row[0]) for row in heads}
    first = {key: at for key, at in first.items() if key[1][0] not in COORDINATOR_TOPICS}
    if not first:
        return Followed([], [])
    inputs = traffic.inputs()
    reads = _reads(inputs)
    if len(reads) > MOST_READS:
        return Followed([], [], whole=False)
    roots = {partition for _, partition in first}
    gone = not all(one.whole for one in reads)
    if not any(one.partition in roots for one in reads):
        return Followed([], [], gone=gone)
    spread = Spread(dict(first), begun)
    _spread(spread, reads, inputs, traffic)
    rows = _rows(spread, set(first), reads, _outputs(reads, traffic))
    return Followed(list(rows), spread.reads, gone=gone)


def _reads(inputs: DataFrame) -> list[Reads]:
    """Who reads what in transactions; more than MOST_READS are not brought to the driver."""
    found = inputs.select("group", "topic", "partition", "producer_id", "whole").distinct()
    rows = found.limit(MOST_READS + 1).collect()
    return [Reads(row[0], (row[1], row[2]), row[3], row[4]) for row in rows]


def _spread(spread: Spread, reads: Iterable[Reads], inputs: DataFrame, traffic: Traffic) -> None:
    """Follows what is suspect until nothing new is, at most MOST_ROUNDS times."""
    frontier = set(spread.first)
    producers: dict[str, set[int]] = defaultdict(set)
    for one in reads:
        producers[one.group].add(one.producer)
    for _ in range(MOST_ROUNDS):
        found = _readers(spread, frontier, inputs)
        if not found:
            return
        for (incident, producer), row in found.items():
            place = (row.topic, row.partition, producer, row.producer_epoch)
            spread.reads.append(InputRead(incident, row.since_ms, *place, row.group))
        outputs = _outputs_of(with_unseen(found, producers), spread.begun, traffic)
        frontier = {
            (incident, partition)
            for (incident, producer), (read, output) in sorted(outputs.items())
            for partition, written in sorted(output.items())
            if spread.add(incident, producer, read, partition, written)
        }
        if not frontier:
            return


def _readers(
    spread: Spread, frontier: Iterable[tuple[int, Partition]], inputs: DataFrame
) -> dict[tuple[int, int], Any]:
    """(incident, producer id) -> the first of its transactions that read beyond, as FIRST_READ."""
    rows = [(incident, *place, spread.first[incident, place]) for incident, place in frontier]
    begins = small(local_frame(inputs.sparkSession, rows, THRESHOLDS))
    found = inner(inputs, begins, on=["topic", "partition"]).mapInArrow(first_reads, FIRST_READ)
    return first_of_each(found.collect())


def first_of_each(rows: Iterable[Any]) -> dict[tuple[int, int], Any]:
    """(incident, producer id) -> its first row of FIRST_READ.

    One transaction commits offsets of several partitions, in batches of one timestamp or in one
    batch: of these the first partition by name, and its first group, whatever order they come in.
    One whose earlier commits may be gone comes in front of them all.
    """

    def place(row: Any) -> tuple[object, ...]:
        return row.whole, row.producer_epoch, row.since_ms, row.topic, row.partition, row.group

    readers: dict[tuple[int, int], Any] = {}
    for row in sorted(rows, key=place):
        readers.setdefault((row.incident, row.producer_id), row)
    return dict(sorted(readers.items()))


def with_unseen(
    readers: Mapping[tuple[int, int], Any], producers: Mapping[str, Iterable[int]]
) -> dict[tuple[int, int], Any]:
    """The readers, and where commits are gone all producers of their group: they may have read."""
    unseen = {
        (incident, producer): row
        for (incident, _), row in readers.items()
        if not row.whole
        for producer in producers[row.group]
    }
    return {**unseen, **readers}


def _outputs_of(
    readers: Mapping[tuple[int, int], Any], begun: Mapping[int, int], traffic: Traffic
) -> dict[tuple[int, int], tuple[Any, dict[Partition, Written]]]:
    """What each of some readers wrote from its transaction on, in any order.

    `begun`: of `Spread`: from then on, where its first transaction is not known.
    """
    asked = [
        Since(incident, producer, row.producer_epoch, row.since_ms - traffic.tolerance_ms)
        if row.whole
        else Since(incident, producer, ANY_EPOCH, begun[incident] - traffic.tolerance_ms)
        for (incident, producer), row in readers.items()
    ]
    found: dict[tuple[int, int], tuple[Any, dict[Partition, Written]]] = {}
    for row in _written(asked, traffic).collect():
        key = (row.incident, row.producer_id)
        output = found.setdefault(key, (readers[key], {}))[1]
        output[row.topic, row.partition] = Written(
            row.first_offset, row.last_offset, row.transactions, row.records
        )
    return found


def _written(asked: Sequence[Since], traffic: Traffic) -> DataFrame:
    """One row an incident, producer and partition of clients: the columns of Written.

    Folded transactions stay in their blocks: few are of the producers asked for.
    """
    ended = traffic.transactions.filter("marker_commit and first_offset is not null")
    narrow = ended.withColumn("producer_epoch", F.col("highest_epoch")).select(*OF_WRITTEN)
    rows = narrow.mapInArrow(written_since(asked, packed=False), WRITTEN)
    if traffic.blocks is not None:
        packed = traffic.blocks.mapInArrow(written_since(asked, packed=True), WRITTEN)
        rows = rows.unionByName(packed)
    sums = (
        F.min("first_offset").alias("first_offset"),
        F.max("last_offset").alias("last_offset"),
    )
    of_copy = rows.groupBy("incident", "producer_id", "partition_index").agg(
        *sums,
        F.sum("transactions").alias("transactions"),
        F.sum("records").alias("records"),
    )
    place = traffic.info.filter(~F.col("topic").isin(*COORDINATOR_TOPICS)).select(
        "partition_index", "topic", "partition"
    )
    return (
        inner(of_copy, small(place), on="partition_index")
        .groupBy("incident", "producer_id", "topic", "partition")
        .agg(*sums, F.max("transactions").alias("transactions"), F.max("records").alias("records"))
    )


def _outputs(reads: Sequence[Reads], traffic: Traffic) -> dict[int, set[Partition]]:
    """Where the producers wrote that commit offsets of any input."""
    producers = {one.producer for one in reads}
    everything = [Since(0, producer, ANY_EPOCH, EVER_MS) for producer in producers]
    found: dict[int, set[Partition]] = defaultdict(set)
    for row in _written(everything, traffic).select("producer_id", "topic", "partition").collect():
        found[row.producer_id].add((row.topic, row.partition))
    return found


def _rows(
    spread: Spread,
    heads: set[tuple[int, Partition]],
    reads: Sequence[Reads],
    outputs: Mapping[int, set[Partition]],
) -> Iterator[dict[str, Any]]:
    """What is suspect, and what is downstream of an affected partition without being so."""
    otherwise = CLEAN if all(one.whole for one in reads) else UNKNOWN
    parts: dict[tuple[int, Partition], list[Written]] = defaultdict(list)
    for (incident, partition, _), written in spread.written.items():
        parts[incident, partition].append(written)
    for key in sorted(parts):
        mine = parts[key]
        yield _row(key, SUSPECT, spread.path[key]) | {
            "first_offset": min(one.first_offset for one in mine),
            "last_offset": max(one.last_offset for one in mine),
            "transactions": sum(one.transactions for one in mine),
            "records": sum(one.records for one in mine),
        }
    for incident in sorted({incident for incident, _ in heads}):
        roots = {partition for one, partition in heads if one == incident}
        for partition, path in sorted(downstream(roots, reads, outputs).items()):
            key = (incident, partition)
            if key not in parts and partition not in roots:
                yield _row(key, otherwise, path) | {"records": 0 if otherwise == CLEAN else None}


def _row(key: tuple[int, Partition], state: str, path: tuple[str, ...]) -> dict[str, Any]:
    empty: dict[str, Any] = {one.name: None for one in AFFECTED if one.name != "audit_id"}
    incident, (topic, partition) = key
    own = {"incident": incident, "topic": topic, "partition": partition, "state": state}
    return (
        empty
        | own
        | {
            "path": ARROW.join(path),
            "depth": len(path) // 2,
            "application": path[-2],
        }
    )
