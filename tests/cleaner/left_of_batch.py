"""The bytes that a cleaner writes for a batch (`MemoryRecords.filterTo`)."""

from collections.abc import Sequence

from laws.log_batches import Batch

from tests.wire_writer import batches as writer
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches.records import Record


def horizon_of(batch: Batch) -> int | None:
    """`RecordBatch.deleteHorizonMs`, ms: it lies where the base timestamp was."""
    return batch.base_timestamp if batch.has_horizon else None


def fewer(batch: Batch, kept: Sequence[Record], horizon: int | None) -> bytes:
    """A batch of fewer records, or with a horizon (`MemoryRecords.buildRetainedRecordsInto`).

    Base offset, last offset and first sequence stay; the highest timestamp is that of what is left.
    """
    times = [batch.base_timestamp + record.timestamp_delta for record in kept]
    log_append = bool(batch.attributes & layout.TIMESTAMP_TYPE_MASK)
    if log_append:
        times = [batch.max_timestamp] * len(kept)
    first = times[0] if horizon is None else horizon
    records = [
        writer.record(record.offset_delta, time - first, record.key, record.value, record.headers)
        for record, time in zip(kept, times, strict=True)
    ]
    return writer.batch(
        batch.base_offset,
        records,
        base_timestamp=first,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        transactional=batch.transactional,
        control=batch.control,
        max_timestamp=max(times),
        partition_leader_epoch=batch.leader_epoch,
        codec=batch.attributes & layout.CODEC_MASK,
        last_offset_delta=batch.last_offset - batch.base_offset,
        timestamp_type=int(log_append),
        delete_horizon=horizon,
    )


def emptied(batch: Batch) -> bytes:
    """The header alone (`DefaultRecordBatch.writeEmptyHeader`): no horizon, no codec."""
    return writer.empty_batch(
        batch.base_offset,
        batch.last_offset,
        max_timestamp=batch.max_timestamp,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        transactional=batch.transactional,
        control=batch.control,
        partition_leader_epoch=batch.leader_epoch,
        timestamp_type=int(bool(batch.attributes & layout.TIMESTAMP_TYPE_MASK)),
    )
