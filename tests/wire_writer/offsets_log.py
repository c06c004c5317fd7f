"""Records of `__consumer_offsets`: what `udfs.wire.offsets.offsets_log` reads."""

import struct

from tests.wire_writer.fields import (
    encode_byte_string,
    encode_count,
    encode_string,
    encode_tagged_fields,
)
from udfs.wire.fields import INT16, INT32, INT64
from udfs.wire.offsets.offsets_log import (
    COMMIT_EXPIRE_VERSION,
    COMMIT_FLEXIBLE_SINCE,
    COMMIT_LEADER_EPOCH_SINCE,
    GROUP_FLEXIBLE_SINCE,
    GROUP_INSTANCE_ID_SINCE,
    GROUP_REBALANCE_TIMEOUT_SINCE,
    GROUP_STATE_TIMESTAMP_SINCE,
    TAG_TOPIC_ID,
    GroupKey,
    GroupMember,
    GroupMetadata,
    OffsetCommit,
)


def encode_key(key: GroupKey) -> bytes:
    """Bytes of a key; of types above 2 only what `GroupKey` holds."""
    parts = [INT16.pack(key.type)]
    if key.group is not None:
        parts.append(encode_string(key.group, flexible=False))
    if key.topic is not None and key.partition is not None:
        parts += [encode_string(key.topic, flexible=False), INT32.pack(key.partition)]
    return b"".join(parts)


def encode_offset_commit(value: OffsetCommit) -> bytes:
    """Bytes of a value in its version."""
    flexible = value.version >= COMMIT_FLEXIBLE_SINCE
    parts = [struct.pack(">hq", value.version, value.offset)]
    if value.version >= COMMIT_LEADER_EPOCH_SINCE:
        parts.append(INT32.pack(value.leader_epoch))
    parts += [encode_string(value.metadata, flexible), INT64.pack(value.commit_timestamp)]
    if value.version == COMMIT_EXPIRE_VERSION:
        parts.append(INT64.pack(value.expire_timestamp))
    if flexible:
        tags = [] if value.topic_id is None else [(TAG_TOPIC_ID, value.topic_id)]
        parts.append(encode_tagged_fields(tags))
    return b"".join(parts)


def _encode_nullable(text: str | None, flexible: bool) -> bytes:
    if text is not None:
        return encode_string(text, flexible)
    return b"\0" if flexible else INT16.pack(-1)


def _encode_member(member: GroupMember, version: int, flexible: bool) -> bytes:
    parts = [encode_string(member.member_id, flexible)]
    if version >= GROUP_INSTANCE_ID_SINCE:
        parts.append(_encode_nullable(member.group_instance_id, flexible))
    parts += [
        encode_string(member.client_id, flexible),
        encode_string(member.client_host, flexible),
    ]
    if version >= GROUP_REBALANCE_TIMEOUT_SINCE:
        parts.append(INT32.pack(member.rebalance_timeout))
    parts += [
        INT32.pack(member.session_timeout),
        encode_byte_string(member.subscription, flexible),
        encode_byte_string(member.assignment, flexible),
    ]
    return b"".join(parts) + (encode_tagged_fields([]) if flexible else b"")


def encode_group_metadata(value: GroupMetadata) -> bytes:
    """Bytes of a value in its version."""
    flexible = value.version >= GROUP_FLEXIBLE_SINCE
    parts = [
        INT16.pack(value.version),
        encode_string(value.protocol_type, flexible),
        INT32.pack(value.generation),
        _encode_nullable(value.protocol, flexible),
        _encode_nullable(value.leader, flexible),
    ]
    if value.version >= GROUP_STATE_TIMESTAMP_SINCE:
        parts.append(INT64.pack(value.state_timestamp))
    parts.append(encode_count(len(value.members), flexible))
    parts += [_encode_member(member, value.version, flexible) for member in value.members]
    return b"".join(parts) + (encode_tagged_fields([]) if flexible else b"")
