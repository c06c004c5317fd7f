"""Records of `__consumer_offsets` (`OffsetCommitKey`, `OffsetCommitValue`, `GroupMetadataValue`).

The int16 at the head of a key is the type of the record, not a version. Keys are never flexible.
Types 0 and 1 are offset commits, 2 is the metadata of a classic group; the others up to 23 belong
to consumer, share and streams groups, start with the group too, and are not read further. A null
value is a tombstone and never reaches this module.
"""

from typing import NamedTuple

from udfs.wire.errors import WireError
from udfs.wire.fields import (
    FieldReader,
)

OFFSET_COMMIT_TYPES = (0, 1)
WRITTEN_OFFSET_COMMIT_TYPE = 1
GROUP_METADATA_TYPE = 2
# Numbers above are unknown to Kafka 4.3; their keys may not even begin with a group.
LAST_KNOWN_TYPE = 23

COMMIT_VERSIONS = range(5)
COMMIT_LEADER_EPOCH_SINCE = 3
COMMIT_FLEXIBLE_SINCE = 4
# The only version with an expire timestamp.
COMMIT_EXPIRE_VERSION = 1
TAG_TOPIC_ID = 0
TOPIC_ID_SIZE = 16

GROUP_VERSIONS = range(5)
GROUP_REBALANCE_TIMEOUT_SINCE = 1
GROUP_STATE_TIMESTAMP_SINCE = 2
GROUP_INSTANCE_ID_SINCE = 3
GROUP_FLEXIBLE_SINCE = 4
# Three strings, a timeout and two byte strings, all empty; every version takes at least this.
MIN_MEMBER_SIZE = 10


class GroupKey(NamedTuple):
    """Key of a record. `group` is None for types above 23; topic and partition are of commits."""

    type: int
    group: str | None
    topic: str | None = None
    partition: int | None = None


class OffsetCommit(NamedTuple):
    """Value of an offset commit; timestamps in ms, -1 for what the version lacks."""

    version: int
    offset: int
    metadata: str
    commit_timestamp: int
    leader_epoch: int = -1
    expire_timestamp: int = -1
    topic_id: bytes | None = None


class GroupMember(NamedTuple):
    """Member of a classic group; timeouts in ms, -1 for what the version lacks."""

    member_id: str
    client_id: str
    client_host: str
    session_timeout: int
    subscription: bytes
    assignment: bytes
    rebalance_timeout: int = -1
    group_instance_id: str | None = None


class GroupMetadata(NamedTuple):
    """Value of a classic group; `state_timestamp` in ms, -1 before version 2."""

    version: int
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    members: tuple[GroupMember, ...]
    state_timestamp: int = -1


def decode_key(data: bytes) -> GroupKey:
    """Decodes a record key; of commits and classic groups all bytes must belong to it."""
    reader = FieldReader(data)
    kind = reader.int16()
    if not 0 <= kind <= LAST_KNOWN_TYPE:
        return GroupKey(kind, None)
    group = reader.string(flexible=False)
    if kind > GROUP_METADATA_TYPE:
        return GroupKey(kind, group)
    topic, partition = None, None
    if kind in OFFSET_COMMIT_TYPES:
        topic = reader.string(flexible=False)
        partition = reader.int32()
    reader.end()
    return GroupKey(kind, group, topic, partition)


def _version(reader: FieldReader, known: range) -> int:
    version = reader.int16()
    if version not in known:
        raise WireError("unknown_version", f"value version {version}, expected 0 to {known[-1]}")
    return version


def _skip_tags(reader: FieldReader, flexible: bool) -> None:
    if flexible:
        reader.tagged_fields()


def decode_offset_commit(data: bytes) -> OffsetCommit:
    """Decodes the value of an offset commit; all bytes must belong to it."""
    # No rule reads the metadata, and brokers take any bytes for text.
    reader = FieldReader(data, text_errors="replace")
    version = _version(reader, COMMIT_VERSIONS)
    flexible = version >= COMMIT_FLEXIBLE_SINCE
    offset = reader.int64()
    leader_epoch = reader.int32() if version >= COMMIT_LEADER_EPOCH_SINCE else -1
    metadata = reader.string(flexible)
    commit_timestamp = reader.int64()
    expire_timestamp = reader.int64() if version == COMMIT_EXPIRE_VERSION else -1
    tags = dict(reader.tagged_fields()) if flexible else {}
    topic_id = tags.get(TAG_TOPIC_ID)
    if topic_id is not None and len(topic_id) != TOPIC_ID_SIZE:
        raise WireError("tag_size", f"topic id of {len(topic_id)} bytes, expected {TOPIC_ID_SIZE}")
    reader.end()
    return OffsetCommit(
        version, offset, metadata, commit_timestamp, leader_epoch, expire_timestamp, topic_id
    )


def _read_member(reader: FieldReader, version: int, flexible: bool) -> GroupMember:
    member_id = reader.string(flexible)
    named = version >= GROUP_INSTANCE_ID_SINCE
    group_instance_id = reader.nullable_string(flexible) if named else None
    client_id = reader.string(flexible)
    client_host = reader.string(flexible)
    rebalance_timeout = reader.int32() if version >= GROUP_REBALANCE_TIMEOUT_SINCE else -1
    session_timeout = reader.int32()
    subscription = reader.byte_string(flexible)
    assignment = reader.byte_string(flexible)
    _skip_tags(reader, flexible)
    return GroupMember(
        member_id,
        client_id,
        client_host,
        session_timeout,
        subscription,
        assignment,
        rebalance_timeout,
        group_instance_id,
    )


def decode_group_metadata(data: bytes) -> GroupMetadata:
    """Decodes the value of a classic group; all bytes must belong to it."""
    reader = FieldReader(data)
    version = _version(reader, GROUP_VERSIONS)
    flexible = version >= GROUP_FLEXIBLE_SINCE
    protocol_type = reader.string(flexible)
    generation = reader.int32()
    protocol = reader.nullable_string(flexible)
    leader = reader.nullable_string(flexible)
    state_timestamp = reader.int64() if version >= GROUP_STATE_TIMESTAMP_SINCE else -1
    count = reader.count(flexible, MIN_MEMBER_SIZE)
    members = tuple(_read_member(reader, version, flexible) for _ in range(count))
    _skip_tags(reader, flexible)
    reader.end()
    return GroupMetadata(
        version, protocol_type, generation, protocol, leader, members, state_timestamp
    )
