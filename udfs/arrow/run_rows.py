"""Producer runs of a split as rows, and its regular transactions as blocks.

The folding contract is stated in udfs/wire/batches/fold.py.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_schema

from schemas import log_row
from schemas.topics import COORDINATOR_TOPICS
from udfs.arrow.batches import DecodedBatches
from udfs.arrow.blocks import pack_block
from udfs.arrow.rows import RowBuilder, Rows, Values, typed_column
from udfs.rules.absence import Running
from udfs.rules.memory import KNOWN_BATCHES, is_remembered_from
from udfs.wire.batches import faults, records
from udfs.wire.batches.batch_headers import Int64s
from udfs.wire.batches.fold import Batches, Runs, fold
from udfs.wire.batches.regular import Bounds, Folding, fold_regular, oldest_open

REGULAR_SCHEMA: pa.Schema = to_arrow_schema(log_row.REGULAR_TXN)
ABORT_SCHEMA: pa.Schema = to_arrow_schema(log_row.REGULAR_ABORT)
# About 100 bytes a transaction: a block stays far below the size of a Spark row that hurts.
BLOCK_TRANSACTIONS = 32_768
RUN_NAMES = tuple(field.name for field in log_row.RUN_COLUMNS)


class Replayable(NamedTuple):
    """The batches of a split that replay looks at; `batch` has their indices in the split."""

    batch: Int64s
    batches: Batches
    records: Int64s


def replayable(decoded: DecodedBatches) -> Replayable:
    """Data batches and markers of producers, without those whose header cannot be believed."""
    headers = decoded.headers
    commit = decoded.control_type == records.COMMIT
    markers = headers.control & (commit | (decoded.control_type == records.ABORT))
    usable = (headers.producer_id >= 0) & ((decoded.fault & faults.NOT_REPLAYED) == 0)
    chosen = np.flatnonzero(usable & (markers | ~headers.control)).astype(np.int64)
    fault = np.where(headers.control, np.int64(0), decoded.fault)
    counts = np.where(headers.control, 0, np.maximum(headers.record_count, 0))
    picked = Batches(
        producer_id=headers.producer_id[chosen],
        epoch=headers.producer_epoch[chosen],
        offset=headers.base_offset[chosen],
        first_sequence=headers.base_sequence[chosen],
        last_sequence=headers.last_sequence[chosen],
        timestamp=headers.max_timestamp[chosen],
        control=headers.control[chosen],
        transactional=headers.transactional[chosen],
        fault=fault[chosen],
        commit=commit[chosen],
        coordinator_epoch=decoded.coordinator_epoch[chosen],
        marker_timestamp=decoded.marker_timestamp[chosen],
    )
    return Replayable(chosen, picked, counts[chosen])


class ProducerOrder(NamedTuple):
    """Batches by producer, then by place; the batches of a run stand next to each other there.

    `order`: indices of the batches. `rank`: the place of each batch in that order.
    """

    order: Int64s
    rank: Int64s


def _by_producer(batches: Batches) -> ProducerOrder:
    order = np.argsort(batches.producer_id, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return ProducerOrder(order, rank)


def _records_in(runs: Runs, given: Replayable, by_producer: ProducerOrder) -> Int64s:
    """Records present in each run."""
    order, rank = by_producer
    cumulative = np.concatenate(([0], np.cumsum(given.records[order])))
    has_data = runs.first >= 0
    inside = np.zeros(runs.first.size, dtype=np.int64)
    inside[has_data] = (
        cumulative[rank[runs.last[has_data]] + 1] - cumulative[rank[runs.first[has_data]]]
    )
    return inside


class Columns:
    """Columns of run rows, taken from the batches that the runs point at."""

    def __init__(
        self,
        decoded: DecodedBatches,
        given: Replayable,
        runs: Runs,
        absent: Running,
        start: int,
        kept_from: int,
    ) -> None:
        """`start`: byte position of the split in its file; `kept_from`: see Bounds."""
        headers = decoded.headers
        self._given, self._runs = given, runs
        last_offset, last_sequence = headers.last_offset, headers.last_sequence
        position = headers.position + start
        # Which array each column is read from, at the first and last data batch and the marker.
        self._at_first: dict[str, NDArray[Any]] = {
            "producer_epoch": headers.producer_epoch,
            "transactional": headers.transactional,
            "first_offset": headers.base_offset,
            "first_sequence": headers.base_sequence,
            "first_batch_last_sequence": last_sequence,
            "first_timestamp": headers.max_timestamp,
            "first_position": position,
            "first_length": headers.length,
            "first_checksum": headers.checksum,
            "below_log_start": headers.base_offset < kept_from,
            "absent_to_first": absent.before,
        }
        self._at_last: dict[str, NDArray[Any]] = {
            "last_offset": last_offset,
            "last_sequence": last_sequence,
            "last_timestamp": headers.max_timestamp,
            "log_append_time": headers.log_append_time,
            "last_position": position,
            "last_length": headers.length,
            "absent_to_last": absent.behind,
        }
        self._at_marker: dict[str, NDArray[Any]] = {
            "marker_offset": headers.base_offset,
            "marker_epoch": headers.producer_epoch,
            "marker_commit": decoded.control_type == records.COMMIT,
            "coordinator_epoch": decoded.coordinator_epoch,
            "marker_timestamp": decoded.marker_timestamp,
            "marker_position": position,
            "marker_length": headers.length,
            "absent_to_marker": absent.before,
        }
        self._by_producer = _by_producer(given.batches)
        records_present = _records_in(runs, given, self._by_producer)
        self._of_runs = {"batches": runs.batches, "records": records_present}
        self._producer_id = headers.producer_id
        self._oldest_other = oldest_open(given.batches)
        self._checksum = headers.checksum[given.batch]

    def of(self, chosen: Int64s, names: tuple[str, ...] = RUN_NAMES) -> dict[str, Values]:
        """Columns of `log_row.RUN_COLUMNS` for the chosen runs, without those of the folding."""
        runs, batch = self._runs, self._given.batch
        no_data, no_marker = runs.first[chosen] < 0, runs.marker[chosen] < 0
        first = batch[np.maximum(runs.first[chosen], 0)]
        last = batch[np.maximum(runs.last[chosen], 0)]
        ending = np.maximum(runs.marker[chosen], 0)
        marker = batch[ending]
        columns: dict[str, Values] = {
            "producer_id": (self._producer_id[np.where(no_data, marker, first)], None)
        }
        for arrays, index, nulls in (
            (self._at_first, first, no_data),
            (self._at_last, last, no_data),
            (self._at_marker, marker, no_marker),
            (self._of_runs, chosen, no_data),
        ):
            columns |= {
                name: (values[index], nulls) for name, values in arrays.items() if name in names
            }
        if "oldest_other" in names:
            oldest = self._oldest_other[ending]
            columns["oldest_other"] = (oldest, no_marker | (oldest < 0))
        return columns

    def checksums(self, chosen: Int64s) -> pa.Array:
        """Checksums of the newest data batches of the chosen runs, KNOWN_BATCHES at most."""
        runs = self._runs
        order, rank = self._by_producer
        number = np.clip(runs.batches[chosen], 0, KNOWN_BATCHES)
        ends = np.cumsum(number)
        after = rank[np.maximum(runs.last[chosen], 0)] + 1
        at = np.repeat(after - ends, number) + np.arange(int(number.sum()))
        offsets = np.concatenate(([0], ends)).astype(np.int32)
        return pa.ListArray.from_arrays(
            pa.array(offsets), pa.array(self._checksum[order[at]]), type=pa.list_(pa.int64())
        )

    def of_regular(self, chosen: Int64s, names: tuple[str, ...] = RUN_NAMES) -> dict[str, Values]:
        """Columns of regular transactions: each follows another one of its producer."""
        known = np.ones(chosen.size, dtype=np.bool_)
        return self.of(chosen, names) | self.marker_before(chosen, known)

    def marker_before(self, chosen: Int64s, known: NDArray[np.bool_]) -> dict[str, Values]:
        """Epoch of the marker before the chosen runs, where the run before ends with it."""
        marker = self._given.batch[np.maximum(self._runs.marker[np.maximum(chosen - 1, 0)], 0)]
        return {"marker_epoch_before": (self._at_marker["marker_epoch"][marker], ~known)}

    def of_folding(self, chosen: Int64s, folding: Folding) -> dict[str, Values]:
        """The columns that say what was folded away before the chosen runs (contract 6)."""
        batches, runs = self._given.batches, self._runs
        chain = folding.chain[chosen]
        none = chain < 0
        begun = np.maximum(chain, 0)
        before = np.maximum(begun - 1, 0)
        return {
            "follows": (folding.follows[chosen], None),
            "chain_first_sequence": (batches.first_sequence[runs.first[begun]], none),
            "chain_epoch_before": (batches.epoch[runs.first[before]], none),
            "chain_sequence_before": (batches.last_sequence[runs.last[before]], none),
        } | self.marker_before(chosen, folding.follows[chosen])


def _kept_from(decoded: DecodedBatches, log_start: int | None) -> int:
    """See Bounds; 0 where nothing of the file lies below the log start."""
    headers = decoded.headers
    if log_start is None or headers.last_offset.min() >= log_start:
        return 0
    return is_remembered_from(headers.base_offset, headers.last_offset, log_start)


def run_rows(
    builder: RowBuilder,
    decoded: DecodedBatches,
    given: Replayable,
    absent: Running,
    split: dict[str, Any],
    expiration_ms: int,
) -> Iterator[Rows]:
    """Rows of kind RUN and REGULAR of one split; `absent`: of all its batches."""
    if not given.batch.size:
        return
    bounds = Bounds(
        sequenced=split["topic"] not in COORDINATOR_TOPICS,
        expiration_ms=expiration_ms,
        high_watermark=split["high_watermark"],
        cleaned_below=split["cleaned_below"] or 0,
        kept_from=_kept_from(decoded, split["log_start"]),
    )
    runs = fold(given.batches, bounds.sequenced, expiration_ms, bounds.kept_from)
    folding = fold_regular(given.batches, runs, bounds)
    columns = Columns(decoded, given, runs, absent, split["start"], bounds.kept_from)
    kept = np.flatnonzero(~folding.inner)
    yield builder.flat(
        log_row.RUN,
        columns.of(kept) | columns.of_folding(kept, folding),
        {"last_checksums": columns.checksums(kept)},
    )
    inner = np.flatnonzero(folding.inner)
    if not inner.size:
        return
    in_log_order = inner[np.argsort(runs.first[inner], kind="stable")]
    for at in range(0, in_log_order.size, BLOCK_TRANSACTIONS):
        chosen = in_log_order[at : at + BLOCK_TRANSACTIONS]
        aborted = chosen[~given.batches.commit[runs.marker[chosen]]]
        row: dict[str, Any] = {
            "number": int(chosen.size),
            "transactions": _block(columns, chosen, REGULAR_SCHEMA),
            "aborts": int(aborted.size),
        }
        if aborted.size:
            row["aborted"] = _block(columns, aborted, ABORT_SCHEMA)
        yield builder.nested(log_row.REGULAR, "regular", [row])


def _block(columns: Columns, chosen: Int64s, schema: pa.Schema) -> bytes:
    """Many regular transactions in one cell."""
    values = columns.of_regular(chosen, tuple(schema.names))
    arrays = [typed_column(*values[field.name], field.type) for field in schema]
    return pack_block(pa.RecordBatch.from_arrays(arrays, schema=schema))
