"""Varints: the reference's table from both sides, malformed forms, round trips."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.wire import varint
from udfs.wire.errors import WireError

Decode = Callable[[bytes, int], tuple[int, int]]
Encode = Callable[[int], bytes]
Pair = tuple[Decode, Encode]

VARINT: Pair = (varint.decode_varint, varint.encode_varint)
VARLONG: Pair = (varint.decode_varlong, varint.encode_varlong)
UNSIGNED: Pair = (varint.decode_unsigned_varint, varint.encode_unsigned_varint)

VECTORS = [
    (VARINT, 0, "00"),
    (VARINT, -1, "01"),
    (VARINT, 1, "02"),
    (VARINT, -2, "03"),
    (VARINT, 63, "7e"),
    (VARINT, -64, "7f"),
    (VARINT, 64, "8001"),
    (VARINT, -65, "8101"),
    (VARINT, 300, "d804"),
    (VARINT, 2147483647, "feffffff0f"),
    (VARINT, -2147483648, "ffffffff0f"),
    (VARLONG, 1700000000000, "80a0abfef962"),
    (VARLONG, 9223372036854775807, "feffffffffffffffff01"),
    (VARLONG, -9223372036854775808, "ffffffffffffffffff01"),
    (UNSIGNED, 0, "00"),
    (UNSIGNED, 1, "01"),
    (UNSIGNED, 127, "7f"),
    (UNSIGNED, 128, "8001"),
    (UNSIGNED, 300, "ac02"),
    (UNSIGNED, 16384, "808001"),
    (UNSIGNED, 4294967295, "ffffffff0f"),
]

MALFORMED = [
    (VARINT, "", "varint_underflow"),
    (VARINT, "80", "varint_underflow"),
    (VARINT, "ffffffff", "varint_underflow"),
    (VARINT, "808080808000", "varint_overlong"),
    (VARINT, "ffffffff1f", "varint_overlong"),
    (VARLONG, "80808080808080808080", "varint_overlong"),
    (VARLONG, "ffffffffffffffffff03", "varint_overlong"),
    (UNSIGNED, "8080808080", "varint_overlong"),
    (UNSIGNED, "8080808010", "varint_overlong"),
]

OUT_OF_RANGE = [
    (VARINT, 1 << 31),
    (VARINT, -(1 << 31) - 1),
    (VARLONG, 1 << 63),
    (UNSIGNED, -1),
    (UNSIGNED, 1 << 32),
]


@pytest.mark.parametrize(("pair", "value", "stored"), VECTORS)
def test_vector(pair: Pair, value: int, stored: str) -> None:
    decode, encode = pair
    raw = bytes.fromhex(stored)
    assert encode(value) == raw
    assert decode(raw, 0) == (value, len(raw))


@pytest.mark.parametrize(("pair", "value", "stored"), VECTORS)
def test_vector_inside_junk(pair: Pair, value: int, stored: str) -> None:
    decode, _ = pair
    raw = bytes.fromhex(stored)
    assert decode(b"\xff\xff\xff" + raw + b"\xff", 3) == (value, 3 + len(raw))


@pytest.mark.parametrize(("pair", "stored", "reason"), MALFORMED)
def test_malformed(pair: Pair, stored: str, reason: str) -> None:
    decode, _ = pair
    with pytest.raises(WireError) as caught:
        decode(bytes.fromhex(stored), 0)
    assert caught.value.reason == reason


@pytest.mark.parametrize(("pair", "value"), OUT_OF_RANGE)
def test_value_that_does_not_fit_is_not_encoded(pair: Pair, value: int) -> None:
    _, encode = pair
    with pytest.raises(WireError) as caught:
        encode(value)
    assert caught.value.reason == "value_out_of_range"


def test_padded_zero_is_read_as_java_reads_it() -> None:
    assert varint.decode_varint(bytes.fromhex("8080808000"), 0) == (0, 5)


@given(st.integers(-(1 << 31), (1 << 31) - 1))
def test_varint_round_trip(value: int) -> None:
    raw = varint.encode_varint(value)
    assert varint.decode_varint(raw, 0) == (value, len(raw))


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_varlong_round_trip(value: int) -> None:
    raw = varint.encode_varlong(value)
    assert varint.decode_varlong(raw, 0) == (value, len(raw))


@given(st.integers(0, (1 << 32) - 1))
def test_unsigned_varint_round_trip(value: int) -> None:
    raw = varint.encode_unsigned_varint(value)
    assert varint.decode_unsigned_varint(raw, 0) == (value, len(raw))
