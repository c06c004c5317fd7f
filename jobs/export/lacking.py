"""Offsets that a consumer would get of a partition, and that no batch of the exported copy has."""

from collections.abc import Iterable
from typing import NamedTuple

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from jobs.export.export import Range
from schemas.dump_partition import CLEANED, NEVER_CLEANED

INFO = (
    "partition_index", "topic", "partition", "broker", "log_start_offset", "log_end_offset",
    "data_end_offset", "cleaning", "cleaner_reach", "compacted_once", "gone", "missing",
    "checkpoint_log_start",
)  # fmt: skip


class Lacking(NamedTuple):
    """Offsets `first` to `last`, both inclusive, that the exported copy of a partition lacks.

    `lost`: no cleaner took them, as far as its checkpoint tells. `brokers`: those of other copies
    in the dump that have a batch for each of them. `in_front`: of the first batch of the copy.
    """

    topic: str
    partition: int
    first: int
    last: int
    lost: bool
    brokers: tuple[int, ...]
    in_front: bool = False

    @property
    def number(self) -> int:
        """How many offsets."""
        return self.last + 1 - self.first


def lacking(info: DataFrame, asked: Iterable[Range], to_log_end: bool) -> list[Lacking]:
    """What the ranges lack below the high watermark, or below the log end where that counts.

    A log has every offset (`UnifiedLog.append`) but those that a cleaner takes, and that takes
    none behind the last batch. So what lies between the log end and the high watermark of a
    checkpoint is lost in any log; what lies between two batches in a log that no cleaner passed,
    nor that of a broker from which it was fetched. Where a copy was cleaned, nothing tells whose
    gap it is, and none is told. What lies in front of a copy may have been deleted there alone, as
    each broker deletes segments at moments of its own, or be in remote storage: the checkpoint has
    the log start of all then (`LogManager.checkpointLogStartOffsets`).

    `info`: rows of `partition_info`.
    """
    taken = {one.partition_index: one for one in asked}
    names = {(one.topic, one.partition) for one in taken.values()}
    topics = sorted({topic for topic, _ in names})
    rows = info.filter(F.col("topic").isin(*topics)).select(*INFO).collect()
    copies = [row for row in rows if (row.topic, row.partition) in names]
    found = []
    for row in sorted(copies):
        if row.partition_index in taken:
            own = taken[row.partition_index]
            others = [one for one in copies if _is_other(one, row)]
            ranges = _of_copy(row, own, to_log_end)
            if (begin := _begin(row, others)) < own.from_offset:
                ranges.insert(0, (begin, own.from_offset, False))
            for first, end, lost in ranges:
                brokers = sorted({one.broker for one in others if _has(one, first, end)})
                place = row.topic, row.partition, first, end - 1, lost, tuple(brokers)
                found.append(Lacking(*place, in_front=first < own.from_offset))
    return found


def _begin(row: Row, others: Iterable[Row]) -> int:
    """The log start of a partition, as far as a checkpoint or another copy has a lower one."""
    starts = [one.log_start_offset for one in (row, *others)]
    if row.checkpoint_log_start is not None:
        starts.append(row.checkpoint_log_start)
    return int(min(starts))


def _is_other(copy: Row, row: Row) -> bool:
    same = (copy.topic, copy.partition) == (row.topic, row.partition)
    return same and copy.broker is not None and copy.broker != row.broker


def _of_copy(row: Row, own: Range, to_log_end: bool) -> list[tuple[int, int, bool]]:
    """(first, end, lost) of ranges of a copy, in order; ends are exclusive."""
    never = row.cleaning == NEVER_CLEANED
    readable = max(row.data_end_offset if never else row.log_end_offset, own.from_offset)
    mark = own.replicated_to or 0
    unknown = to_log_end or own.replicated_to is None
    end = max(mark, own.log_end_offset) if unknown else mark
    between = [] if row.cleaning == CLEANED else [(one.first, one.end) for one in row.gone]
    inside = [(max(first, own.from_offset), min(last, end, readable)) for first, last in between]
    uncleaned = never and not row.compacted_once
    gaps = [(*one, uncleaned and one[0] >= row.cleaner_reach) for one in _merged(inside)]
    return gaps + ([(readable, end, True)] if readable < end else [])


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges that overlap or touch as one; those without an offset are left out."""
    merged: list[tuple[int, int]] = []
    for first, end in sorted(one for one in ranges if one[0] < one[1]):
        if merged and first <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((first, end))
    return merged


def _has(copy: Row, first: int, end: int) -> bool:
    there = copy.log_start_offset <= first and end <= copy.data_end_offset
    return there and not any(one.first < end and first < one.end for one in copy.missing)
