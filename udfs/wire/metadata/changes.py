"""What happened to brokers and leaders, from records of `__cluster_metadata` (KRaft).

The messages are those of Kafka's module metadata: RegisterBrokerRecord, FenceBrokerRecord,
UnfenceBrokerRecord, BrokerRegistrationChangeRecord, PartitionRecord and PartitionChangeRecord.
Fields that are read come first in every version, or have a tag.
"""

import struct
from typing import NamedTuple

from udfs.wire.errors import WireError
from udfs.wire.fields import FieldReader
from udfs.wire.metadata.metadata_log import (
    FRAME_VERSION,
    PARTITION,
    PARTITION_CHANGE,
    REPLICAS,
    read_brokers,
    read_topic_id,
)
from udfs.wire.varint import decode_unsigned_varint

REGISTERED, FENCED, UNFENCED, STOPPING = (
    "broker_registered", "broker_fenced", "broker_unfenced", "broker_stopping",
)  # fmt: skip
REGISTER, FENCE, UNFENCE, REGISTRATION_CHANGE = 0, 7, 8, 17
API_KEYS = (REGISTER, PARTITION, PARTITION_CHANGE, FENCE, UNFENCE, REGISTRATION_CHANGE)
# Tags of PartitionChangeRecord.
ISR, LEADER, RECOVERY, ELR, LAST_KNOWN_ELR = 0, 1, 5, 6, 7
RECOVERING = 1
# Tags of BrokerRegistrationChangeRecord.
TAG_FENCED, TAG_STOPPING = 0, 1
NO_LEADER = -1


class BrokerChange(NamedTuple):
    """A broker was registered, fenced, unfenced, or began to stop (one of the names above)."""

    broker: int
    event: str


class PartitionChange(NamedTuple):
    """A partition was created, or has another leader, or others are in sync.

    `leader`: the new one, NO_LEADER for none, None where it stays, and of a new partition;
    `recovering`: it was elected though it was not in sync (`LeaderRecoveryState.RECOVERING`).
    `in_sync`: the replicas in sync from now on; where there are none and no eligible ones, the last
    that were known (KIP-966). `eligible`: the eligible leader replicas. Both None where they stay.
    `alone`: the new leader becomes the only one in sync, and no replicas are assigned.
    """

    topic_id: str
    partition: int
    leader: int | None = None
    recovering: bool = False
    in_sync: tuple[int, ...] | None = None
    eligible: tuple[int, ...] | None = None
    alone: bool = False


Change = BrokerChange | PartitionChange


def decode_change(value: bytes | None) -> Change | None:
    """The change that a record is; None for any other, and for what cannot be read."""
    if not value:
        return None
    try:
        frame_version, at = decode_unsigned_varint(value, 0)
        api_key, at = decode_unsigned_varint(value, at)
        _, at = decode_unsigned_varint(value, at)
        if frame_version != FRAME_VERSION or api_key not in API_KEYS:
            return None
        return _change(api_key, FieldReader(value, at))
    except (WireError, struct.error):
        return None


def _change(api_key: int, fields: FieldReader) -> Change | None:
    if api_key == PARTITION_CHANGE:
        return _partition_change(fields)
    if api_key == PARTITION:
        return _created(fields)
    broker = fields.int32()
    if api_key == REGISTER:
        return BrokerChange(broker, REGISTERED)
    if api_key in (FENCE, UNFENCE):
        return BrokerChange(broker, FENCED if api_key == FENCE else UNFENCED)
    fields.int64()  # broker epoch
    tags = {
        tag: int.from_bytes(content, "big", signed=True) for tag, content in fields.tagged_fields()
    }
    if tags.get(TAG_FENCED):
        return BrokerChange(broker, FENCED if tags[TAG_FENCED] > 0 else UNFENCED)
    return BrokerChange(broker, STOPPING) if tags.get(TAG_STOPPING) else None


def _created(fields: FieldReader) -> PartitionChange:
    partition, topic_id = fields.int32(), read_topic_id(fields)
    read_brokers(fields)  # replicas
    in_sync = read_brokers(fields)
    return PartitionChange(topic_id, partition, in_sync=in_sync or None)


def _partition_change(fields: FieldReader) -> PartitionChange:
    partition, topic_id = fields.int32(), read_topic_id(fields)
    tags = dict(fields.tagged_fields())

    def brokers(tag: int) -> tuple[int, ...] | None:
        return read_brokers(FieldReader(tags[tag])) if tag in tags else None

    in_sync, eligible = brokers(ISR), brokers(ELR)
    leader = int.from_bytes(tags[LEADER], "big", signed=True) if LEADER in tags else None
    return PartitionChange(
        topic_id,
        partition,
        leader,
        int.from_bytes(tags.get(RECOVERY, b"\x00"), "big", signed=True) == RECOVERING,
        in_sync or (None if eligible else brokers(LAST_KNOWN_ELR)) or None,
        eligible,
        in_sync == (leader,) and REPLICAS not in tags,
    )
