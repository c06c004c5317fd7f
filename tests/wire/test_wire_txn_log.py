"""Records of `__transaction_state`: vectors, one malformed case a field, truncation, hashes."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire.vectors import K1, S1, S6, T0, TXN_LOG_VALUES

from tests.wire_writer.txn_log import encode_key, encode_value, partition_for
from udfs.wire.coordinator.txn_log import (
    STATUS,
    TxnLogKey,
    TxnLogValue,
    decode_key,
    decode_value,
    java_hash,
)
from udfs.wire.errors import WireError

EXPECTED = {
    "S1": TxnLogValue(0, 4001, 3, 60000, 0, None, T0, -1),
    "S2": TxnLogValue(
        0,
        4001,
        3,
        60000,
        1,
        (("t", (0, 2)), ("__consumer_offsets", (17,))),
        T0 + 1,
        T0 + 1,
    ),
    "S3": TxnLogValue(0, 4001, 3, 60000, 4, (), T0 + 20, T0 + 1),
    "S4": TxnLogValue(
        1, 4001, 4, 60000, 2, (("t", (0,)),), T0 + 30, T0 + 5, client_transaction_version=2
    ),
    "S5": TxnLogValue(1, 4002, 0, 60000, 4, (), T0 + 31, T0 + 5, 4001, 4002, 2),
    "S6": TxnLogValue(
        1, 4001, 4, 60000, 0, None, T0, -1, client_transaction_version=2, next_producer_epoch=7
    ),
}

HEAD_0 = "00000000000000000fa100030000ea6001"
HEAD_1 = "00010000000000000fa100030000ea6001"
TIMES = "0000018bcfe568000000018bcfe56800"

# What is wrong, the stored value, the reason.
MALFORMED_VALUES = [
    ("no version", "00", "length_out_of_bounds"),
    ("version 2", "0002" + HEAD_1[4:] + "00" + TIMES + "00", "unknown_version"),
    ("version -1", "ffff" + HEAD_1[4:] + "00" + TIMES + "00", "unknown_version"),
    ("v0 topic count beyond the data", HEAD_0 + "7fffffff" + TIMES, "length_out_of_bounds"),
    ("v0 topic count -2", HEAD_0 + "fffffffe" + TIMES, "length_out_of_bounds"),
    ("v0 topic null", HEAD_0 + "00000001ffff00000000" + TIMES, "unexpected_null"),
    ("v0 topic length -2", HEAD_0 + "00000001fffe00000000" + TIMES, "length_out_of_bounds"),
    ("v0 topic beyond the data", HEAD_0 + "000000017fff00000000" + TIMES, "length_out_of_bounds"),
    ("v0 topic not UTF-8", HEAD_0 + "000000010001ff00000000" + TIMES, "invalid_utf8"),
    ("v0 ids null", HEAD_0 + "00000001000174ffffffff" + TIMES, "unexpected_null"),
    ("v0 ids beyond the data", HEAD_0 + "000000010001747fffffff" + TIMES, "length_out_of_bounds"),
    ("v0 bytes left over", HEAD_0 + "ffffffff" + TIMES + "00", "bytes_left_over"),
    ("v1 topic count beyond the data", HEAD_1 + "ffffffff0f" + TIMES, "length_out_of_bounds"),
    ("v1 topic count overlong", HEAD_1 + "ffffffffff0f" + TIMES, "varint_overlong"),
    ("v1 topic null", HEAD_1 + "02000100" + TIMES + "00", "unexpected_null"),
    ("v1 topic beyond the data", HEAD_1 + "027f7400" + TIMES + "00", "length_out_of_bounds"),
    ("v1 ids null", HEAD_1 + "0202740000" + TIMES + "00", "unexpected_null"),
    ("v1 ids beyond the data", HEAD_1 + "0202747f" + TIMES + "00", "length_out_of_bounds"),
    ("v1 topic tag cut", HEAD_1 + "020274010100ff01", "length_out_of_bounds"),
    ("v1 no tag section", HEAD_1 + "00" + TIMES, "varint_underflow"),
    ("v1 tag count beyond the data", HEAD_1 + "00" + TIMES + "7f", "varint_underflow"),
    ("v1 tag size beyond the data", HEAD_1 + "00" + TIMES + "01057f00", "length_out_of_bounds"),
    ("v1 tag 0 of two bytes", HEAD_1 + "00" + TIMES + "0100020002", "tag_size"),
    ("v1 tags descend", HEAD_1 + "00" + TIMES + "020302000202020002", "tag_order"),
    ("v1 tag twice", HEAD_1 + "00" + TIMES + "020202000202020002", "tag_order"),
    ("v1 bytes left over", HEAD_1 + "00" + TIMES + "0000", "bytes_left_over"),
]

MALFORMED_KEYS = [
    ("empty", "", "length_out_of_bounds"),
    ("version 1", "0001" + K1.hex()[4:], "unknown_version"),
    ("null id", "0000ffff", "unexpected_null"),
    ("id beyond the data", "0000000a6162", "length_out_of_bounds"),
    ("id not UTF-8", "00000001ff", "invalid_utf8"),
    ("bytes left over", K1.hex() + "00", "bytes_left_over"),
]

HASHES = [
    ("", 0, 0),
    ("my-txn-id", 1405732511, 11),
    ("order-service-1", -229043366, 16),
    ("group-a", 293427347, 47),
    ("polygenelubricants", -2147483648, 0),
    ("żółw-😀", 913633828, 28),
]

int16s = st.integers(-(1 << 15), (1 << 15) - 1)
int32s = st.integers(-(1 << 31), (1 << 31) - 1)
int64s = st.integers(-(1 << 63), (1 << 63) - 1)
topics = st.tuples(st.text(max_size=8), st.lists(int32s, max_size=3).map(tuple))
partitions = st.none() | st.lists(topics, max_size=3).map(tuple)
head = (int64s, int16s, int32s, st.integers(-128, 127), partitions, int64s, int64s)
tags = (int64s, int64s, int16s, int16s)
values = st.tuples(st.just(0), *head).map(lambda fields: TxnLogValue(*fields)) | st.tuples(
    st.just(1), *head, *tags
).map(lambda fields: TxnLogValue(*fields))


@pytest.mark.parametrize("name", EXPECTED)
def test_value_vector(name: str) -> None:
    assert decode_value(TXN_LOG_VALUES[name]) == EXPECTED[name]
    assert encode_value(EXPECTED[name]) == TXN_LOG_VALUES[name]


def test_key_vector() -> None:
    assert decode_key(K1) == TxnLogKey(0, "my-txn-id")
    assert encode_key("my-txn-id") == K1


def test_null_partitions_differ_from_none_listed() -> None:
    assert decode_value(S1).partitions is None
    assert decode_value(TXN_LOG_VALUES["S3"]).partitions == ()


def test_unknown_tags_are_skipped_by_size_and_named() -> None:
    with_tags = bytes.fromhex(HEAD_1 + "00" + TIMES + "03" + "02020002" + "0900" + "0a03616263")
    value = decode_value(with_tags)
    assert value.unknown_tags == (9, 10)
    assert value.client_transaction_version == 2


def test_tags_of_a_topic_are_skipped() -> None:
    stored = bytes.fromhex(HEAD_1 + "020274" + "0200000007" + "0105026162" + TIMES + "00")
    assert decode_value(stored).partitions == (("t", (7,)),)


def test_status_byte_is_the_position_of_its_name() -> None:
    assert STATUS[0] == "Empty"
    assert STATUS[decode_value(TXN_LOG_VALUES["S4"]).status] == "PrepareCommit"
    assert STATUS[7] == "PrepareEpochFence"


@pytest.mark.parametrize(("what", "stored", "reason"), MALFORMED_VALUES)
def test_malformed_value(what: str, stored: str, reason: str) -> None:
    with pytest.raises(WireError) as caught:
        decode_value(bytes.fromhex(stored))
    assert caught.value.reason == reason, what


@pytest.mark.parametrize(("what", "stored", "reason"), MALFORMED_KEYS)
def test_malformed_key(what: str, stored: str, reason: str) -> None:
    with pytest.raises(WireError) as caught:
        decode_key(bytes.fromhex(stored))
    assert caught.value.reason == reason, what


@pytest.mark.parametrize("name", TXN_LOG_VALUES)
def test_every_truncation_of_a_value_is_refused(name: str) -> None:
    stored = TXN_LOG_VALUES[name]
    for size in range(len(stored)):
        with pytest.raises(WireError):
            decode_value(stored[:size])


def test_every_truncation_of_a_key_is_refused() -> None:
    for size in range(len(K1)):
        with pytest.raises(WireError):
            decode_key(K1[:size])


@given(values)
def test_value_round_trip(value: TxnLogValue) -> None:
    assert decode_value(encode_value(value)) == value


@given(st.binary(max_size=60), st.sampled_from([b"", S1[:17], S6[:17]]))
def test_arbitrary_bytes_give_a_value_or_a_wire_error(tail: bytes, start: bytes) -> None:
    for decode in (decode_key, decode_value):
        with suppress(WireError):
            decode(start + tail)


@pytest.mark.parametrize(("text", "hashed", "partition"), HASHES)
def test_hash_and_partition(text: str, hashed: int, partition: int) -> None:
    assert java_hash(text) == hashed
    assert partition_for(text, 50) == partition
