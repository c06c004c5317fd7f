"""Messages of magic 0 and 1: wrappers, offsets, timestamps, faults, and bytes of any kind."""

import gzip
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire.vectors import B1, L0, L1, L2, T0

from tests.wire_writer.batches import compress, legacy_message, lz4_of_magic_0, snappy_raw
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches import faults
from udfs.wire.batches.batch_headers import BatchHeaders, Int64s, header_faults, read_headers
from udfs.wire.batches.batch_records import iter_batch, plain_section
from udfs.wire.batches.records import NO_TIMESTAMP
from udfs.wire.batches.walk import CRC32_TABLE, CRC32C_TABLE, walk
from udfs.wire.codecs import GZIP, LZ4, SNAPPY
from udfs.wire.errors import WireError
from udfs.wire.legacy.legacy_messages import content, find_spans, iter_messages
from udfs.wire.legacy.legacy_wrappers import Opened, check_messages, open_wrapper

LIMIT = 1 << 20
APPEND_TIME = layout.TIMESTAMP_TYPE_MASK


def messages(magic: int, offsets: list[int], times: list[int] | None = None) -> bytes:
    stamps = times or [0] * len(offsets)
    return b"".join(
        legacy_message(offset, b"k%d" % offset, b"v", magic=magic, timestamp=T0 + time)
        for offset, time in zip(offsets, stamps, strict=True)
    )


def wrapper(
    magic: int, offset: int, inner: bytes, codec: int = GZIP, stored: bytes | None = None,
    timestamp: int = T0, kind: int = 0,
) -> bytes:  # fmt: skip
    value = compress(codec, inner) if stored is None else stored
    return legacy_message(
        offset, None, value, magic=magic, timestamp=timestamp, attributes=codec | kind
    )


def positions_of(data: bytes) -> Int64s:
    found = np.empty(len(data) // 26 + 1, dtype=np.int64)
    count, _, _ = walk(
        np.frombuffer(data, dtype=np.uint8), 0, len(data), len(data), LIMIT, found,
        CRC32C_TABLE, CRC32_TABLE,
    )  # fmt: skip
    return found[:count]


def decoded(data: bytes) -> tuple[BatchHeaders, Int64s]:
    """Headers with the wrappers opened, and all faults."""
    array = np.frombuffer(data, dtype=np.uint8)
    headers = read_headers(array, positions_of(data))
    old, fault, _ = check_messages(array, headers, LIMIT)
    mask = header_faults(headers, coordinator_topic=False)
    mask[old] |= fault
    return headers, mask


def offsets_in(batch: bytes) -> list[int]:
    headers, fault = decoded(batch)
    assert fault.tolist() == [0]
    return [int(headers.base_offset[0]) + one.offset_delta for one in iter_batch(batch, LIMIT)]


def test_the_vectors_of_the_reference() -> None:
    headers, fault = decoded(L0 + L1 + L2 + B1)
    assert fault.tolist() == [0, 0, 0, 0]
    assert headers.magic.tolist() == [0, 1, 1, 2]
    assert headers.base_offset.tolist()[:3] == [7, 8, 20]
    assert headers.last_offset.tolist()[:3] == [7, 8, 21]
    assert headers.record_count.tolist()[:3] == [1, 1, 2]
    assert headers.base_timestamp.tolist()[:3] == [-1, T0, T0 + 1]
    assert headers.max_timestamp.tolist()[:3] == [-1, T0, T0 + 2]
    for field in (headers.producer_id, headers.base_sequence, headers.partition_leader_epoch):
        assert field.tolist()[:3] == [-1, -1, -1]
    assert [(one.key, one.value) for one in iter_batch(L2, LIMIT)] == [(b"a", b"1"), (b"b", b"2")]
    assert [one.timestamp_delta for one in iter_batch(L2, LIMIT)] == [0, 1]
    assert [(one.key, one.value) for one in iter_batch(L1, LIMIT)] == [(None, b"v")]


OLD_LZ4 = lz4_of_magic_0(messages(0, [5, 6]))


@pytest.mark.parametrize(
    ("batch", "offsets"),
    [
        (wrapper(0, 6, messages(0, [5, 6])), [5, 6]),
        (wrapper(0, 6, messages(0, [5, 6]), SNAPPY), [5, 6]),
        (wrapper(0, 6, b"", LZ4, OLD_LZ4), [5, 6]),
        (wrapper(1, 6, messages(1, [0, 1]), LZ4), [5, 6]),
        (wrapper(1, 6, b"", SNAPPY, snappy_raw(messages(1, [0, 1]))), [5, 6]),
        (wrapper(1, 0, messages(1, [0, 1, 2])), [0, 1, 2]),
        (wrapper(1, 6, messages(0, [0, 1])), [5, 6]),
    ],
    ids=["magic 0", "snappy", "old lz4", "relative", "raw snappy", "offset 0", "magic 0 in 1"],
)
def test_offsets_of_the_messages_in_a_wrapper(batch: bytes, offsets: list[int]) -> None:
    assert offsets_in(batch) == offsets


def test_what_the_cleaner_leaves_of_a_wrapper_has_fewer_messages_than_offsets() -> None:
    headers, fault = decoded(wrapper(1, 105, messages(1, [0, 5])))
    assert (headers.base_offset[0], headers.last_offset[0]) == (100, 105)
    assert fault.tolist() == [faults.COUNT_BELOW_RANGE]


@pytest.mark.parametrize(
    ("batch", "fault"),
    [
        (wrapper(1, 9, messages(1, [0])[:-1] + b"x"), faults.WRAPPER_INNER_CRC),
        (wrapper(1, 9, wrapper(1, 0, messages(1, [0]))), faults.WRAPPER_NESTED),
        (wrapper(0, 9, b""), faults.WRAPPER_EMPTY),
        (legacy_message(9, None, None, magic=0, attributes=GZIP), faults.WRAPPER_EMPTY),
        (wrapper(0, 9, messages(0, [10])), faults.WRAPPER_OFFSET),
        (wrapper(1, 9, messages(1, [0, 10])), faults.WRAPPER_OFFSET),
        (wrapper(1, -9, messages(1, [0])), faults.WRAPPER_OFFSET),
        (wrapper(1, 9, messages(1, [-1, 0])), faults.WRAPPER_ORDER),
        (wrapper(1, 9, messages(1, [1, 1])), faults.WRAPPER_ORDER),
        (wrapper(1, 9, messages(1, [0, 1])[:-1]), faults.RECORD_MALFORMED),
        (wrapper(1, 9, messages(1, [0]) + B1), faults.RECORD_MALFORMED),
        (wrapper(1, 9, b"", stored=b""), faults.DECOMPRESSION_FAILED),
        (wrapper(1, 9, b"", stored=b"\0"), faults.DECOMPRESSION_FAILED),
        (wrapper(1, 9, b"", LZ4, OLD_LZ4), faults.DECOMPRESSION_FAILED),
        (wrapper(1, 9, bytes(LIMIT + 1)), faults.DECOMPRESSED_SIZE_LIMIT),
        (wrapper(1, 9, messages(1, [0]), codec=4), faults.CODEC_INVALID),
        (wrapper(0, 9, b"", codec=7, stored=b"x"), faults.CODEC_INVALID),
    ],
)
def test_a_wrapper_that_cannot_be_opened_keeps_its_own_offset(batch: bytes, fault: int) -> None:
    headers, found = decoded(batch)
    assert found.tolist() == [fault]
    assert headers.base_offset[0] == headers.last_offset[0] == struct.unpack(">q", batch[:8])[0]
    assert headers.record_count[0] == 1
    assert fault & faults.NOT_OPENED


@pytest.mark.parametrize(("magic", "key_at"), [(0, 18), (1, 26)], ids=["magic 0", "magic 1"])
@pytest.mark.parametrize("length", [3, 1 << 30, -2], ids=["beyond", "far beyond", "negative"])
def test_keys_and_values_that_do_not_fit(magic: int, key_at: int, length: int) -> None:
    whole = legacy_message(3, b"k", b"v", magic=magic)
    for at in (key_at, key_at + 5):
        data = np.frombuffer(whole[:at] + struct.pack(">i", length) + whole[at + 4 :], np.uint8)
        assert content(data, 0, len(whole))[0] == -1


def test_timestamps_of_wrappers() -> None:
    array = np.frombuffer(
        wrapper(1, 2, messages(1, [0, 1, 2], [5, 9, 7]), timestamp=T0 + 9)
        + wrapper(1, 4, messages(1, [0, 1], [5, 9]), timestamp=T0 + 77, kind=APPEND_TIME)
        + wrapper(0, 6, messages(0, [5, 6])),
        dtype=np.uint8,
    )
    headers = read_headers(array, positions_of(array.tobytes()))
    _, _, largest = check_messages(array, headers, LIMIT)
    assert headers.base_timestamp.tolist() == [T0 + 5, T0 + 5, -1]
    assert headers.max_timestamp.tolist() == [T0 + 9, T0 + 77, -1]
    assert largest.tolist() == [4, 4, NO_TIMESTAMP]
    assert headers.log_append_time.tolist() == [False, True, False]


def test_bits_without_meaning_make_no_transaction() -> None:
    data = b"".join(legacy_message(i, b"k", b"v", magic=i, attributes=0x78) for i in (0, 1))
    headers, _ = decoded(data)
    assert not (headers.transactional | headers.control | headers.delete_horizon).any()
    assert headers.log_append_time.tolist() == [False, True]


def test_spans_are_those_of_the_messages() -> None:
    plain = plain_section(wrapper(0, 6, messages(0, [2, 4, 6])), LIMIT)
    sections = [plain, L1, b""]
    end = np.cumsum([len(one) for one in sections])
    start = end - [len(one) for one in sections]
    data = np.frombuffer(b"".join(sections), dtype=np.uint8)
    spans = find_spans(data, start, end, np.array([3, 1, 0]))
    found = [
        (section, delta, None if length < 0 else data[at : at + length].tobytes())
        for section, delta, at, length, *_ in spans.T
    ]
    assert found == [(0, 0, b"k2"), (0, 2, b"k4"), (0, 4, b"k6"), (1, 0, None)]
    with pytest.raises(WireError):
        list(iter_messages(plain[:-1]))


MIXED = b"".join(
    (
        legacy_message(0, b"k", b"v" * 40, magic=0),
        wrapper(0, 3, messages(0, [1, 2, 3])),
        legacy_message(4, None, None, magic=1, timestamp=T0),
        wrapper(1, 7, messages(1, [0, 1, 2]), SNAPPY),
        wrapper(1, 9, messages(1, [0, 1]), LZ4, kind=APPEND_TIME),
    )
)


def test_a_log_cut_at_any_byte_keeps_the_batches_before_the_cut() -> None:
    whole, _ = decoded(MIXED)
    ends = (whole.position + whole.length).tolist()
    assert whole.last_offset.tolist() == [0, 3, 4, 7, 9]
    for size in range(len(MIXED) + 1):
        headers, fault = decoded(MIXED[:size])
        assert headers.magic.size == sum(end <= size for end in ends)
        assert not fault.any()


def test_a_changed_byte_ends_the_walk_at_its_batch_unless_no_checksum_covers_it() -> None:
    whole, _ = decoded(MIXED)
    for at in range(len(MIXED)):
        changed = bytearray(MIXED)
        changed[at] ^= 0xFF
        headers, _ = decoded(bytes(changed))
        batch = int(np.searchsorted(whole.position, at, side="right")) - 1
        in_offset = at - whole.position[batch] < layout.LENGTH
        assert headers.magic.size == (whole.magic.size if in_offset else batch)


@given(st.binary(max_size=200), st.sampled_from([0, 1]))
def test_no_content_of_a_wrapper_raises(inner: bytes, magic: int) -> None:
    opened = open_wrapper(wrapper(magic, 9, b"", GZIP, gzip.compress(inner, 1)), LIMIT)
    assert opened.fault or opened.messages > 0
    open_wrapper(wrapper(magic, 9, b"", SNAPPY, inner), LIMIT)


@given(st.integers(0, 400), st.integers(0, 255), st.sampled_from([0, 1]))
def test_no_changed_byte_of_a_message_inside_raises(at: int, value: int, magic: int) -> None:
    inner = bytearray(messages(magic, [0, 1, 2, 3]))
    inner[at % len(inner)] = value
    opened = open_wrapper(wrapper(magic, 3, bytes(inner)), LIMIT)
    assert isinstance(opened, Opened)
    assert opened.fault or opened.messages == 4
