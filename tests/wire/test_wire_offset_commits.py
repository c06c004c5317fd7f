"""Many records of `__consumer_offsets` at once give what one after the other gives."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from wire.test_wire_offsets_log import commits
from wire.vectors import B1, O1, O2, O3

from tests.wire_writer import batches as writer
from tests.wire_writer import offsets_log as group_writer
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches import records
from udfs.wire.errors import WireError
from udfs.wire.offsets import offsets_log
from udfs.wire.offsets.offset_commits import Keys, read_commits


def decoded(value: bytes) -> int | None:
    try:
        return offsets_log.decode_offset_commit(value).offset
    except WireError:
        return None


def in_a_row(values: list[bytes]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    lengths = np.array([len(value) for value in values], dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(lengths)))[:-1].astype(np.int64)
    return np.frombuffer(b"".join(values) or b"\0", dtype=np.uint8), starts, lengths


@given(st.lists(commits().map(group_writer.encode_offset_commit) | st.binary(max_size=40)))
def test_commits_are_those_that_are_decoded_one_by_one(values: list[bytes]) -> None:
    offsets, errors = read_commits(*in_a_row(values))
    for i, value in enumerate(values):
        assert (None if i in errors else int(offsets[i])) == decoded(value)


@example(b"", 15, 128)  # metadata that is no UTF-8
@given(st.binary(max_size=30), st.integers(0, 30), st.integers(0, 255))
def test_a_changed_byte_is_never_taken_for_another_shape(tail: bytes, at: int, byte: int) -> None:
    for stored in (O2, O3):
        changed = bytearray(stored + tail)
        changed[at % len(changed)] = byte
        offsets, errors = read_commits(*in_a_row([bytes(changed)]))
        assert (None if errors else int(offsets[0])) == decoded(bytes(changed))


def test_a_tombstone_commits_nothing() -> None:
    data = np.zeros(1, dtype=np.uint8)
    offsets, errors = read_commits(data, np.array([0]), np.array([-1]))
    assert (offsets.tolist(), errors) == ([-1], {})


def test_spans_are_keys_and_values() -> None:
    data = np.frombuffer(b"junk" + B1 + b"more", dtype=np.uint8)
    ends = np.array([4 + len(B1)], dtype=np.int64)
    spans = records.find_spans(data, np.array([4 + layout.HEADER_SIZE]), ends, np.array([2]))
    raw = data.tobytes()
    told = [
        (raw[key : key + size] if size >= 0 else None, raw[at : at + length], int(delta))
        for _, delta, key, size, at, length, *_ in spans.T
    ]
    assert told == [(b"k1", b"v1", 0), (None, b"", 1)]


def test_a_count_that_lies_costs_nothing_and_finds_what_is_there() -> None:
    section = writer.record(0, 0, b"k", b"v")
    data = np.frombuffer(section, dtype=np.uint8)
    whole = np.array([len(section)], dtype=np.int64)
    spans = records.find_spans(data, np.array([0]), whole, np.array([1 << 31]))
    assert spans.shape == (records.SPAN_ROWS, 1)


def test_distinct_keys_are_decoded_once() -> None:
    data = O1 + b"\0\1\xff" + O1
    spans = np.zeros((records.SPAN_ROWS, 4), dtype=np.int64)
    spans[records.KEY_START] = [0, len(O1), len(O1) + 3, 0]
    spans[records.KEY_LENGTH] = [len(O1), 3, len(O1), -1]
    keys = Keys()
    assert keys.number(data, spans).tolist() == [0, 1, 0, 2]
    assert keys.number(O1, spans[:, :1]).tolist() == [0]
    assert keys.decoded == [offsets_log.GroupKey(1, "group-a", "t", 2), None, None]
    assert sorted(keys.errors) == [1, 2]
