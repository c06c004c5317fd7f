"""Records of `__transaction_state` (`TransactionLogKey` version 0, `TransactionLogValue` 0 and 1).

Version 1 is flexible (KIP-890, KIP-915) and is written once `transaction.version` is 1 or 2; both
versions may stand in one log. A null value is a tombstone and never reaches this module.
"""

import struct
from typing import Any, NamedTuple

from schemas.coordinator_states import STATE_NAMES
from udfs.rules.coordinator_step import UNTOLD_VERSION
from udfs.wire.errors import WireError
from udfs.wire.fields import (
    INT16,
    INT32,
    INT64,
    FieldReader,
)

KEY_VERSION = 0
FLEXIBLE_SINCE = 1
VALUE_VERSIONS = (0, 1)

# The position in this tuple is the status byte. Dead and PrepareEpochFence live in memory only.
STATUS = (*STATE_NAMES, "Dead", "PrepareEpochFence")

# ProducerId, ProducerEpoch, TransactionTimeoutMs, TransactionStatus.
VALUE_HEAD = struct.Struct(">qhib")
# TransactionLastUpdateTimestampMs, TransactionStartTimestampMs.
VALUE_TIMES = struct.Struct(">qq")

PARTITION_ID_SIZE = INT32.size
# An empty topic name and no partition ids; the flexible form adds an empty tag section.
MIN_TOPIC_SIZE = INT16.size + INT32.size
MIN_TOPIC_SIZE_FLEXIBLE = 3

TAG_PREVIOUS_PRODUCER_ID = 0
TAG_NEXT_PRODUCER_ID = 1
TAG_CLIENT_TRANSACTION_VERSION = 2
TAG_NEXT_PRODUCER_EPOCH = 3

TopicPartitions = tuple[tuple[str, tuple[int, ...]], ...]


class TxnLogKey(NamedTuple):
    """Key of a state record."""

    version: int
    transactional_id: str


class TxnLogValue(NamedTuple):
    """State of a transactional id; `partitions` None is a stored null (state Empty)."""

    version: int
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    status: int
    partitions: TopicPartitions | None
    last_update_ms: int
    start_ms: int
    previous_producer_id: int = -1
    next_producer_id: int = -1
    client_transaction_version: int = 0
    next_producer_epoch: int = -1
    unknown_tags: tuple[int, ...] = ()

    def told_transaction_version(self) -> int:
        """The client's version; UNTOLD_VERSION where the value has no tags to tell it."""
        told = self.version >= FLEXIBLE_SINCE
        return self.client_transaction_version if told else UNTOLD_VERSION


# Tag: (field of TxnLogValue, type). A field equal to its default is not stored.
TAGS = {
    TAG_PREVIOUS_PRODUCER_ID: ("previous_producer_id", INT64),
    TAG_NEXT_PRODUCER_ID: ("next_producer_id", INT64),
    TAG_CLIENT_TRANSACTION_VERSION: ("client_transaction_version", INT16),
    TAG_NEXT_PRODUCER_EPOCH: ("next_producer_epoch", INT16),
}


def decode_key(data: bytes) -> TxnLogKey:
    """Decodes a record key; all bytes must belong to it."""
    reader = FieldReader(data)
    version = reader.int16()
    if version != KEY_VERSION:
        raise WireError("unknown_version", f"key version {version}, expected {KEY_VERSION}")
    transactional_id = reader.string(flexible=False)
    reader.end()
    return TxnLogKey(version, transactional_id)


def partition_names(listed: TopicPartitions) -> list[str]:
    """topic-partition of each partition listed."""
    return [f"{topic}-{number}" for topic, group in listed for number in group]


def read_partitions(reader: FieldReader, flexible: bool) -> TopicPartitions | None:
    """The partitions of a value, None where none are stored. Raises WireError."""
    minimum = MIN_TOPIC_SIZE_FLEXIBLE if flexible else MIN_TOPIC_SIZE
    topic_count = reader.nullable_count(flexible, minimum)
    if topic_count is None:
        return None
    topics = []
    for _ in range(topic_count):
        topic = reader.string(flexible)
        count = reader.count(flexible, PARTITION_ID_SIZE)
        ids = struct.unpack(f">{count}i", reader.take(count * PARTITION_ID_SIZE))
        if flexible:
            reader.tagged_fields()
        topics.append((topic, ids))
    return tuple(topics)


def _read_tags(reader: FieldReader) -> dict[str, Any]:
    """Fields of TxnLogValue that are stored as tags."""
    fields: dict[str, Any] = {}
    unknown = []
    for tag, content in reader.tagged_fields():
        if tag not in TAGS:
            unknown.append(tag)
            continue
        name, layout = TAGS[tag]
        if len(content) != layout.size:
            raise WireError("tag_size", f"tag {tag}: {len(content)} bytes, expected {layout.size}")
        fields[name] = int.from_bytes(content, "big", signed=True)
    return fields | {"unknown_tags": tuple(unknown)}


def decode_value(data: bytes) -> TxnLogValue:
    """Decodes a record value; all bytes must belong to it."""
    reader = FieldReader(data)
    version = reader.int16()
    if version not in VALUE_VERSIONS:
        raise WireError("unknown_version", f"value version {version}, expected 0 or 1")
    flexible = version >= FLEXIBLE_SINCE
    producer_id, producer_epoch, timeout_ms, status = reader.unpack(VALUE_HEAD)
    partitions = read_partitions(reader, flexible)
    last_update_ms, start_ms = reader.unpack(VALUE_TIMES)
    tagged = _read_tags(reader) if flexible else {}
    reader.end()
    return TxnLogValue(
        version,
        producer_id,
        producer_epoch,
        timeout_ms,
        status,
        partitions,
        last_update_ms,
        start_ms,
        **tagged,
    )


def java_hash(text: str) -> int:
    """Java's `String.hashCode`: over UTF-16 code units, signed 32 bits."""
    hashed = 0
    raw = text.encode("utf-16-be", "surrogatepass")
    for (unit,) in struct.iter_unpack(">H", raw):
        hashed = (31 * hashed + unit) & 0xFFFFFFFF
    return hashed - (1 << 32) if hashed >> 31 else hashed


def placing_hash(text: str) -> int:
    """Hash that places a transactional id or group id: Kafka's `abs` maps -2^31 to 0."""
    hashed = java_hash(text)
    return 0 if hashed == -(1 << 31) else abs(hashed)
