"""Records of `__consumer_offsets`: vectors, all versions, malformed bytes, truncation."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire.vectors import O1, O2, O3, T0

from tests.wire_writer.offsets_log import encode_group_metadata, encode_key, encode_offset_commit
from udfs.wire.errors import WireError
from udfs.wire.offsets.offsets_log import (
    GroupKey,
    GroupMember,
    GroupMetadata,
    OffsetCommit,
    decode_group_metadata,
    decode_key,
    decode_offset_commit,
)

TOPIC_ID = bytes(range(1, 17))
COMMITS = {
    "O2": (O2, OffsetCommit(3, 42, "", T0, leader_epoch=5)),
    "O3": (O3, OffsetCommit(4, 42, "m", T0, leader_epoch=5, topic_id=TOPIC_ID)),
}
TIME = "0000018bcfe56800"
HEAD = "000000000000002a"

# What is wrong, the stored value, the reason.
MALFORMED_COMMITS = [
    ("no version", "00", "length_out_of_bounds"),
    ("version 5", "0005" + HEAD + "00000005" + "01" + TIME + "00", "unknown_version"),
    ("version -1", "ffff" + HEAD, "unknown_version"),
    ("v0 metadata null", "0000" + HEAD + "ffff" + TIME, "unexpected_null"),
    ("v0 metadata beyond the data", "0000" + HEAD + "7fff" + TIME, "length_out_of_bounds"),
    ("v0 with an expire timestamp", "0000" + HEAD + "0000" + TIME * 2, "bytes_left_over"),
    ("v1 without an expire timestamp", "0001" + HEAD + "0000" + TIME, "length_out_of_bounds"),
    ("v2 with a leader epoch", "0002" + HEAD + "00000005" + "0000" + TIME, "bytes_left_over"),
    ("v4 without tags", "0004" + HEAD + "00000005" + "01" + TIME, "varint_underflow"),
    ("v4 topic id cut", "0004" + HEAD + "00000005" + "01" + TIME + "01000200ff", "tag_size"),
]
MALFORMED_KEYS = [
    ("empty", "", "length_out_of_bounds"),
    ("null group", "0001ffff" + "00017400000002", "unexpected_null"),
    ("group beyond the data", "0001000a6162", "length_out_of_bounds"),
    ("no partition", O1.hex()[:-8], "length_out_of_bounds"),
    ("commit with bytes left over", O1.hex() + "00", "bytes_left_over"),
    ("classic group with bytes left over", "0002000167" + "00", "bytes_left_over"),
    ("share group without a group", "000a", "length_out_of_bounds"),
]
MALFORMED_GROUPS = [
    ("version 5", "0005", "unknown_version"),
    ("null protocol type", "0000ffff", "unexpected_null"),
    ("member count beyond the data", "0000" + "0000" + "00000001" + "ffff" * 2 + "7fffffff",
     "length_out_of_bounds"),
    ("null members", "0000" + "0000" + "00000001" + "ffff" * 2 + "ffffffff", "unexpected_null"),
    ("null subscription",
     "0000" + "0000" + "00000001" + "ffff" * 2 + "00000001" + "0000" * 3 + "00000000" + "ffffffff"
     + "00000000", "unexpected_null"),
]  # fmt: skip

int32s = st.integers(-(1 << 31), (1 << 31) - 1)
int64s = st.integers(-(1 << 63), (1 << 63) - 1)
texts = st.text(max_size=8)
topic_ids = st.none() | st.binary(min_size=16, max_size=16)
EVERY_VERSION = range(5)


@st.composite
def commits(draw: st.DrawFn) -> OffsetCommit:
    """A commit whose fields are those of its version."""
    version = draw(st.sampled_from(EVERY_VERSION))
    return OffsetCommit(
        version,
        draw(int64s),
        draw(texts),
        draw(int64s),
        draw(int32s) if version >= 3 else -1,
        draw(int64s) if version == 1 else -1,
        draw(topic_ids) if version == 4 else None,
    )


@st.composite
def groups(draw: st.DrawFn) -> GroupMetadata:
    """A classic group whose fields are those of its version."""
    version = draw(st.sampled_from(EVERY_VERSION))
    blob = st.binary(max_size=8)
    members = [
        GroupMember(
            draw(texts),
            draw(texts),
            draw(texts),
            draw(int32s),
            draw(blob),
            draw(blob),
            draw(int32s) if version >= 1 else -1,
            draw(st.none() | texts) if version >= 3 else None,
        )
        for _ in range(draw(st.integers(0, 3)))
    ]
    nullable = st.none() | texts
    return GroupMetadata(
        version,
        draw(texts),
        draw(int32s),
        draw(nullable),
        draw(nullable),
        tuple(members),
        draw(int64s) if version >= 2 else -1,
    )


def test_key_vector() -> None:
    assert decode_key(O1) == GroupKey(1, "group-a", "t", 2)
    assert encode_key(GroupKey(1, "group-a", "t", 2)) == O1


@pytest.mark.parametrize("name", COMMITS)
def test_commit_vector(name: str) -> None:
    stored, value = COMMITS[name]
    assert decode_offset_commit(stored) == value
    assert encode_offset_commit(value) == stored


def test_old_and_new_types_of_keys() -> None:
    assert decode_key(bytes.fromhex("0000" + O1.hex()[4:])) == GroupKey(0, "group-a", "t", 2)
    assert decode_key(bytes.fromhex("0002000167")) == GroupKey(2, "g")
    # A member of a share group: what follows the group is not read.
    assert decode_key(bytes.fromhex("000a000167" + "00016d")) == GroupKey(10, "g")
    assert decode_key(bytes.fromhex("0018" + "ff")) == GroupKey(24, None)
    assert decode_key(bytes.fromhex("ffff")) == GroupKey(-1, None)


@pytest.mark.parametrize(("what", "stored", "reason"), MALFORMED_COMMITS)
def test_malformed_commit(what: str, stored: str, reason: str) -> None:
    with pytest.raises(WireError) as caught:
        decode_offset_commit(bytes.fromhex(stored))
    assert caught.value.reason == reason, what


@pytest.mark.parametrize(("what", "stored", "reason"), MALFORMED_KEYS)
def test_malformed_key(what: str, stored: str, reason: str) -> None:
    with pytest.raises(WireError) as caught:
        decode_key(bytes.fromhex(stored))
    assert caught.value.reason == reason, what


@pytest.mark.parametrize(("what", "stored", "reason"), MALFORMED_GROUPS)
def test_malformed_group(what: str, stored: str, reason: str) -> None:
    with pytest.raises(WireError) as caught:
        decode_group_metadata(bytes.fromhex(stored))
    assert caught.value.reason == reason, what


@given(commits())
def test_commit_round_trip_and_truncation(value: OffsetCommit) -> None:
    stored = encode_offset_commit(value)
    assert decode_offset_commit(stored) == value
    for size in range(len(stored)):
        with pytest.raises(WireError):
            decode_offset_commit(stored[:size])


@given(groups())
def test_group_round_trip_and_truncation(value: GroupMetadata) -> None:
    stored = encode_group_metadata(value)
    assert decode_group_metadata(stored) == value
    for size in range(len(stored)):
        with pytest.raises(WireError):
            decode_group_metadata(stored[:size])


@given(st.binary(max_size=60), st.sampled_from([b"", O1[:8], O2[:12], O3[:14], b"\0\4", b"\0\3"]))
def test_arbitrary_bytes_give_a_value_or_a_wire_error(tail: bytes, start: bytes) -> None:
    for decode in (decode_key, decode_offset_commit, decode_group_metadata):
        with suppress(WireError):
            decode(start + tail)
