"""One copy of `__cluster_metadata`: the records of it that count, as plain values for the driver.

A snapshot is the state before an offset, and the log after it has the later changes; both are facts
in the order of offsets. A log that begins at offset 0 has the past too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from jobs.model.dump import DumpFile, DumpMetadataLog
from udfs.arrow.metadata_rows import Led
from udfs.rules.extent import is_cut_off
from udfs.wire.metadata.metadata_log import (
    Migrated,
    Undecodable,
)

Told = Mapping[str, Any]


@dataclass(frozen=True)
class MetadataCopy:
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
        """The facts of a class of `udfs.wire.metadata.metadata_log`, or of one beside it."""
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


def committed(
    copies: Sequence[tuple[DumpMetadataLog, MetadataCopy]],
) -> list[tuple[DumpMetadataLog, MetadataCopy]]:
    """The copies without what later leaders of their clusters have in place of it.

    A controller writes its own log first (`KafkaRaftClient.scheduleAppend`). One that was cut off
    keeps what no other one had until it comes back and truncates, and that was never committed.
    """
    return [
        (one, _cut(one, copy, [there for its, there in copies if its.cluster_id == one.cluster_id]))
        for one, copy in copies
    ]


def _cut(one: DumpMetadataLog, copy: MetadataCopy, others: Sequence[MetadataCopy]) -> MetadataCopy:
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


def copy_of(one: DumpMetadataLog, facts: Sequence[Told], splits: Sequence[Told]) -> MetadataCopy:
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
    if first is not None and first > snapshot_end:
        # A log is trimmed only below a snapshot (`KafkaMetadataLog.recoverSnapshots`).
        behind_gaps.insert(0, pieces[0])
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
    return MetadataCopy(
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
