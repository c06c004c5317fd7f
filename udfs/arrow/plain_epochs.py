"""Decisions in blocks beside markers in blocks: which of them need no row.

Under transaction.version 2 an epoch is one transaction (`udfs.rules.attribution`). So in a healthy
log nearly every decision has one marker in each partition that it lists, and no other decision or
marker has its epoch. The blocks of both are in different files. What matters of them is brought
together by producer id, a bucket of producers at a time; only epochs that are not plain become
rows (`jobs.verify.contexts.decided.matching` has the same rules for those).

Nor do markers whose decision was never in the copy of the coordinator's log: of an epoch below all
that the log, whose beginning is gone, has of the producer. And of a producer that the log does not
name nobody asks, if it may have had records that are gone, or not in the dump.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.columns import binary, boolean, integer, long, table
from udfs.arrow.blocks import Unpack, block_rows, epoch_keys, pack_block
from udfs.rules.attribution import ANY_LEADER_EPOCH, marked_in_order, raised
from udfs.rules.clock import clocks_apart, within_clocks
from udfs.wire.batches.batch_headers import Bools, Int64s

# What a part is: a decision and a partition that it lists, a marker, or either of a row; or from
# which epoch on the coordinator's log tells of the producer.
DECIDED, MARKED, ROW, TOLD_FROM = 0, 1, 2, 3
PART = table(
    long("producer_id", "producer id"),
    integer("marker_epoch", "producer epoch of the marker, or of the record of the coordinator"),
    integer("partition_index", "where the marker is, or belongs; -1 for none"),
    integer("what", "DECIDED, MARKED, ROW or TOLD_FROM"),
    boolean("plain", "whether it may be one of a plain pair, by itself"),
    boolean("commit", "true for COMMIT, false for ABORT"),
    long("timestamp", "of the marker or of the Prepare record, ms, broker clock"),
    integer("lowest_epoch", "leader epoch of the Prepare record; coordinator epoch of a marker"),
    integer("highest_epoch", "leader epoch of the Complete record; coordinator epoch of a marker"),
    integer("coordinator_index", "partition_index of the coordinator's log; -1 for a marker"),
    long("offset", "of the Complete record or of the marker"),
    long("complete_timestamp", "that of the Complete record, ms; 0 for a marker"),
)
BUCKET = table(integer("bucket", "by producer id"), binary("parts", "Arrow stream of PART rows"))
FIRST_ENDED = table(
    integer("partition_index", "partition of the marker"),
    integer("coordinator_index", "partition of the coordinator's log"),
    boolean("one_clock", "clocks may be apart as one may be from itself"),
    long("complete_offset", "offset of the first Complete record whose marker is in the partition"),
    long("marker_offset", "offset of that marker"),
    long("marker_timestamp", "of that marker, ms, broker clock"),
)
MATCHED = table(
    long("plain", "rows that the markers of plain epochs would have been"),
    long("others", "decisions and markers in blocks, of other epochs"),
    binary("keys", "`blocks.epoch_keys` of epochs that are not plain, in ascending order"),
    binary("first_ended", "Arrow stream of FIRST_ENDED rows; null for none"),
)
PARTS, FIRSTS = to_arrow_schema(PART), to_arrow_schema(FIRST_ENDED)


class Listed(NamedTuple):
    """Where the partitions that decisions list are in the dump.

    `names`: of partitions, as topic-partition, each once; the copies of the one numbered i are
    `indexes[starts[i] : starts[i + 1]]`, each a partition_index.
    """

    names: list[str]
    starts: Int64s
    indexes: Int64s


class _Parts(NamedTuple):
    """Columns of PART as arrays, one element a part."""

    producer_id: Int64s
    marker_epoch: Int64s
    partition_index: Int64s
    what: Int64s
    plain: Bools
    commit: Bools
    timestamp: Int64s
    lowest_epoch: Int64s
    highest_epoch: Int64s
    coordinator_index: Int64s
    offset: Int64s
    complete_timestamp: Int64s

    def at(self, some: NDArray[np.int64] | NDArray[np.bool_]) -> "_Parts":
        return _Parts._make(column[some] for column in self)


def decided_parts(listed: Listed, buckets: int) -> Unpack:
    """For `mapInArrow` over partition_index and blocks of DECISION rows: rows of BUCKET."""
    names = pa.array(listed.names, pa.string())

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for index, rows in _blocks(batches):
            yield from _in_buckets(_decided(index, rows, names, listed), buckets)

    return unpack


def marked_parts(buckets: int) -> Unpack:
    """The same over partition_index and blocks of REGULAR_TXN rows."""

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for index, rows in _blocks(batches):
            yield from _in_buckets(_marked(index, rows), buckets)

    return unpack


def bare_parts(what: int, buckets: int) -> Unpack:
    """The same over producer_id and marker_epoch: of ROW decisions and markers, or of TOLD_FROM."""

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            none, no = np.zeros(batch.num_rows, np.int64), np.zeros(batch.num_rows, np.bool_)
            known = _Parts(
                _numbers(batch, "producer_id"), _numbers(batch, "marker_epoch"), none - 1,
                none + what, no, no, none, none, none, none - 1, none, none,
            )  # fmt: skip
            yield from _in_buckets(known, buckets)

    return unpack


def match_parts(
    tolerance_ms: int, named_from_ms: int | None = None
) -> Callable[[pa.Table], pa.Table]:
    """For `applyInArrow` over all BUCKET rows of a bucket: one row of MATCHED.

    `tolerance_ms`: by how much clocks of brokers may be apart. `named_from_ms`: from when on the
    coordinator's log may name all producers, so that markers of others are asked for, too.
    """

    def match(bucket: pa.Table) -> pa.Table:
        parts = [rows for part in bucket.column("parts") for rows in block_rows(part.as_buffer())]
        return pa.Table.from_pylist(
            [_matched(pa.Table.from_batches(parts, PARTS), tolerance_ms, named_from_ms)],
            schema=to_arrow_schema(MATCHED),
        )

    return match


def _blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    for batch in batches:
        for index, block in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            for rows in block_rows(block.as_buffer()):
                yield index, rows


def _numbers(rows: pa.RecordBatch, name: str, missing: int = -1) -> Int64s:
    filled = rows.column(name).fill_null(missing)
    numbers: Int64s = filled.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _flags(rows: pa.RecordBatch, name: str) -> Bools:
    filled = rows.column(name).fill_null(False)
    flags: Bools = filled.to_numpy(zero_copy_only=False).astype(np.bool_)
    return flags


def _known(rows: pa.RecordBatch, name: str) -> Bools:
    known: Bools = rows.column(name).is_valid().to_numpy(zero_copy_only=False)
    return known


def _decided(index: int, rows: pa.RecordBatch, names: pa.Array, listed: Listed) -> _Parts:
    """Decisions of a block, one part a listed partition and copy of it in the dump."""
    lists = rows.column("partitions")
    which = pc.index_in(pc.list_flatten(lists), value_set=names)
    there = which.is_valid()
    row = pc.list_parent_indices(lists).filter(there).to_numpy().astype(np.int64)
    name = which.filter(there).to_numpy().astype(np.int64)
    copies = listed.starts[name + 1] - listed.starts[name]
    number = np.arange(int(copies.sum())) - np.repeat(np.cumsum(copies) - copies, copies)
    complete = _known(rows, "complete_offset")
    carried_out = complete & ~_known(rows, "gave_way_at") & ~_known(rows, "went_on_at")
    dated = carried_out & _known(rows, "prepare_timestamp")
    size, of = rows.num_rows, np.repeat(row, copies)
    parts = _Parts(
        producer_id=_numbers(rows, "producer_id"),
        marker_epoch=_numbers(rows, "marker_epoch"),
        partition_index=np.zeros(size, np.int64),
        what=np.full(size, DECIDED),
        plain=dated & _flags(rows, "transaction_version_2") & ~_flags(rows, "pending"),
        commit=_flags(rows, "commit"),
        timestamp=_numbers(rows, "prepare_timestamp"),
        lowest_epoch=_numbers(rows, "leader_epoch", ANY_LEADER_EPOCH),
        highest_epoch=_numbers(rows, "complete_leader_epoch", ANY_LEADER_EPOCH),
        coordinator_index=np.full(size, index),
        offset=_numbers(rows, "complete_offset"),
        complete_timestamp=_numbers(rows, "complete_timestamp"),
    )
    where = listed.indexes[np.repeat(listed.starts[name], copies) + number]
    return parts.at(of)._replace(partition_index=where)


def _marked(index: int, rows: pa.RecordBatch) -> _Parts:
    """Markers of a block."""
    epoch = _numbers(rows, "marker_epoch")
    coordinator_epoch = _numbers(rows, "coordinator_epoch")
    none = np.zeros(rows.num_rows, np.int64)
    told = _known(rows, "coordinator_epoch") & _known(rows, "marker_timestamp")
    return _Parts(
        producer_id=_numbers(rows, "producer_id"),
        marker_epoch=epoch,
        partition_index=none + index,
        what=none + MARKED,
        plain=told & raised(epoch, _numbers(rows, "producer_epoch")),
        commit=_flags(rows, "marker_commit"),
        timestamp=_numbers(rows, "marker_timestamp"),
        lowest_epoch=coordinator_epoch,
        highest_epoch=coordinator_epoch,
        coordinator_index=none - 1,
        offset=_numbers(rows, "marker_offset"),
        complete_timestamp=none,
    )


def _in_buckets(parts: _Parts, buckets: int) -> Iterator[pa.RecordBatch]:
    """The parts as rows of BUCKET."""
    if not parts.what.size:
        return
    bucket = (parts.producer_id.astype(np.uint64) % np.uint64(buckets)).astype(np.int64)
    order = np.argsort(bucket, kind="stable")
    numbers, begins = np.unique(bucket[order], return_index=True)
    for number, some in zip(numbers.tolist(), np.split(order, begins[1:]), strict=True):
        chosen = parts.at(some)._asdict()
        columns = [pa.array(chosen[field.name], field.type, safe=False) for field in PARTS]
        packed = pack_block(pa.RecordBatch.from_arrays(columns, schema=PARTS))
        yield pa.record_batch(
            [pa.array([number], pa.int32()), pa.array([packed], pa.binary())], BUCKET.names
        )


def _matched(table: pa.Table, tolerance_ms: int, named_from_ms: int | None) -> dict[str, object]:
    """A row of MATCHED: see `match_parts`."""
    columns = [table.column(name).to_numpy() for name in PARTS.names]
    everything = _Parts(*columns)
    parts = _asked_for(everything, named_from_ms)
    if not parts.what.size:
        return {"plain": 0, "others": 0, "keys": b"", "first_ended": None}
    of_epoch = _begins(parts.producer_id, parts.marker_epoch)
    at = np.flatnonzero(of_epoch | _begins(parts.partition_index))
    size = np.diff(np.append(at, parts.what.size))
    pair = size == 2
    plain = np.zeros(at.size, np.bool_)
    decided, marked = parts.at(at[pair]), parts.at(at[pair] + 1)
    plain[pair] = _is_plain(decided, marked)
    first = np.flatnonzero(of_epoch[at])
    number = np.diff(np.append(first, at.size))
    whole = np.logical_and.reduceat(plain, first)
    untold = np.logical_and.reduceat(_is_untold(parts, everything), at[first])
    of_plain = np.repeat(whole | untold, number)
    of_others = np.repeat(~of_plain, size)
    others = parts.at(of_others)
    keys = np.unique(epoch_keys(pa.array(others.producer_id), pa.array(others.marker_epoch)))
    pairs = np.repeat(whole, number)[pair]
    # Under version 0 and 1 markers of an epoch and outcome are one row.
    outcomes = np.logical_or.reduceat(parts.commit, at).astype(np.int64)
    outcomes += np.logical_or.reduceat(~parts.commit, at)
    return {
        "plain": int(np.where(np.repeat(whole, number), 1, outcomes)[of_plain].sum()),
        "others": int((others.what != ROW).sum()),
        "keys": keys.tobytes(),
        "first_ended": _first_ended(decided.at(pairs), marked.at(pairs), tolerance_ms),
    }


def _asked_for(parts: _Parts, named_from_ms: int | None) -> _Parts:
    """Those of producers that the coordinator's log names, in order; without those of TOLD_FROM.

    And markers later than `named_from_ms`, None for none, and what is a row already.
    """
    told = parts.producer_id[parts.what == TOLD_FROM]
    asked = np.isin(parts.producer_id, told)
    if named_from_ms is not None:
        asked |= (parts.timestamp > named_from_ms) | (parts.what == ROW)
    own = parts.at(np.flatnonzero((parts.what != TOLD_FROM) & asked))
    return own.at(np.lexsort((own.what, own.partition_index, own.marker_epoch, own.producer_id)))


def _is_untold(parts: _Parts, everything: _Parts) -> Bools:
    """Whether each part is a marker of an epoch that the coordinator's log does not tell of.

    `everything`: has a part TOLD_FROM of each producer that the log names.
    """
    told = everything.at(everything.what == TOLD_FROM)
    told = told.at(np.argsort(told.producer_id))
    # Behind the last one stands another, so that each place is one.
    names = np.append(told.producer_id, np.iinfo(np.int64).max)
    place = np.searchsorted(told.producer_id, parts.producer_id)
    told_from = np.append(told.marker_epoch, 0)[place]
    named = names[place] == parts.producer_id
    untold: Bools = (parts.what == MARKED) & named & (parts.marker_epoch < told_from)
    return untold


def _begins(*columns: Int64s) -> Bools:
    """Whether an element differs from the one before it in a column; true for the first one."""
    begins = np.ones(columns[0].size, np.bool_)
    begins[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return begins


def _is_plain(decided: _Parts, marked: _Parts) -> Bools:
    """Whether two parts of a partition are a decision and the marker that it leads to."""
    what = (decided.what == DECIDED) & (marked.what == MARKED)
    alike = decided.commit == marked.commit
    in_order: Bools = marked_in_order(
        decided.timestamp, marked.timestamp, decided.lowest_epoch, marked.lowest_epoch,
        marked.highest_epoch, decided.highest_epoch,
    )  # fmt: skip
    plain: Bools = what & alike & decided.plain & marked.plain & in_order
    return plain


def _first_ended(decided: _Parts, marked: _Parts, tolerance_ms: int) -> bytes | None:
    """A block of FIRST_ENDED rows; `decided`, `marked`: plain pairs, one element each.

    As `jobs.verify.contexts.decided.matching.first_ended` says, but for set-backs of clocks.
    """
    if not decided.what.size:
        return None
    complete = within_clocks(decided.complete_timestamp)
    moment = within_clocks(marked.timestamp)
    found = []
    for one_clock in (True, False):
        apart = int(clocks_apart(one_clock, tolerance_ms))
        near = np.flatnonzero(moment <= complete + apart)
        log, where = decided.coordinator_index[near], decided.partition_index[near]
        order = np.lexsort((decided.offset[near], log, where))
        first = near[order][_begins(log[order], where[order])]
        columns = (
            decided.partition_index[first],
            decided.coordinator_index[first],
            np.full(first.size, one_clock),
            decided.offset[first],
            marked.offset[first],
            marked.timestamp[first],
        )
        arrays = [pa.array(one, field.type) for one, field in zip(columns, FIRSTS, strict=True)]
        found.append(pa.RecordBatch.from_arrays(arrays, schema=FIRSTS))
    return pack_block(pa.Table.from_batches(found).combine_chunks().to_batches()[0])
