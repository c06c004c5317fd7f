"""The listing of a dump as small DataFrames, for the joins of the later stages."""

from collections import defaultdict
from dataclasses import asdict

from pyspark.sql import DataFrame, SparkSession

from jobs.model.cluster import Cluster, Clusters
from jobs.model.dump import (
    Dump,
    DumpPartition,
    cleaned_below,
    files_cleaned_below,
    one_moment_from,
)
from jobs.model.missing import not_there
from jobs.model.replicas import comparable_from
from jobs.spark.local import local_frame
from schemas.dump_partition import DUMP_PARTITION, LISTED_FILE
from schemas.topics import CLEANED_TOPICS, COORDINATOR_TOPICS

# A broker of a cluster: broker 1 of another one is another broker.
Broker = tuple[int | None, str | None]


def _static_row(
    partition: DumpPartition,
    cluster: Cluster,
    present: set[Broker],
    lacking: set[tuple[str, int]],
    holders: set[int | None],
) -> dict[str, object]:
    """A row of DUMP_PARTITION by the names of its columns.

    `present`: the brokers of the dump; `lacking`: topic partitions of which a copy is not there;
    `holders`: the brokers that have a copy of this one.
    """
    alone = cluster.registered == {partition.broker}
    is_current, is_deleted = _has_leader(partition, cluster)
    here = is_current and (partition.topic, partition.partition) not in lacking
    every = present == {(one, partition.cluster_id) for one in cluster.registered}
    assigned = cluster.replicas.get(partition.topic, {}).get(partition.partition, frozenset())
    once = partition.topic in cluster.created_once
    bases = [segment.base_offset for segment in partition.segments]
    return {
        "partition_index": partition.partition_index,
        "broker": partition.broker,
        "topic": partition.topic,
        "partition": partition.partition,
        "checkpoint_high_watermark": partition.high_watermark,
        "checkpoint_log_start": partition.log_start,
        "checkpoint_recovery_point": partition.recovery_point,
        "cleaner_checkpoint": partition.cleaner_checkpoint,
        "has_cleaner_checkpoint": partition.has_cleaner_checkpoint,
        "has_log_start_checkpoint": partition.has_log_start_checkpoint,
        "clean_shutdown": partition.clean_shutdown,
        "copied_at_ms": partition.copied_at_ms,
        "cleaned_below": cleaned_below(partition),
        "files_cleaned_below": files_cleaned_below(partition),
        "coordinator_topic": partition.topic in COORDINATOR_TOPICS,
        "internal_compacted": partition.compacted or partition.topic in CLEANED_TOPICS,
        "first_base": bases[0] if bases else None,
        "newest_base": partition.newest_base,
        "replica_set": partition.replica_set,
        "comparable_from": comparable_from(partition),
        "cleaner_reach": partition.cleaner_reach,
        "topic_id": partition.topic_id,
        "metadata_file": partition.metadata_file,
        "topic_partitions": cluster.partitions.get(partition.topic),
        "created_once": once,
        "created_again": partition.topic in cluster.created_again,
        "never_compacted": partition.topic in cluster.never_compacted,
        "unallocated_from": cluster.next_producer_id,
        "cluster_id": partition.cluster_id,
        "metadata_up_to_ms": cluster.up_to_ms,
        "fetched": partition.fetched_end is not None,
        "kraft_only": cluster.kraft_only,
        "compacted_once": partition.topic in cluster.compacted,
        "alone_in_cluster": alone,
        "single_broker": alone and len(present) == 1,
        "every_broker": every and here,
        "registered_up_to_ms": cluster.registered_up_to_ms,
        "never_deleted": partition.topic in cluster.never_deleted,
        "copied_until_ms": partition.copied_until_ms,
        "one_moment_from": one_moment_from(partition),
        "incarnation": partition.incarnation,
        "of_deleted_topic": is_deleted,
        "every_replica": here and bool(assigned) and assigned <= holders,
        "created_id": cluster.topic_ids.get(partition.topic) if once else None,
    }


def _has_leader(partition: DumpPartition, cluster: Cluster) -> tuple[bool, bool]:
    """Whether the partition is surely led by `__cluster_metadata`; whether surely nobody does.

    A broker that is down keeps the folder of a topic that is deleted, or has another one of its
    name since. Where the dump has both, the copy of the metadata may be too old to know.
    """
    told = partition.topic_id
    if told is None:
        # It may be any topic of that name.
        named = partition.topic in cluster.topic_ids
        led = partition.topic in cluster.created_once if named else not cluster.deleted
    else:
        led = told not in cluster.deleted
    return led and not partition.incarnation, told in cluster.deleted


def partitions_table(spark: SparkSession, dump: Dump, clusters: Clusters) -> DataFrame:
    """Rows of `schemas.dump_partition.DUMP_PARTITION`."""
    present = {(one.broker, one.cluster_id) for one in dump.partitions}
    # Of these a broker of the dump has a copy that is not there: it may be the leader's.
    missing = not_there(dump, clusters)
    lacking = {(one.topic, one.partition) for one in missing} | dump.unread
    holders: dict[tuple[str | None, str, int], set[int | None]] = defaultdict(set)
    for one in dump.partitions:
        holders[one.cluster_id, one.topic, one.partition].add(one.broker)
    rows = [
        _static_row(
            one, clusters.of(one.cluster_id), present, lacking,
            holders[one.cluster_id, one.topic, one.partition],
        )
        for one in dump.partitions
    ]  # fmt: skip
    in_order = [tuple(row[name] for name in DUMP_PARTITION.names) for row in rows]
    return local_frame(spark, in_order, DUMP_PARTITION)


def files_table(spark: SparkSession, dump: Dump) -> DataFrame:
    """Rows of `schemas.dump_partition.LISTED_FILE`."""
    rows = []
    for file in dump.files:
        values = asdict(file) | {
            "size_bytes": file.size,
            "starts_at": file.text.batch_line if file.text else 0,
            "ends_at": file.text.end_line if file.text else file.size,
        }
        rows.append(tuple(values[field.name] for field in LISTED_FILE))
    return local_frame(spark, rows, LISTED_FILE)
