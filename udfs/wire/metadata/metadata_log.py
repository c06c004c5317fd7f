"""Records of `__cluster_metadata` (KRaft, KIP-500), as far as an audit needs them.

A value is an unsigned varint frame version, api key and api version, then the message
(`MetadataRecordSerde`; the messages: Kafka's module metadata). Messages of another kind are none of
these facts. A newer version of one of these may hold anything, and is an `Undecodable`.
"""

import base64
from collections.abc import Callable
from typing import NamedTuple

from udfs.wire.errors import WireError
from udfs.wire.fields import FieldReader
from udfs.wire.varint import decode_unsigned_varint

# Resource types of a ConfigRecord (`ConfigResource.Type`).
TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
FRAME_VERSION = 1
PARTITION, PARTITION_CHANGE = 3, 5
# Tag of PartitionChangeRecord; it has no other fields behind the id of the topic.
REPLICAS = 2
# Reason of the Undecodable fact that stands for the abort of a metadata transaction.
ABORTED = "transaction_aborted"


class RegisteredBroker(NamedTuple):
    """A broker, controllers included where they are brokers too, joined the cluster."""

    broker: int


class CreatedTopic(NamedTuple):
    """A topic was created; `topic_id` as in `partition.metadata`."""

    name: str
    topic_id: str


class RemovedTopic(NamedTuple):
    """A topic was deleted, whether all its brokers know or not."""

    topic_id: str


class CreatedPartition(NamedTuple):
    """A partition of a topic was created, on the brokers `replicas`."""

    topic_id: str
    partition: int
    replicas: tuple[int, ...]


class Reassigned(NamedTuple):
    """A partition has these replicas from now on, those that come or go included."""

    topic_id: str
    partition: int
    replicas: tuple[int, ...]


class Configured(NamedTuple):
    """An option was set, or taken back (`value` None); `resource` empty: for all brokers."""

    resource_type: int
    resource: str
    option: str
    value: str | None


class ProducerIds(NamedTuple):
    """A block of producer ids was given out; the next one begins with `next_producer_id`."""

    next_producer_id: int


class Migrated(NamedTuple):
    """How far a move from ZooKeeper is; 0: there was none. Else the log began in the middle."""

    state: int


class Begun(NamedTuple):
    """A metadata transaction began (KIP-868); its records hold unless it is aborted."""


class Ended(NamedTuple):
    """A metadata transaction ended, and its records hold."""


class Undecodable(NamedTuple):
    """What might be one of these facts and cannot be read; `reason` is a stable name."""

    reason: str


Fact = (
    RegisteredBroker
    | CreatedTopic
    | RemovedTopic
    | CreatedPartition
    | Reassigned
    | Configured
    | ProducerIds
    | Migrated
    | Begun
    | Ended
    | Undecodable
)


def decode(value: bytes | None) -> Fact | None:
    """The fact of a record; None for a kind that is of no interest here. Raises nothing."""
    if not value:
        return None
    try:
        frame_version, at = decode_unsigned_varint(value, 0)
        api_key, at = decode_unsigned_varint(value, at)
        version, at = decode_unsigned_varint(value, at)
        if frame_version != FRAME_VERSION:
            return Undecodable("frame_version_unknown")
        if api_key not in MESSAGES:
            return None
        read, highest_version = MESSAGES[api_key]
        if version > highest_version:
            return Undecodable("version_unknown")
        return read(FieldReader(value, at))
    except WireError as error:
        return Undecodable(error.reason)


def read_topic_id(fields: FieldReader) -> str:
    """A topic id as in `partition.metadata`."""
    return base64.urlsafe_b64encode(fields.take(16)).decode("ascii").rstrip("=")


def _registered_broker(fields: FieldReader) -> Fact:
    return RegisteredBroker(fields.int32())


def _created_topic(fields: FieldReader) -> Fact:
    return CreatedTopic(fields.string(flexible=True), read_topic_id(fields))


def _removed_topic(fields: FieldReader) -> Fact:
    return RemovedTopic(read_topic_id(fields))


def _created_partition(fields: FieldReader) -> Fact:
    partition = fields.int32()
    return CreatedPartition(read_topic_id(fields), partition, read_brokers(fields) or ())


def _changed_partition(fields: FieldReader) -> Fact | None:
    partition = fields.int32()
    topic_id = read_topic_id(fields)
    try:
        changed = dict(fields.tagged_fields())
        replicas = read_brokers(FieldReader(changed[REPLICAS])) if REPLICAS in changed else None
    except WireError:
        # Nothing else rests on it, so it takes nothing else back.
        return None
    return None if replicas is None else Reassigned(topic_id, partition, replicas)


def read_brokers(fields: FieldReader) -> tuple[int, ...] | None:
    """Ids of brokers; None for null."""
    number = fields.nullable_count(flexible=True, element_size=4)
    return None if number is None else tuple(fields.int32() for _ in range(number))


def _configured(fields: FieldReader) -> Fact:
    resource_type = int.from_bytes(fields.take(1), "big", signed=True)
    return Configured(
        resource_type,
        fields.string(flexible=True),
        fields.string(flexible=True),
        fields.nullable_string(flexible=True),
    )


def _producer_ids(fields: FieldReader) -> Fact:
    fields.int32()  # broker
    fields.int64()  # broker epoch
    return ProducerIds(fields.int64())


def _migrated(fields: FieldReader) -> Fact:
    return Migrated(int.from_bytes(fields.take(1), "big", signed=True))


def _begun(fields: FieldReader) -> Fact:
    return Begun()


def _ended(fields: FieldReader) -> Fact:
    return Ended()


def _aborted(fields: FieldReader) -> Fact:
    # Records of its transaction were read as if they held. The controller aborts one only where
    # it failed over while it began or was migrated.
    return Undecodable(ABORTED)


# Fields that are read come first in every version, so versions that only add fields are known.
ANY_VERSION = 1 << 31
# api key -> how its message is read, the highest version that is known here.
MESSAGES: dict[int, tuple[Callable[[FieldReader], Fact | None], int]] = {
    0: (_registered_broker, ANY_VERSION),
    2: (_created_topic, 0),
    PARTITION: (_created_partition, ANY_VERSION),
    4: (_configured, 0),
    PARTITION_CHANGE: (_changed_partition, ANY_VERSION),
    9: (_removed_topic, 0),
    15: (_producer_ids, 0),
    21: (_migrated, 0),
    23: (_begun, ANY_VERSION),
    24: (_ended, ANY_VERSION),
    25: (_aborted, 0),
}
# The kinds of records that `decode` reads.
API_KEYS = sorted(MESSAGES)
