"""Records of `__transaction_state`: what `udfs.wire.coordinator.txn_log` reads."""

import struct

from tests.wire_writer.fields import encode_count, encode_string, encode_tagged_fields
from udfs.wire.coordinator.txn_log import (
    FLEXIBLE_SINCE,
    KEY_VERSION,
    TAGS,
    VALUE_HEAD,
    VALUE_TIMES,
    TopicPartitions,
    TxnLogValue,
    placing_hash,
)
from udfs.wire.fields import INT16


def encode_key(transactional_id: str) -> bytes:
    """Key of a transactional id."""
    return INT16.pack(KEY_VERSION) + encode_string(transactional_id, flexible=False)


def _encode_partitions(partitions: TopicPartitions | None, flexible: bool) -> bytes:
    if partitions is None:
        return encode_count(None, flexible)
    parts = [encode_count(len(partitions), flexible)]
    for topic, ids in partitions:
        parts.append(encode_string(topic, flexible))
        parts.append(encode_count(len(ids), flexible))
        parts.append(struct.pack(f">{len(ids)}i", *ids))
        if flexible:
            parts.append(encode_tagged_fields([]))
    return b"".join(parts)


def _encode_tags(value: TxnLogValue) -> bytes:
    fields = []
    for tag, (name, layout) in TAGS.items():
        stored = getattr(value, name)
        if stored != TxnLogValue._field_defaults[name]:
            fields.append((tag, layout.pack(stored)))
    return encode_tagged_fields(fields)


def encode_value(value: TxnLogValue) -> bytes:
    """Bytes of a value in its version; unknown tags are known by number only and not written."""
    flexible = value.version >= FLEXIBLE_SINCE
    parts = [
        INT16.pack(value.version),
        VALUE_HEAD.pack(value.producer_id, value.producer_epoch, value.timeout_ms, value.status),
        _encode_partitions(value.partitions, flexible),
        VALUE_TIMES.pack(value.last_update_ms, value.start_ms),
    ]
    if flexible:
        parts.append(_encode_tags(value))
    return b"".join(parts)


def partition_for(text: str, partitions: int) -> int:
    """Partition of a transactional id or group id."""
    return placing_hash(text) % partitions
