"""Data of partitions between two offsets: headers of batches, read for this alone."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.lineage import BETWEEN
from udfs.arrow.batches import DecodeOptions, decode_batches
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.read_again import split_again
from udfs.arrow.sections import readable
from udfs.arrow.segment import segment_frames
from udfs.arrow.sent_again import Sent, sends
from udfs.wire.batches.batch_headers import BatchHeaders, Int64s

SCHEMA: pa.Schema = to_arrow_schema(BETWEEN)


class Written(NamedTuple):
    """What a producer wrote in one epoch and transaction, from its first to its last offset."""

    producer_id: int
    producer_epoch: int
    first_offset: int
    last_offset: int


class Between(NamedTuple):
    """Which batches of a partition count: base offsets from `begin` on, and below `end`.

    `end` None: to the end of the log. `transactional`: those of transactions as well. `written`:
    only what these wrote; none: whoever wrote it. `contiguous`, `leaders`: see `read_between`.
    `without`: batches that do not count.
    """

    begin: int
    end: int | None = None
    transactional: bool = False
    written: tuple[Written, ...] = ()
    contiguous: bool = False
    leaders: bool = False
    without: frozenset[Sent] = frozenset()


def read_between(
    batches: Iterator[pa.RecordBatch], ranges: Mapping[int, Between], options: DecodeOptions
) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow` over rows of SPLIT: rows of BETWEEN, at most one a split.

    Where `contiguous` or `written` is asked for, one a range of offsets without others between
    them, and of one of `written`. Where `leaders` is, of all batches, markers too, one a range of
    one leader epoch. `ranges`: partition_index -> the batches that count.
    """
    for batch in batches:
        for split in batch.to_pylist():
            with split_again(split) as source:
                rows = _of_split(source, split, ranges[split["partition_index"]], options)
            if rows:
                yield pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def _of_split(
    source: ByteRange, split: dict[str, Any], asked: Between, options: DecodeOptions
) -> list[dict[str, Any]]:
    frames = segment_frames(source, split, options)
    decoded = decode_batches(source, frames.positions, split["topic"], options)
    headers = decoded.headers
    wanted = readable(decoded) & (headers.base_offset >= asked.begin)
    if asked.end is not None:
        wanted &= headers.base_offset < asked.end
    if not asked.leaders:
        wanted &= ~headers.control
    if not (asked.transactional or asked.leaders):
        wanted &= ~headers.transactional
    mine = np.flatnonzero(wanted)
    if asked.without:
        others = [one not in asked.without for one in sends(headers, mine)]
        mine = mine[np.array(others, dtype=np.bool_)]
    whose = np.zeros(mine.size, dtype=np.int64)
    if asked.written:
        whose = _whose(headers, mine, asked.written)
        mine, whose = mine[whose >= 0], whose[whose >= 0]
    if not mine.size:
        return []
    starts = np.zeros(1, dtype=np.int64)
    if asked.written or asked.contiguous:
        order = np.lexsort((headers.base_offset[mine], whose))
        mine, whose = mine[order], whose[order]
        apart = headers.base_offset[mine[1:]] != headers.last_offset[mine[:-1]] + 1
        starts = np.flatnonzero(np.append(True, apart | (np.diff(whose) != 0)))
    if asked.leaders:
        of_another = np.diff(headers.partition_leader_epoch[mine]) != 0
        starts = np.flatnonzero(np.append(True, of_another))
    rows = []
    for part in np.split(np.arange(mine.size), starts[1:]):
        one = asked.written[int(whose[part[0]])] if asked.written else None
        rows.append(_row(headers, mine[part], one) | {"partition_index": split["partition_index"]})
    return rows


def _row(headers: BatchHeaders, mine: Int64s, of: Written | None) -> dict[str, Any]:
    return {
        "first_offset": int(headers.base_offset[mine].min()),
        "last_offset": int(headers.last_offset[mine].max()),
        "records": int(headers.record_count[mine].sum()),
        "since_ms": int(headers.max_timestamp[mine[0]]),
        "producer_id": of and of.producer_id,
        "producer_epoch": of and of.producer_epoch,
        "written_from": of and of.first_offset,
        "leader_epoch": int(headers.partition_leader_epoch[mine[0]]),
    }


def _whose(headers: BatchHeaders, mine: Int64s, written: Sequence[Written]) -> Int64s:
    """The number of the one in `written` that each batch is of; -1 for none."""
    by_epoch: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for number, one in enumerate(written):
        key = (one.producer_id, one.producer_epoch)
        by_epoch.setdefault(key, []).append((one.first_offset, number))
    for known in by_epoch.values():
        known.sort()
    result = np.full(mine.size, -1, dtype=np.int64)
    keys = zip(headers.producer_id[mine].tolist(), headers.producer_epoch[mine].tolist(),
               headers.base_offset[mine].tolist(), strict=True)  # fmt: skip
    for at, (producer, epoch, offset) in enumerate(keys):
        mine_of = by_epoch.get((producer, epoch), [])
        place = bisect_right(mine_of, (offset, len(written))) - 1
        if place >= 0 and offset <= written[mine_of[place][1]].last_offset:
            result[at] = mine_of[place][1]
    return result
