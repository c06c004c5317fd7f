"""Facts of a cluster from copies of its `__cluster_metadata`: plain values for the driver.

A snapshot is the state before an offset, and the log after it has the later changes; both are facts
in the order of offsets. A log that begins at offset 0 has the past too.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.model.cluster import Block, Cluster, Clusters
from jobs.model.dump import Dump, DumpFile, DumpMetadataLog
from schemas import log_row
from udfs.arrow.metadata_rows import Assigned, Led
from udfs.rules.extent import is_cut_off
from udfs.rules.producer_ids import overlaps_block_before
from udfs.wire.metadata.metadata_log import (
    ABORTED,
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    Begun,
    Configured,
    CreatedPartition,
    CreatedTopic,
    Ended,
    Migrated,
    ProducerIds,
    RegisteredBroker,
    RemovedTopic,
    Undecodable,
)

CLEANUP_POLICY = "cleanup.policy"
PRODUCER_EXPIRATION = "producer.id.expiration.ms"
MILLISECONDS = re.compile(r"[0-9]{1,15}")

Told = Mapping[str, Any]


@dataclass(frozen=True)
class _Copy:
    """A copy of the log with its facts in order; offsets inclusive.

    `first_offset`: None for an empty log, and where a snapshot tells what the log lacks.
    `log_ends_at`: the last offset of the log itself, -1 for none. `up_to_ms`: see
    `_last_moment`. `whole`: no record between its first and its last is missing or cannot be read.
    """

    facts: list[Told]
    first_offset: int | None
    last_offset: int
    log_ends_at: int
    up_to_ms: int | None
    whole: bool

    def of_kind(self, kind: type) -> list[Told]:
        return [fact for fact in self.facts if fact["fact"] == kind.__name__]

    def leaders(self) -> list[tuple[int, int]]:
        """From which offset of the log on its batches are of which leader epoch."""
        return [(fact["offset"], fact["number"]) for fact in self.of_kind(Led)]

    def migrated(self) -> bool:
        """Whether it shows that the cluster once had ZooKeeper."""
        return any(fact["number"] != 0 for fact in self.of_kind(Migrated))

    def from_the_beginning(self) -> bool:
        """Whether it has the whole past of the cluster."""
        return self.whole and self.first_offset == 0 and not self.migrated()

    def kraft_only(self) -> bool:
        """Whether it shows that the cluster never had ZooKeeper.

        Snapshots say it from 3.4 to 3.9; a controller of 4.0 leaves it out (`FeaturesImage.write`).
        """
        told = {fact["number"] for fact in self.of_kind(Migrated)}
        return self.from_the_beginning() or told == {0}


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
    copies = _committed([(one, _copy(one, facts, splits)) for one in dump.metadata_logs])
    by_length: dict[str | None, list[tuple[DumpMetadataLog, _Copy]]] = defaultdict(list)
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
            name: frozenset(file.file_index for file in own[-1][0].files)
            for name, own in by_length.items()
        },
    )


def _reach(one: tuple[DumpMetadataLog, _Copy]) -> tuple[int, bool]:
    """How far a copy reaches; of copies that reach equally far the whole past counts more."""
    return one[1].last_offset, one[1].from_the_beginning()


def _committed(
    copies: Sequence[tuple[DumpMetadataLog, _Copy]],
) -> list[tuple[DumpMetadataLog, _Copy]]:
    """The copies without what later leaders of their clusters have in place of it.

    A controller writes its own log first (`KafkaRaftClient.scheduleAppend`). One that was cut off
    keeps what no other one had until it comes back and truncates, and that was never committed.
    """
    return [
        (one, _cut(one, copy, [there for its, there in copies if its.cluster_id == one.cluster_id]))
        for one, copy in copies
    ]


def _cut(one: DumpMetadataLog, copy: _Copy, others: Sequence[_Copy]) -> _Copy:
    """In front of the first offset at which a copy of a later leader has another batch.

    The last leader epoch of a copy tells whose it is: a leader has all that was committed before it
    (Raft's leader completeness). At one offset the higher epoch may be what was not: its leader
    died with it, and the one before was elected again (`KafkaRaftClient.handleVoteRequest` compares
    last epoch and end). What is left is shorter than a copy of the later leader, so its last moment
    is asked of nobody. A snapshot has only what is committed.
    """
    own = copy.leaders() if copy.whole else []
    cut = [
        offset
        for other, leaders in ((other, other.leaders()) for other in others)
        if own and leaders and own[-1][1] < leaders[-1][1]
        for offset in {at for at, _ in own + leaders}
        if own[0][0] <= offset <= min(copy.log_ends_at, other.last_offset)
        and _differ(_leader_at(own, offset), _leader_at(leaders, offset), other.whole)
    ]
    if not cut:
        return copy
    of_log = {file.file_index for file in one.files if file.kind == "metadata_log"}
    kept = [
        fact
        for fact in copy.facts
        if fact["file_index"] not in of_log or not is_cut_off(fact["offset"], min(cut))
    ]
    return replace(copy, facts=kept, last_offset=min(cut) - 1, up_to_ms=None)


def _differ(own: int, other: int, other_whole: bool) -> bool:
    """Whether batches at an offset are of two leaders.

    Where the other copy has gaps, its batch there may be of a later leader than it tells.
    """
    return own < other or (other_whole and 0 < other < own)


def _leader_at(leaders: Sequence[tuple[int, int]], offset: int) -> int:
    """The leader epoch of the batch at an offset; 0, as of none, in front of the first one."""
    return max((epoch for at, epoch in leaders if at <= offset), default=0)


def _copy(one: DumpMetadataLog, facts: Sequence[Told], splits: Sequence[Told]) -> _Copy:
    """The log, and the newest snapshot where the log lacks what led to it.

    `splits`: file_index, split_start, first_offset, last_offset, last_moment (ms).
    """
    logs = [file for file in one.files if file.kind == "metadata_log"]
    order = {file.file_index: number for number, file in enumerate(logs)}
    pieces = sorted(
        (row for row in splits if row["file_index"] in order and row["last_offset"] is not None),
        key=lambda row: (order[row["file_index"]], row["split_start"]),
    )
    behind_gaps = [
        later
        for earlier, later in pairwise(pieces)
        if later["first_offset"] != earlier["last_offset"] + 1
    ]
    gapless = not behind_gaps
    first = pieces[0]["first_offset"] if pieces else None
    last = pieces[-1]["last_offset"] if pieces else -1
    snapshots = [file for file in one.files if file.kind == "metadata_snapshot"]
    snapshot = max(snapshots, key=_end, default=None)
    if snapshot is not None and gapless and first == 0 and last >= _end(snapshot) - 1:
        snapshot = None
    snapshot_end = 0 if snapshot is None else _end(snapshot)
    read = set(order) | (set() if snapshot is None else {snapshot.file_index})
    mine = [fact for fact in facts if fact["file_index"] in read] + [
        _missing(piece) for piece in behind_gaps
    ]

    def in_order(fact: Told) -> tuple[int, int, int]:
        in_log = fact["file_index"] in order
        offset = fact["offset"] if in_log and fact["offset"] is not None else snapshot_end
        return offset, int(in_log), fact["position"]

    unreadable = any(fact["fact"] == Undecodable.__name__ for fact in mine)
    of_snapshot = [] if last >= snapshot_end - 1 else _splits_of(snapshot, splits)
    return _Copy(
        facts=sorted(mine, key=in_order),
        # Between the end of the log and a snapshot that goes on, a broker may have come and gone.
        first_offset=first if snapshot is None else None,
        last_offset=max(last, snapshot_end - 1),
        log_ends_at=last,
        up_to_ms=_last_moment(of_snapshot or pieces),
        whole=not unreadable,
    )


def _splits_of(file: DumpFile | None, splits: Sequence[Told]) -> list[Told]:
    mine = [row for row in splits if file is not None and row["file_index"] == file.file_index]
    return sorted(mine, key=lambda row: row["split_start"])


def _last_moment(pieces: Sequence[Told]) -> int | None:
    """The controller's clock at the last batch of splits in the order of the log, ms.

    Not its latest moment: that may be of a controller whose clock was ahead, and set back since. To
    such a moment the log has not come yet, and what is written until then it does not tell.
    """
    moments = [row["last_moment"] for row in pieces if row["last_moment"] is not None]
    return moments[-1] if moments else None


def _missing(piece: Told) -> Told:
    """What the offsets in front of a split might tell, which no split has."""
    return {
        "fact": Undecodable.__name__, "option": "offsets_missing",
        "file_index": piece["file_index"], "offset": piece["first_offset"], "position": -1,
    }  # fmt: skip


def _end(snapshot: DumpFile) -> int:
    """The offset after the last record that a snapshot contains."""
    return snapshot.base_offset or 0


def _blocks(one: DumpMetadataLog, copy: _Copy) -> list[Block]:
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


def _of_all_copies(copies: Sequence[tuple[DumpMetadataLog, _Copy]]) -> Cluster:
    """By the longest copy, the last one; what any of them deletes is deleted.

    A copy that lost its head to a snapshot no longer knows of the topics that went before.
    """
    longest = _cluster(copies[-1][1])
    deleted = frozenset().union(*[_deleted(copy) for _, copy in copies])
    named = {name: one for name, one in longest.topic_ids.items() if one not in deleted}
    replicas = {name: one for name, one in longest.replicas.items() if name in named}
    return replace(longest, deleted=deleted, topic_ids=named, replicas=replicas)


def _cluster(copy: _Copy) -> Cluster:
    """What is true of the cluster by its longest copy."""
    blocks = [fact["number"] for fact in copy.of_kind(ProducerIds)]
    cluster = Cluster(
        up_to_ms=copy.up_to_ms,
        next_producer_id=max(blocks) if blocks and copy.whole else None,
        partitions=_partitions(copy) if copy.whole else {},
        topic_ids=_topic_ids(copy) if copy.whole else {},
        replicas=_replicas(copy) if copy.whole else {},
        expirations_ms=_expirations(copy),
        kraft_only=copy.kraft_only(),
        compacted=frozenset(
            fact["name"] for fact in _policies(copy) if "compact" in (fact["value"] or "")
        ),
    )
    if not copy.from_the_beginning():
        return cluster
    created = copy.of_kind(CreatedTopic)
    ids: dict[str, set[str]] = defaultdict(set)
    for fact in created:
        ids[fact["name"]].add(fact["topic_id"])
    return replace(
        cluster,
        created_once=frozenset(name for name, found in ids.items() if len(found) == 1),
        never_compacted=_always(copy, "delete"),
        never_deleted=_always(copy, "compact"),
    )


def _stopped(dump: Dump, cluster_id: str) -> frozenset[int]:
    """Brokers of a cluster of which each log directory with partitions was stopped cleanly."""
    clean: dict[int, bool] = {}
    for one in dump.partitions:
        if one.cluster_id == cluster_id and one.broker is not None:
            clean[one.broker] = clean.get(one.broker, True) and one.clean_shutdown
    return frozenset(broker for broker, stopped in clean.items() if stopped)


def _with_brokers(
    cluster: Cluster, copies: Sequence[tuple[DumpMetadataLog, _Copy]], stopped: frozenset[int]
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


def _topic_ids(copy: _Copy) -> dict[str, str]:
    """Topic -> id of the newest topic of that name."""
    return {fact["name"]: fact["topic_id"] for fact in copy.of_kind(CreatedTopic)}


def _deleted(copy: _Copy) -> frozenset[str]:
    """Ids of topics that the log says are deleted, or behind which another one has their name.

    One that it does not name may be newer than it, or be deleted before its snapshot was taken.
    """
    removed = {fact["topic_id"] for fact in copy.of_kind(RemovedTopic)}
    ids: dict[str, str] = {}
    for fact in copy.of_kind(CreatedTopic):
        before = ids.get(fact["name"], fact["topic_id"])
        if before != fact["topic_id"]:
            removed.add(before)
        ids[fact["name"]] = fact["topic_id"]
    return frozenset(removed)


def _partitions(copy: _Copy) -> dict[str, int]:
    """Topic -> number of partitions of the newest topic of that name."""
    newest = _topic_ids(copy)
    highest: dict[str, int] = defaultdict(lambda: -1)
    for fact in copy.of_kind(CreatedPartition):
        highest[fact["topic_id"]] = max(highest[fact["topic_id"]], fact["number"])
    return {name: highest[one] + 1 for name, one in newest.items() if one in highest}


def _replicas(copy: _Copy) -> dict[str, dict[int, frozenset[int]]]:
    """Topic -> partition -> brokers that the newest topic of that name is assigned to."""
    of_topic: dict[str, dict[int, frozenset[int]]] = defaultdict(dict)
    for fact in copy.facts:
        if fact["fact"] == Assigned.__name__:
            for one in fact["value"].split(" "):
                number, _, brokers = one.partition("=")
                known = frozenset(int(broker) for broker in brokers.split(",") if broker)
                of_topic[fact["topic_id"]][int(number)] = known
    return {name: of_topic[one] for name, one in _topic_ids(copy).items() if one in of_topic}


def _policies(copy: _Copy) -> list[Told]:
    """Each cleanup.policy that a topic was given."""
    return [
        fact
        for fact in copy.of_kind(Configured)
        if fact["number"] == TOPIC_RESOURCE and fact["option"] == CLEANUP_POLICY
    ]


def _always(copy: _Copy, policy: str) -> frozenset[str]:
    """Topics that were created with this cleanup.policy, each time, and kept it.

    Without an own policy a topic has that of the broker, which may stand in its properties.
    """
    policies: dict[str, list[Told]] = defaultdict(list)
    for fact in _policies(copy):
        policies[fact["name"]].append(fact)
    created: dict[str, list[Told]] = defaultdict(list)
    for fact in copy.of_kind(CreatedTopic):
        created[fact["name"]].append(fact)
    return frozenset(
        name
        for name, times in created.items()
        if all(fact["value"] == policy for fact in policies[name])
        and all(any(_together(time, fact) for fact in policies[name]) for time in times)
    )


def _together(one: Told, other: Told) -> bool:
    """Whether both stand in one batch, which takes effect as a whole."""
    return (one["file_index"], one["position"]) == (other["file_index"], other["position"])


def _expirations(copy: _Copy) -> frozenset[int]:
    values = [
        fact["value"]
        for fact in copy.of_kind(Configured)
        if fact["number"] == BROKER_RESOURCE and fact["option"] == PRODUCER_EXPIRATION
    ]
    return frozenset(int(value) for value in values if value and MILLISECONDS.fullmatch(value))
