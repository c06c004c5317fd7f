"""Markers whose records are compressed: Kafka reads them, unless that fails."""

import io
from typing import Any

import numpy as np
import pytest

from tests.wire_writer import batches as writer
from udfs.arrow.batches import DecodedBatches, DecodeOptions, decode_batches
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.export_split import hidden
from udfs.arrow.segment import missing_ranges
from udfs.wire import codecs
from udfs.wire.batches import faults
from udfs.wire.batches.records import ABORT, CONTROL_UNKNOWN

T0 = 1_700_000_000_000
GZIP_BITS = 1


def _marker(codec: int, section: bytes | None = None, **more: Any) -> bytes:
    key = writer.CONTROL_KEY.pack(writer.CONTROL_VERSION, ABORT)
    value = writer.MARKER_VALUE.pack(writer.CONTROL_VERSION, 7)
    record = writer.record(0, 5, key, value)
    given: dict[str, Any] = {"producer_id": 1, "producer_epoch": 0, "control": True} | more
    return writer.batch(2, [record], base_timestamp=T0, transactional=True, codec=codec,
                        section=section, **given)  # fmt: skip


def _data(offset: int, sequence: int, count: int = 2) -> bytes:
    records = [writer.record(i, i, b"k", b"v") for i in range(count)]
    return writer.batch(offset, records, base_timestamp=T0, producer_id=1, producer_epoch=0,
                        base_sequence=sequence, transactional=True)  # fmt: skip


def _decoded(*batches: bytes, with_records: bool = True) -> DecodedBatches:
    log, starts = b"".join(batches), np.cumsum([0, *map(len, batches[:-1])])
    source = ByteRange(io.BytesIO(log), 0, len(log), len(log))
    options = DecodeOptions(1 << 20, 1 << 20, 0, with_records)
    return decode_batches(source, starts.astype(np.int64), "t", options)


@pytest.mark.parametrize("codec", [codecs.GZIP, codecs.SNAPPY, codecs.LZ4, codecs.ZSTD])
@pytest.mark.parametrize("with_records", [True, False])
def test_a_compressed_marker_is_read(codec: int, with_records: bool) -> None:
    read = _decoded(_data(0, 0), _marker(codec), with_records=with_records)
    assert read.fault.tolist() == [0, faults.CODEC_INVALID]
    assert (read.control_type[1], read.coordinator_epoch[1]) == (ABORT, 7)
    assert read.marker_timestamp[1] == T0 + 5
    assert not read.unread_markers.any()
    assert hidden(read, {}).tolist() == [True, False]


@pytest.mark.parametrize("codec", [GZIP_BITS, codecs.SNAPPY, codecs.LZ4, codecs.ZSTD, 5])
def test_one_that_cannot_be_decompressed_may_be_a_marker(codec: int) -> None:
    read = _decoded(_data(0, 0), _marker(codec, section=b"no codec wrote this"))
    assert read.fault.tolist() == [0, faults.CODEC_INVALID]
    assert read.control_type[1] == CONTROL_UNKNOWN
    assert read.unread_markers.tolist() == [False, True]
    (lost,) = missing_ranges(read, np.zeros(2, dtype=np.bool_), "t")
    assert (lost["first"], lost["end"], lost["lost"], lost["producer_id"]) == (2, 3, True, 1)


def test_one_that_the_cleaner_emptied_is_not_to_be_decompressed() -> None:
    read = _decoded(_data(0, 0), _marker(codecs.GZIP, section=b"", count=0))
    assert not read.unread_markers.any()
    (emptied,) = missing_ranges(read, np.zeros(2, dtype=np.bool_), "t")
    assert (emptied["emptied"], emptied["lost"]) == (True, False)


def test_data_without_a_sequence_are_no_marker_but_records_of_the_coordinator() -> None:
    read = _decoded(_data(0, 0), _data(2, -1))
    assert read.fault.tolist() == [0, faults.PRODUCER_FIELDS_INCONSISTENT]
    of_topic = {
        topic: [one["lost"] for one in missing_ranges(read, np.zeros(2, dtype=np.bool_), topic)]
        for topic in ("t", "__transaction_state")
    }
    assert of_topic == {"t": [False], "__transaction_state": [True]}
