"""Records of `__consumer_offsets` as --offsets-decoder prints them (`DumpLogSegments`).

Groups are names that clients choose, and may hold anything; the stored size of a key says where
its text ends.
"""

import json
import re

from udfs.wire.errors import WireError
from udfs.wire.offsets.offsets_log import GROUP_METADATA_TYPE, WRITTEN_OFFSET_COMMIT_TYPE, GroupKey

KEY, PAYLOAD = b" key: ", b" payload: "
# Type, lengths of group and topic, partition, as they are stored.
STORED_COMMIT_NUMBERS, STORED_GROUP_NUMBERS = 10, 4
LONGEST_PARTITION = 10
# Prefix, and how many more signs stand between group, topic and partition.
COMMIT_KEYS = ((b"offset_commit::group=", 12), (b"offset::", 2))
GROUP_KEY = b"group_metadata::group="
COMMIT_NAMES = re.compile(
    r"(?:offset_commit::group=(?P<group>.*),partition=(?P<topic>[A-Za-z0-9._-]{1,249})-"
    r"|offset::(?P<old_group>.*):(?P<old_topic>[A-Za-z0-9._-]{1,249}):)(?P<partition>\d{1,10})",
    re.DOTALL,
)
UNKNOWN_TYPE = re.compile(rb"Unknown record type (-?\d{1,5}) at offset \d{1,19}, skipping\.")
PLAIN_OFFSET = re.compile(rb"(?:offset=)?(-?\d{1,19})(?![^,:])")
STARTS = (b"{", b"offset_commit::", b"offset::", GROUP_KEY, b"Unknown record type ", b"Error at ")


def is_decoded(printed: bytes) -> bool:
    """Whether a record was printed by the decoder of this log."""
    return printed.startswith(tuple(KEY + start for start in STARTS))


def split_printed(printed: bytes, key_size: int) -> tuple[bytes, bytes | None]:
    """(key, value) as they were printed; value None where none is. Raises WireError."""
    if not printed.startswith(KEY):
        raise WireError("text_unreadable", "no key is printed")
    end = _end_of_key(printed, key_size)
    key, rest = printed[len(KEY) : end], printed[end:]
    if rest and not rest.startswith(PAYLOAD):
        raise WireError("text_unreadable", f"key {key[:100]!r}")
    return key, rest[len(PAYLOAD) :] if rest else None


def _end_of_key(printed: bytes, key_size: int) -> int:
    start = len(KEY)
    for prefix, signs in COMMIT_KEYS:
        if printed.startswith(prefix, start):
            least = start + len(prefix) + signs + key_size - STORED_COMMIT_NUMBERS
            for end in range(least + 1, least + 1 + LONGEST_PARTITION):
                if printed.startswith(PAYLOAD, end) or end == len(printed):
                    return end
    if printed.startswith(GROUP_KEY, start):
        end = start + len(GROUP_KEY) + key_size - STORED_GROUP_NUMBERS
        if printed.startswith(PAYLOAD, end) or end == len(printed):
            return end
    if printed.startswith(b"{", start):
        text = printed.decode("utf-8", "replace")
        try:
            _, end = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            raise WireError("text_unreadable", f"key: {error}"[:200]) from None
        return len(text[:end].encode())
    end = printed.find(PAYLOAD)
    return len(printed) if end < 0 else end


def read_key(text: bytes) -> GroupKey:
    """A key by its text. Raises WireError."""
    if text.startswith(b"{"):
        return _json_key(text)
    if text.startswith(GROUP_KEY):
        return GroupKey(GROUP_METADATA_TYPE, text[len(GROUP_KEY) :].decode("utf-8", "replace"))
    if unknown := UNKNOWN_TYPE.fullmatch(text):
        return GroupKey(int(unknown[1]), None)
    names = COMMIT_NAMES.fullmatch(text.decode("utf-8", "replace"))
    if names is None:
        raise WireError("text_unreadable", f"key {text[:100]!r}")
    group, topic = names["group"], names["topic"]
    if topic is None:
        group, topic = names["old_group"], names["old_topic"]
    return GroupKey(WRITTEN_OFFSET_COMMIT_TYPE, group, topic, int(names["partition"]))


def _json_key(text: bytes) -> GroupKey:
    try:
        key = json.loads(text)
        if "metadata" in key:  # of 1.0 to 2.3
            return GroupKey(GROUP_METADATA_TYPE, str(key["metadata"]))
        kind, data = int(key["type"]), key["data"]
        group = data.get("group", data.get("groupId"))
        if "topic" in data and kind <= WRITTEN_OFFSET_COMMIT_TYPE:
            return GroupKey(kind, str(group), str(data["topic"]), int(data["partition"]))
        return GroupKey(kind, None if group is None else str(group))
    except (
        ArithmeticError, ValueError, KeyError, TypeError, AttributeError, RecursionError,
    ) as error:  # fmt: skip
        raise WireError("text_unreadable", f"key: {error!r}"[:200]) from None


def read_offset(text: bytes) -> int:
    """The offset in a commit's value. Raises WireError."""
    try:
        if text.startswith(b"{"):
            # Nothing in it breaks its line; what stands after is no part of it.
            value = json.loads(text.partition(b"\n")[0])
            return _stored(int(value["data"]["offset"]))
    except (ArithmeticError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise WireError("text_unreadable", f"value: {error!r}"[:200]) from None
    plain = PLAIN_OFFSET.match(text)
    if plain is None:
        raise WireError("text_unreadable", f"value {text[:100]!r}")
    return _stored(int(plain[1]))


def _stored(offset: int) -> int:
    if not -(1 << 63) <= offset < 1 << 63:
        raise WireError("text_unreadable", f"{offset} is not an offset")
    return offset
