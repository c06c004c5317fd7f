"""Facts of a cluster from copies of its `__cluster_metadata`: plain values for the driver."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.decode.metadata_copy import MetadataCopy, Told, committed, copy_of
from jobs.decode.metadata_topics import (
    always_with,
    assigned_brokers,
    deleted_ids,
    partition_numbers,
    policies_given,
    topic_ids,
)
from jobs.model.cluster import Block, Cluster, Clusters
from jobs.model.dump import Dump, DumpMetadataLog
from schemas import log_row
from udfs.rules.producer_ids import overlaps_block_before
from udfs.wire.metadata.metadata_log import (
    ABORTED,
    BROKER_RESOURCE,
    Begun,
    Configured,
    CreatedTopic,
    Ended,
    ProducerIds,
    RegisteredBroker,
    Undecodable,
)

PRODUCER_EXPIRATION = "producer.id.expiration.ms"
MILLISECONDS = re.compile(r"[0-9]{1,15}")


def read_clusters(dump: Dump, decoded: DataFrame) -> Clusters:
    """Collects what the decoder found in the copies; a dump without any costs no query.

    `decoded`: rows of `schemas.log_row.LOG_ROW`.
    """
    files = [file.file_index for one in dump.metadata_logs for file in one.files]
    if not files:
        return Clusters()
    of_copies = decoded.filter(F.col("file_index").isin(files))
    wanted = F.col("kind").isin(log_row.METADATA, log_row.SUMMARY)
    ends = ("first_offset", "last_offset")
    rows = of_copies.filter(wanted).select(
        "kind",
        "file_index",
        "split_start",
        "metadata.*",
        *[f"summary.{name}" for name in ends],
        F.col("summary.clock.last").alias("last_moment"),
    )
    facts: list[Told] = []
    splits: list[Told] = []
    for row in rows.collect():
        (facts if row.kind == log_row.METADATA else splits).append(row.asDict())
    return clusters(dump, facts, splits)


def clusters(dump: Dump, facts: Sequence[Told], splits: Sequence[Told]) -> Clusters:
    """From `facts` (rows of METADATA_TYPE with file_index) and the summaries of the splits."""
    copies = committed([(one, copy_of(one, facts, splits)) for one in dump.metadata_logs])
    by_length: dict[str | None, list[tuple[DumpMetadataLog, MetadataCopy]]] = defaultdict(list)
    for one, copy in sorted(copies, key=_reach):
        by_length[one.cluster_id].append((one, copy))
    blocks = [_blocks(one, copy) for one, copy in copies]
    return Clusters(
        by_id={
            name: _with_brokers(_of_all_copies(own), own, _stopped(dump, name))
            for name, own in by_length.items()
            # Without a name the topic of the partitions is unknown.
            if name is not None
        },
        regressions=[
            (before, block)
            for of_copy in blocks
            for before, block in pairwise(of_copy)
            if overlaps_block_before(before.next_producer_id, block.next_producer_id)
        ],
        unreadable=sum(len(copy.of_kind(Undecodable)) for _, copy in copies),
        furthest={
            name: frozenset(file.file_index for file in own[-1][0].files if own[-1][1].whole)
            for name, own in by_length.items()
        },
    )


def _reach(one: tuple[DumpMetadataLog, MetadataCopy]) -> tuple[int, bool]:
    """How far a copy reaches; of copies that reach equally far the whole past counts more."""
    return one[1].last_offset, one[1].from_the_beginning()


def _blocks(one: DumpMetadataLog, copy: MetadataCopy) -> list[Block]:
    """The blocks of producer ids of a copy in the order of the log.

    A snapshot repeats the newest block before it, so it counts only where the log does not have
    that. Nor does a block of a metadata transaction that was aborted count: it was never given out,
    and a controller that moves from ZooKeeper writes it again
    (`ActivationRecordsGenerator.recordsForNonEmptyLog`, 3.6 and later). A transaction within a
    transaction cannot be (`OffsetControlManager.replay`, KIP-868).
    """
    files = {file.file_index: file for file in one.files}
    found: list[Block] = []
    # From which block on an abort takes them back, and whether a transaction is open for sure.
    begun, is_open = 0, False
    for fact in copy.facts:
        kind = fact["fact"]
        if kind in (Begun.__name__, Ended.__name__, Undecodable.__name__):
            # What is lost may be the abort of an open transaction, or the begin of another one.
            if kind == Undecodable.__name__ and (is_open or fact["option"] == ABORTED):
                del found[begun:]
            begun, is_open = len(found), kind == Begun.__name__
        elif kind == ProducerIds.__name__:
            file = files[fact["file_index"]]
            block = Block(file, fact["offset"], fact["position"], fact["length"], fact["number"])
            repeats = found and found[-1].next_producer_id == block.next_producer_id
            if not (repeats and file.kind == "metadata_snapshot"):
                found.append(block)
    return found


def _of_all_copies(copies: Sequence[tuple[DumpMetadataLog, MetadataCopy]]) -> Cluster:
    """By the longest copy, the last one; what any of them deletes is deleted.

    A copy that lost its head to a snapshot no longer knows of the topics that went before.
    """
    longest = _cluster(copies[-1][1])
    deleted = frozenset().union(*[deleted_ids(copy) for _, copy in copies])
    named = {name: one for name, one in longest.topic_ids.items() if one not in deleted}
    replicas = {name: one for name, one in longest.replicas.items() if name in named}
    return replace(longest, deleted=deleted, topic_ids=named, replicas=replicas)


def _cluster(copy: MetadataCopy) -> Cluster:
    """What is true of the cluster by its longest copy."""
    blocks = [fact["number"] for fact in copy.of_kind(ProducerIds)]
    ids: dict[str, set[str]] = defaultdict(set)
    for fact in copy.of_kind(CreatedTopic):
        ids[fact["name"]].add(fact["topic_id"])
    cluster = Cluster(
        up_to_ms=copy.up_to_ms,
        next_producer_id=max(blocks) if blocks and copy.whole else None,
        partitions=partition_numbers(copy) if copy.whole else {},
        topic_ids=topic_ids(copy) if copy.whole else {},
        replicas=assigned_brokers(copy) if copy.whole else {},
        created_again=frozenset(name for name, found in ids.items() if len(found) > 1),
        expirations_ms=_expirations(copy),
        kraft_only=copy.kraft_only(),
        compacted=frozenset(
            fact["name"] for fact in policies_given(copy) if "compact" in (fact["value"] or "")
        ),
    )
    if not copy.from_the_beginning():
        return cluster
    return replace(
        cluster,
        created_once=frozenset(name for name, found in ids.items() if len(found) == 1),
        never_compacted=always_with(copy, "delete"),
        never_deleted=always_with(copy, "compact"),
    )


def _stopped(dump: Dump, cluster_id: str) -> frozenset[int]:
    """Brokers of a cluster of which each log directory with partitions was stopped cleanly."""
    clean: dict[int, bool] = {}
    for one in dump.partitions:
        if one.cluster_id == cluster_id and one.broker is not None:
            clean[one.broker] = clean.get(one.broker, True) and one.clean_shutdown
    return frozenset(broker for broker, stopped in clean.items() if stopped)


def _with_brokers(
    cluster: Cluster,
    copies: Sequence[tuple[DumpMetadataLog, MetadataCopy]],
    stopped: frozenset[int],
) -> Cluster:
    """With the brokers that any of its copies registers, where one has the whole past.

    `copies`: by their length, the longest is the last one: up to its last moment they are known. A
    cluster that moved from ZooKeeper had brokers that were never registered. A broker reads the
    log until it stops, so where all have stopped with a copy of their own, nothing that they wrote
    is later: their clocks need not be asked, and the moment of copying says nothing. A broker that
    joined afterwards leads none of their partitions without an unclean election.
    """
    whole = [(one.broker, copy) for one, copy in copies if copy.from_the_beginning()]
    if not whole or any(copy.migrated() for _, copy in copies):
        return cluster
    brokers = frozenset(
        fact["number"] for _, copy in copies for fact in copy.of_kind(RegisteredBroker)
    )
    all_stopped = brokers <= stopped & {broker for broker, _ in whole}
    latest = whole[-1][1].up_to_ms or 0
    return replace(cluster, registered=brokers, registered_up_to_ms=None if all_stopped else latest)


def _expirations(copy: MetadataCopy) -> frozenset[int]:
    values = [
        fact["value"]
        for fact in copy.of_kind(Configured)
        if fact["number"] == BROKER_RESOURCE and fact["option"] == PRODUCER_EXPIRATION
    ]
    return frozenset(int(value) for value in values if value and MILLISECONDS.fullmatch(value))
