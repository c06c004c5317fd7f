"""What a consumer would get of the partitions of a dump: which copy, which range, which records."""

import difflib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.model.dump import Dump, DumpPartition
from jobs.model.errors import UsageError
from jobs.model.replicas import clusters
from jobs.spark.joins import small
from jobs.spark.session import TASKS_A_CORE
from schemas.record import EXPORT_SPLIT, READ_UNCOMMITTED, RECORD_ROW
from schemas.topics import COORDINATOR_TOPICS, TXN_LOG_TOPIC
from udfs.arrow.batches import DecodeOptions
from udfs.arrow.export_split import export_splits

NOT_ASKED_FOR = "not asked for by --topic, --partition or --broker"


@dataclass(frozen=True)
class ExportRequest:
    """What is to be exported: no `topics` for all but internal ones, `broker` None for any.

    `partitions`: numbers, of each of the topics; none for all. `to_log_end`: see
    `without_high_watermarks`.
    """

    isolation: str
    topics: tuple[str, ...] = ()
    broker: int | None = None
    to_log_end: bool = False
    partitions: tuple[int, ...] = ()


def without_high_watermarks(dump: Dump) -> Dump:
    """The dump as if each high watermark were the log end.

    What an unclean leader election loses lies above the high watermark of the old leader's copy:
    the checkpoint is written every few seconds, and that of a killed broker is older than its log.
    """
    unmarked = [replace(one, high_watermark=None) for one in dump.partitions]
    return replace(dump, partitions=unmarked)


def with_highest_marks(dump: Dump) -> Dump:
    """The dump, each copy with the highest high watermark of all copies of its partition.

    Each broker writes its checkpoint at moments of its own
    (`ReplicaManager.checkpointHighWatermarks`), so of brokers that were killed that of the longest
    copy may be the oldest. What lies below that of any copy was replicated to those in sync.
    """
    highest: dict[int | None, int] = {}
    for one in dump.partitions:
        if one.replica_set is not None and one.high_watermark is not None:
            mark = highest.get(one.replica_set, one.high_watermark)
            highest[one.replica_set] = max(mark, one.high_watermark)
    raised = [
        replace(one, high_watermark=highest.get(one.replica_set, one.high_watermark))
        for one in dump.partitions
    ]
    return replace(dump, partitions=raised)


def only_what_is_asked(dump: Dump, wanted: ExportRequest) -> Dump:
    """The dump, of which only logs that `wanted` allows are read, and `__transaction_state`.

    What a consumer of a partition gets is told by its own log. The coordinator's log of the same
    cluster tells which transactional id wrote a record.
    """
    foreign = clusters(dump) - {
        one.cluster_id for one in dump.partitions if _is_wanted(one, wanted)
    }
    read = {
        one.partition_index
        for one in dump.partitions
        if _is_wanted(one, wanted) or (one.topic == TXN_LOG_TOPIC and one.cluster_id not in foreign)
    }
    files = [
        one
        if one.partition_index is None or one.partition_index in read
        else replace(one, status="skipped", note=NOT_ASKED_FOR)
        for one in dump.files
    ]
    return replace(dump, files=files)


class Range(NamedTuple):
    """What a consumer gets of one copy of a partition: offsets [from_offset, end_offset).

    `records`: how many the copy holds; `copies`: how many the dump has of it. `furthest`: as in the
    table partition_state. `replicated_to`: the highest high watermark, exclusive, that a checkpoint
    has for one of the copies, also where it lies behind what can be read; None where none has one.
    """

    partition_index: int
    topic: str
    partition: int
    broker: int | None
    from_offset: int
    end_offset: int
    log_end_offset: int
    records: int
    furthest: bool = True
    copies: int = 1
    replicated_to: int | None = None


def ranges(states: DataFrame, dump: Dump, wanted: ExportRequest) -> list[Range]:
    """One range a partition, of the copy that goes furthest of those that `wanted` allows.

    That is a copy with the newest leader epoch, as `furthest` of the table partition_state says: a
    longer one of an older leader has what a new leader cut off. Of several, that with most records:
    the cleaner of another broker may have been further.

    `states`: rows of the table partition_state with partition_index. `dump`: as it was listed, with
    its checkpoints. A read_uncommitted consumer gets all below the high watermark, a read_committed
    one all below the last stable offset. Raises UsageError where the dump has no such topic or
    broker.
    """
    found: dict[tuple[str, int], list[Range]] = defaultdict(list)
    marks = {one.partition_index: one.high_watermark for one in dump.partitions}
    for row in states.collect():
        end = row.last_stable_offset
        if wanted.isolation == READ_UNCOMMITTED:
            end = row.log_end_offset if row.high_watermark is None else row.high_watermark
        copy = Range(
            row.partition_index, row.topic, row.partition, row.broker, row.log_start_offset, end,
            row.log_end_offset, row.records, bool(row.furthest),
            replicated_to=marks[row.partition_index],
        )  # fmt: skip
        if _is_wanted(copy, wanted):
            found[row.topic, row.partition].append(copy)
    check_named(dump, wanted, {topic for topic, _ in found})
    return [_taken(copies) for _, copies in sorted(found.items())]


def _taken(copies: list[Range]) -> Range:
    told = [one.replicated_to for one in copies if one.replicated_to is not None]
    furthest = max(copies, key=_reach)
    return furthest._replace(copies=len(copies), replicated_to=max(told, default=None))


def _is_wanted(copy: Range | DumpPartition, wanted: ExportRequest) -> bool:
    by_topic = copy.topic in wanted.topics if wanted.topics else True
    internal = not wanted.topics and copy.topic in COORDINATOR_TOPICS
    by_number = not wanted.partitions or copy.partition in wanted.partitions
    return by_topic and by_number and not internal and wanted.broker in (None, copy.broker)


def _reach(copy: Range) -> tuple[int, ...]:
    """Of copies that are equal in all else, that of the lowest broker id, or the first one."""
    broker = -1 if copy.broker is None else copy.broker
    ends = copy.log_end_offset, copy.end_offset, copy.records
    return copy.furthest, *ends, -broker, -copy.partition_index


def check_named(dump: Dump, wanted: ExportRequest, found: set[str] | None = None) -> None:
    """Raises UsageError where the dump has no such topic, partition or broker.

    `found`: topics of copies that were read; None before anything is: those that are listed.
    """
    if found is None:
        found = {p.topic for p in dump.partitions if wanted.broker in (None, p.broker)}
    brokers = {p.broker for p in dump.partitions}
    if wanted.broker is not None and wanted.broker not in brokers:
        known = ", ".join(sorted(str(broker) for broker in brokers))
        raise UsageError(f"--broker {wanted.broker} is not in the dump: it has broker {known}.")
    topics = {p.topic for p in dump.partitions}
    for topic in wanted.topics:
        if topic not in found:
            near = difflib.get_close_matches(topic, topics, n=1)
            hint = f"; did you mean {near[0]}?" if near else "."
            raise UsageError(f"--topic {topic} is not in the dump{hint}")
        _check_numbers(dump, wanted, topic)


def _check_numbers(dump: Dump, wanted: ExportRequest, topic: str) -> None:
    there = {p.partition for p in dump.partitions if p.topic == topic}
    for number in wanted.partitions:
        if number not in there:
            known = ", ".join(str(one) for one in sorted(there))
            raise UsageError(f"--partition {number} of {topic} is not in the dump: it has {known}.")


def check_one_topic(dump: Dump, wanted: ExportRequest) -> None:
    """Raises UsageError where what is wanted is of several clusters, or topics of one name.

    Offsets of two logs are no log. A broker that is down while a topic is deleted and created again
    keeps the folder of the old one (`jobs.model.replicas.number_topics`).
    """
    asked = [one for one in dump.partitions if _is_wanted(one, wanted)]
    choose = "choose one with --broker, or set --dump to the folders of one."
    of_clusters = {one.cluster_id for one in asked} if len(clusters(dump)) > 1 else set()
    if len(of_clusters) > 1:
        named = ", ".join(sorted(one or "an unknown one" for one in of_clusters))
        raise UsageError(f"the partitions to export are of several clusters ({named}): {choose}")
    topics: dict[str, dict[str, set[int | None]]] = defaultdict(lambda: defaultdict(set))
    for one in asked:
        if one.topic_id is not None or one.incarnation:
            topics[one.topic][one.topic_id or "without an id"].add(one.broker)
    for topic, ids in sorted(topics.items()):
        if len(ids) > 1:
            named = "; ".join(
                f"{told}: broker {', '.join(sorted(map(str, ids[told])))}" for told in sorted(ids)
            )
            raise UsageError(
                f"the dump has {len(ids)} topics of the name {topic} ({named}): {choose}"
            )


def records(
    spark: SparkSession,
    splits: Iterable[dict[str, Any]],
    asked: list[Range],
    aborted_behind: DataFrame | None,
    options: DecodeOptions,
    told: Mapping[int, list[dict[str, int]]],
) -> DataFrame:
    """Rows of `schemas.record.RECORD_ROW` of the ranges, read from the files again.

    `splits`: as the decoder read them. `aborted_behind`: see there; None for read_uncommitted.
    `told`: partition_index -> rows of OUTCOME_TOLD (`jobs.export.lost_markers`).
    """
    by_index = {one.partition_index: one for one in asked}
    planned = list(_planned(splits, by_index, aborted_behind is not None, told))
    tasks = min(max(len(planned), 1), spark.sparkContext.defaultParallelism * TASKS_A_CORE)
    source = spark.createDataFrame(spark.sparkContext.parallelize(planned, tasks), EXPORT_SPLIT)
    if aborted_behind is not None:
        known = source.drop("aborted_behind").join(
            small(aborted_behind), on=["file_index", "start"], how="left"
        )
        source = known.select(*EXPORT_SPLIT.names)

    def read(batches: Iterator) -> Iterator:  # type: ignore[type-arg]
        return export_splits(batches, options)

    return source.mapInArrow(read, RECORD_ROW)


def _planned(
    splits: Iterable[dict[str, Any]],
    asked: dict[int, Range],
    committed: bool,
    told: Mapping[int, list[dict[str, int]]],
) -> Iterator[tuple[Any, ...]]:
    for split in splits:
        own = asked.get(split["partition_index"])
        if own is None or split["kind"] != "segment" or not split["length"]:
            continue
        following = split["next_base_offset"]
        if (
            split["base_offset"] >= own.end_offset
            or (following or own.end_offset) < own.from_offset
        ):
            continue
        row = split | {
            "from_offset": own.from_offset,
            "end_offset": own.end_offset,
            "committed": committed,
            "outcomes_told": [
                one
                for one in told.get(own.partition_index, ())
                if one["last_offset"] >= split["base_offset"]
                and (following is None or one["first_offset"] < following)
            ],
        }
        yield tuple(row.get(name) for name in EXPORT_SPLIT.names)


def aborted_behind(transactions: DataFrame, splits: DataFrame) -> DataFrame:
    """Aborted transactions that are open where a split ends: file_index, start, aborted_behind.

    `transactions`: those that were not folded away, as all are that cross the end of a split.
    `splits`: the summaries of splits with batches.
    """
    aborted = transactions.filter(
        (F.col("outcome") == "abort") & F.col("first_offset").isNotNull()
    ).select("partition_index", "producer_id", "first_offset", "marker_offset")
    ends = splits.select(
        "partition_index",
        "file_index",
        F.col("split_start").alias("start"),
        F.col("last_offset").alias("end"),
    )
    crossing = aborted.join(small(ends), on="partition_index", how="inner").filter(
        (F.col("first_offset") <= F.col("end")) & (F.col("marker_offset") > F.col("end"))
    )
    return crossing.groupBy("file_index", "start").agg(
        F.collect_list(F.struct("producer_id", "first_offset")).alias("aborted_behind")
    )
