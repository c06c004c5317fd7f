"""The records of a split of `__transaction_state` as rows and blocks, in the order of the log."""

from collections.abc import Generator, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas import log_row
from schemas.coordinator_states import PREPARE_COMMIT
from udfs.arrow.blocks import pack_block
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.rows import RowBuilder, Rows
from udfs.arrow.txn_log_columns import UsualColumns
from udfs.arrow.txn_log_unusual import RECORD, Unusual, unusual_records
from udfs.rules.attribution import carried_out_unseen, has_leader_epoch, took_effect
from udfs.rules.clock import counted_pause
from udfs.rules.coordinator_step import TRANSACTION_VERSION_2, gave_way, is_completed_by
from udfs.rules.decision_epoch import Recorded, data_epoch, may_have_raised, shares_epoch
from udfs.wire.batches.batch_headers import BatchHeaders, Bools, Int64s
from udfs.wire.coordinator.txn_log_chain import Chain, Folding, chain, fold_states

FOLDED_SCHEMA: pa.Schema = to_arrow_schema(log_row.FOLDED_RECORD)
DECISION_SCHEMA: pa.Schema = to_arrow_schema(log_row.DECISION)
# At most so many records are held as text at a time.
RECORDS_AT_ONCE = 65_536
# Timestamps are a client's to choose; between these no difference of two overflows.
MOMENT_LIMIT_MS = 1 << 62
NO_TIMESTAMP = np.iinfo(np.int64).min


# (partition, number of partitions); the number is None where it is not known.
Place = tuple[int | None, int | None]
UNPLACED: Place = (None, None)


class _Order(NamedTuple):
    """All records of a split, usual ones first; one array element each.

    `ordinal`, `alive_ms`, `latest`: see TXN_LOG_RECORD_TYPE; `latest` is NO_TIMESTAMP
    for none. `contiguous`: no offset is missing or repeated, none is undecodable.
    """

    ordinal: Int64s
    alive_ms: Int64s
    latest: Int64s
    contiguous: bool
    summary: dict[str, Any]


def _field(others: list[Unusual], name: str, missing: int) -> list[Int64s]:
    return [
        one.rows.field(name).fill_null(missing).to_numpy(zero_copy_only=False).astype(np.int64)
        for one in others
    ]


def _is_error(one: Unusual) -> Bools:
    error: Bools = one.rows.field("error").is_valid().to_numpy(zero_copy_only=False)
    return error


def _is_named(one: Unusual) -> Bools:
    ids = one.rows.field("transactional_id")
    named: Bools = ids.is_valid().to_numpy(zero_copy_only=False)
    return named


def _ordered(usual: UsualColumns, others: list[Unusual]) -> _Order:
    batch = np.concatenate([usual.batch, *[one.batch for one in others]])
    offset = np.concatenate([usual.offset, *_field(others, "offset", 0)])
    timestamp = np.concatenate([usual.timestamp, *_field(others, "timestamp", NO_TIMESTAMP)])
    error = np.concatenate(
        [np.zeros(usual.batch.size, dtype=np.bool_), *[_is_error(one) for one in others]]
    )
    order = np.argsort(batch, kind="stable")
    moment, number = timestamp[order], np.cumsum(~error[order])
    known = moment != NO_TIMESTAMP
    pause = np.diff(np.clip(moment, -MOMENT_LIMIT_MS, MOMENT_LIMIT_MS))
    pause = np.where(known[1:] & known[:-1], counted_pause(pause), 0)
    alive = np.concatenate([[0], np.cumsum(pause)])
    latest = np.maximum.accumulate(moment)
    ordinal, alive_ms, latest_at = (np.empty(order.size, dtype=np.int64) for _ in range(3))
    ordinal[order], alive_ms[order], latest_at[order] = number, alive, latest
    ends = {
        "first_timestamp": moment[0],
        "last_timestamp": moment[-1],
        "latest_timestamp": latest[-1],
    }
    summary = {name: None if at == NO_TIMESTAMP else int(at) for name, at in ends.items()}
    return _Order(
        ordinal,
        alive_ms,
        latest_at,
        bool((np.diff(offset[order]) == 1).all()) and not bool(error.any()),
        summary | {"records": int(number[-1]), "alive_ms": int(alive[-1])},
    )


def _whole(usual: UsualColumns, others: list[Unusual]) -> Bools:
    """Of each usual record, whether all records of its id are usual ones."""
    mixed = set()
    for one in others:
        mixed.update(one.rows.field("transactional_id").to_pylist())
    names = np.array([name not in mixed for name in usual.names], dtype=np.bool_)
    return names[usual.identity]


def _begins_leader_epoch(leader_epoch: Int64s) -> Bools:
    """Whether each record is the first of its leader epoch, which tells when the log was loaded."""
    begins = np.zeros(leader_epoch.size, dtype=np.bool_)
    begins[np.unique(leader_epoch, return_index=True)[1]] = True
    return begins


class _Split:
    """Puts usual and other records of a split into rows and blocks."""

    def __init__(self, usual: UsualColumns, others: list[Unusual], foldable: bool) -> None:
        self._usual, self._others = usual, others
        self._order = _ordered(usual, others)
        self._states = usual.states()
        self._chain: Chain = chain(usual.identity)
        none = np.zeros(usual.batch.size, dtype=np.bool_)
        self._folding = Folding(none, none, none, self._chain.previous)
        if foldable and self._order.contiguous:
            whole = _whole(usual, others)
            folding = fold_states(self._states, self._chain, whole, usual.lists)
            kept = _begins_leader_epoch(usual.leader_epoch)
            self._folding = folding._replace(folded=folding.folded & ~kept)

    def summary(self) -> dict[str, Any]:
        """A row of COORDINATOR_TYPE."""
        unevaluated = int((self._folding.folded | self._folding.judged).sum())
        return self._order.summary | {"unevaluated": unevaluated}

    def rows(self) -> Iterator[pa.StructArray]:
        """The records that were not folded away, some at a time, of TXN_LOG_RECORD_TYPE."""
        kept = np.flatnonzero(~self._folding.folded)
        for at in range(0, kept.size, RECORDS_AT_ONCE):
            some = kept[at : at + RECORDS_AT_ONCE]
            flags = {
                "judged": pa.array(self._folding.judged[some]),
                "decided": pa.array(self._folding.decided[some]),
            }
            yield _struct(some.size, self._usual.columns(some) | self._place(some) | flags)
        first = self._usual.batch.size
        for one in self._others:
            mine = np.arange(first, first + len(one.rows))
            first += len(one.rows)
            given = dict(zip(RECORD.names, one.rows.flatten(), strict=True))
            nothing = pa.repeat(pa.scalar(False), mine.size)
            flags = {"judged": nothing, "decided": nothing}
            yield _struct(mine.size, given | self._place(mine) | flags)

    def _place(self, some: Int64s) -> dict[str, pa.Array]:
        latest = self._order.latest[some]
        return {
            "ordinal": pa.array(self._order.ordinal[some]),
            "alive_ms": pa.array(self._order.alive_ms[some]),
            "latest_timestamp": pa.array(latest, mask=latest == NO_TIMESTAMP),
        }

    def blocks(self) -> Iterator[dict[str, Any]]:
        """What was folded away, rows of FOLDED_TYPE."""
        folded = np.flatnonzero(self._folding.folded)
        decided = np.flatnonzero(self._folding.decided)
        for at in range(0, max(folded.size, decided.size), RECORDS_AT_ONCE):
            txn_log_records, decisions = (
                folded[at : at + RECORDS_AT_ONCE],
                decided[at : at + RECORDS_AT_ONCE],
            )
            yield {
                "records": txn_log_records.size,
                "records_block": _block(
                    self._usual.columns(txn_log_records) | self._place(txn_log_records),
                    FOLDED_SCHEMA,
                ),
                "decisions": decisions.size,
                "decisions_block": _block(self._decisions(decisions), DECISION_SCHEMA),
            }

    def _recorded(self, some: Int64s) -> Recorded:
        states = self._states
        return Recorded(
            states.status[some], states.producer_id[some], states.producer_epoch[some],
            states.transaction_version[some],
        )  # fmt: skip

    def _decisions(self, some: Int64s) -> dict[str, pa.Array]:
        """Columns of DECISION of Prepare records between two records of their id.

        The same as `jobs.replay.decisions.decisions` says of those that were not folded away.
        """
        states, usual = self._states, self._usual
        after, tells = self._chain.following[some], self._folding.told_by[some]
        prepare, earlier = self._recorded(some), self._recorded(tells)
        transaction_version_2, status = (
            prepare.transaction_version >= TRANSACTION_VERSION_2,
            prepare.state,
        )
        step, next_step = states.at(some).step(), states.at(after).step()
        none = ~(took_effect(status, next_step.state) & is_completed_by(step, next_step))
        goes_on = gave_way(step, next_step)
        starts = step.start_ms, next_step.start_ms
        seen = ~carried_out_unseen(next_step.state, *starts, ~none, goes_on)
        columns = usual.columns(some)
        return {
            "record_position": columns["position"],
            "record_length": columns["length"],
            "prepare_offset": columns["offset"],
            "prepare_timestamp": columns["timestamp"],
            "start_ms": columns["start_ms"],
            "leader_epoch": columns["leader_epoch"],
            "transactional_id": columns["transactional_id"],
            "producer_id": columns["producer_id"],
            "marker_epoch": columns["producer_epoch"],
            "data_epoch": pa.array(data_epoch(prepare, earlier)),
            "commit": pa.array(status == PREPARE_COMMIT),
            "transaction_version_2": pa.array(transaction_version_2),
            "may_have_raised": pa.array(may_have_raised(prepare, earlier)),
            "shares_epoch": pa.array(shares_epoch(prepare, earlier)),
            "partitions": columns["partitions"],
            "complete_offset": pa.array(usual.offset[after], mask=none),
            "complete_timestamp": pa.array(usual.timestamp[after], mask=none),
            "complete_leader_epoch": pa.array(
                usual.leader_epoch[after], mask=none | ~has_leader_epoch(usual.leader_epoch[after])
            ),
            "pending": pa.array(np.zeros(some.size, dtype=np.bool_)),
            "gave_way_at": pa.array(usual.offset[after], mask=~goes_on),
            "went_on_at": pa.array(usual.offset[after], mask=seen),
            "went_on_ms": pa.array(usual.timestamp[after], mask=seen),
        }


def _placed_ids(usual: UsualColumns, others: list[Unusual], place: Place) -> dict[str, int]:
    """How many transactional ids lie in the split, and how many belong into another partition.

    Of the others also what divides their hashes minus the partition.
    """
    partition, partitions = place
    if partitions is None:
        return {"ids": 0, "misplaced_ids": 0, "hash_divisor": 0}
    hashes = np.unique(np.concatenate([usual.hashes(), *_field(others, "id_hash", -1)]))
    hashes = hashes[hashes >= 0]
    fits = hashes % partitions == partition
    divisor = np.gcd.reduce(hashes[fits] - partition, initial=0)
    return {
        "ids": int(hashes.size),
        "misplaced_ids": int((~fits).sum()),
        "hash_divisor": abs(int(divisor)),
    }


def _unreadable(others: list[Unusual]) -> dict[str, int | None]:
    """Offsets of the last record that cannot be decoded, and of the last without a name."""
    offset = np.concatenate([*_field(others, "offset", -1), np.empty(0, dtype=np.int64)])
    error = np.concatenate([*map(_is_error, others), np.empty(0, dtype=np.bool_)])
    named = np.concatenate([*map(_is_named, others), np.empty(0, dtype=np.bool_)])
    found = {"unreadable_at": offset[error], "nameless_at": offset[error & ~named]}
    return {name: int(at.max()) if at.size else None for name, at in found.items()}


def _struct(size: int, columns: dict[str, pa.Array]) -> pa.StructArray:
    arrays = [
        columns[field.name].cast(field.type)
        if field.name in columns
        else pa.nulls(size, field.type)
        for field in RECORD
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(RECORD))


def _block(columns: dict[str, pa.Array], schema: pa.Schema) -> bytes:
    arrays = [columns[field.name].cast(field.type) for field in schema]
    return pack_block(pa.RecordBatch.from_arrays(arrays, schema=schema))


def txn_log_rows(
    builder: RowBuilder,
    source: ByteRange,
    headers: BatchHeaders,
    limit: int,
    foldable: bool,
    place: Place = UNPLACED,
) -> Generator[Rows, None, dict[str, Any]]:
    """Rows of all records of a split, and blocks of those folded away; returns its summary.

    `foldable`: the dump has the partition only once, so its records need not be held against
    those of a copy. `place`: the partition, and how many there seem to be. The summary is the
    column `coordinator` of SUMMARY_TYPE, if there are records.
    """
    usual = UsualColumns(source, headers)
    others = list(unusual_records(source, headers, usual.readable, limit))
    return (yield from record_rows(builder, usual, others, foldable, place))


def record_rows(
    builder: RowBuilder,
    usual: UsualColumns,
    others: list[Unusual],
    foldable: bool,
    place: Place = UNPLACED,
) -> Generator[Rows, None, dict[str, Any]]:
    """`txn_log_rows` of records that are read already."""
    if not usual.batch.size and not others:
        return {}
    split = _Split(usual, others, foldable)
    for txn_log_records in split.rows():
        yield builder.struct(log_row.TXN_LOG_RECORD, "txn_log_record", txn_log_records)
    for block in split.blocks():
        yield builder.nested(log_row.FOLDED, "folded", [block])
    placed = _placed_ids(usual, others, place)
    return {"coordinator": split.summary() | placed | _unreadable(others)}
