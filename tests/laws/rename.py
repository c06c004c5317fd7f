"""The law of names: topics, ids, groups and brokers may be called anything.

Copy `index` of `count` copies of a dump becomes a part of one larger cluster: its topics, producer
ids, transactional ids, groups and brokers are its own, its partitions of the two internal topics
follow those of the copies before it, and every id and group has a name that is placed there. So
many copies, each degraded in another way, are audited at once, and none knows of the others but
that partitions of the coordinator's log are missing only where one lacks them. Every checksum is
made anew. `__cluster_metadata`, which tells names and ids too, is left out.
"""

import base64
import hashlib
import struct
from dataclasses import dataclass, field

from laws.dump_files import (
    CHECKPOINTS,
    INTERNAL,
    MANIFEST,
    META,
    METADATA,
    OFFSETS,
    TOPIC_ID,
    TXN_LOG,
    Directory,
    Dump,
    Partition,
    TopicPartition,
)
from laws.log_batches import LIMIT, Batch, batches, intact, rewritten, with_checksum
from tests.wire_writer import batches as writer
from tests.wire_writer import producer_snapshot as snapshot_writer
from tests.wire_writer import txn_index as index_writer
from tests.wire_writer import txn_log as txn_writer
from tests.wire_writer.fields import encode_string
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches.batch_records import iter_batch
from udfs.wire.coordinator import txn_log
from udfs.wire.errors import WireError
from udfs.wire.fields import FieldReader
from udfs.wire.side_files import producer_snapshot, txn_index

PRODUCER_STEP = 10_000_000
BROKER_STEP = 1_000
# Types of record keys in __consumer_offsets that name a topic and a partition after the group.
COMMIT_KEYS = (0, 1)


class NotPlacedError(ValueError):
    """An id does not lie where its hash puts it: the number of partitions is not known."""


@dataclass
class Renaming:
    """New names of one copy; `partitions`: internal topic -> how many partitions it has."""

    index: int
    count: int
    partitions: dict[str, int]
    _placed: dict[tuple[str, str], str] = field(default_factory=dict)

    def producer_id(self, old: int) -> int:
        return old + self.index * PRODUCER_STEP if old >= 0 else old

    def place(self, topic: str, number: int) -> TopicPartition:
        if topic in self.partitions:
            return topic, self.index * self.partitions[topic] + number
        return (topic if topic in INTERNAL else f"{topic}.{self.index:02}"), number

    def placed(self, topic: str, name: str, number: int) -> str:
        """A new name of an id or a group that lies in partition `number` of an internal topic."""
        if (topic, name) not in self._placed:
            each = self.partitions[topic]
            if txn_writer.partition_for(name, each) != number:
                raise NotPlacedError(f"{name} in {topic}-{number}")
            wanted = self.index * each + number
            suffix = 0
            while txn_writer.partition_for(f"{name}~{suffix}", each * self.count) != wanted:
                suffix += 1
            self._placed[topic, name] = f"{name}~{suffix}"
        return self._placed[topic, name]


def _listed(value: txn_log.TxnLogValue, names: Renaming) -> txn_log.TopicPartitions | None:
    if value.partitions is None:
        return None
    groups: dict[str, list[int]] = {}
    for topic, numbers in value.partitions:
        for number in numbers:
            new, at = names.place(topic, number)
            groups.setdefault(new, []).append(at)
    return tuple((topic, tuple(numbers)) for topic, numbers in groups.items())


def _txn_record(
    key: bytes, value: bytes | None, number: int, names: Renaming
) -> tuple[bytes, bytes | None]:
    old = txn_log.decode_key(key).transactional_id
    new = txn_writer.encode_key(names.placed(TXN_LOG, old, number))
    if value is None:
        return new, None
    state = txn_log.decode_value(value)
    ids = ("producer_id", "previous_producer_id", "next_producer_id")
    changed = {name: names.producer_id(getattr(state, name)) for name in ids}
    state = state._replace(partitions=_listed(state, names), **changed)
    return new, txn_writer.encode_value(state)


def _group_record(
    key: bytes, value: bytes | None, number: int, names: Renaming
) -> tuple[bytes, bytes | None]:
    reader = FieldReader(key)
    kind = reader.int16()
    group = names.placed(OFFSETS, reader.string(flexible=False), number)
    head = key[:2] + encode_string(group, flexible=False)
    if kind not in COMMIT_KEYS:
        return head + key[reader.at :], value
    topic, at = names.place(reader.string(flexible=False), reader.int32())
    return head + encode_string(topic, flexible=False) + struct.pack(">i", at), value


OF_TOPIC = {TXN_LOG: _txn_record, OFFSETS: _group_record}


def _with_records(batch: Batch, topic: str, number: int, names: Renaming) -> bytes:
    """A batch of an internal topic with new keys and values."""
    records = []
    for record in iter_batch(batch.content, LIMIT):
        key, value = record.key, record.value
        if key is not None and not batch.control:
            key, value = OF_TOPIC[topic](key, value, number, names)
        records.append(
            writer.record(record.offset_delta, record.timestamp_delta, key, value, record.headers)
        )
    head = batch.content[layout.ATTRIBUTES : layout.HEADER_SIZE]
    codec = batch.attributes & layout.CODEC_MASK
    return with_checksum(batch, head + writer.compress(codec, b"".join(records)))


def _segment(content: bytes, topic: str, number: int, names: Renaming) -> bytes:
    parts, size = [], 0
    for batch in batches(content):
        size += len(batch.content)
        if batch.magic < 2 or not intact(batch):
            parts.append(batch.content)
            continue
        named = batch
        if topic in OF_TOPIC and batch.count and not batch.control:
            named = batch._replace(content=_with_records(batch, topic, number, names))
        parts.append(rewritten(named, producer_id=names.producer_id(batch.producer_id)))
    return b"".join(parts) + content[size:]


def _snapshot(content: bytes, names: Renaming) -> bytes:
    try:
        entries = producer_snapshot.decode(content)
    except WireError:
        return content
    return snapshot_writer.encode(
        entry._replace(producer_id=names.producer_id(entry.producer_id)) for entry in entries
    )


def _txnindex(content: bytes, names: Renaming) -> bytes:
    entries, _ = txn_index.decode(content)
    whole = index_writer.encode(
        txn_index.AbortedTxnEntry(*entry)._replace(producer_id=names.producer_id(entry[1]))
        for entry in entries.tolist()
    )
    return whole + content[len(whole) :]


def _topic_id(content: bytes, topic: str, names: Renaming) -> bytes:
    """Another id for a topic with another name."""
    if topic in names.partitions:
        return content
    told, _, old = content.decode().rpartition(" ")
    digest = hashlib.sha256(f"{old.strip()} {names.index}".encode()).digest()[:16]
    return f"{told} {base64.urlsafe_b64encode(digest).decode().rstrip('=')}".encode()


def _partition(one: Partition, names: Renaming) -> Partition:
    files = {}
    for name, content in one.files.items():
        new = content
        if name.endswith(".log"):
            new = _segment(content, one.topic, one.number, names)
        elif name.endswith(".snapshot"):
            new = _snapshot(content, names)
        elif name.endswith(".txnindex"):
            new = _txnindex(content, names)
        elif name == TOPIC_ID:
            new = _topic_id(content, one.topic, names)
        elif name.endswith((".index", ".timeindex")) and one.topic in names.partitions:
            continue  # Positions move with the lengths of names.
        files[name] = new
    topic, number = names.place(one.topic, one.number)
    return Partition(topic, number, files)


def _meta(content: bytes, names: Renaming) -> bytes:
    lines = []
    for line in content.decode().splitlines():
        name, _, value = line.partition("=")
        if name in ("node.id", "broker.id"):
            lines.append(f"{name}={int(value) + names.index * BROKER_STEP}")
        elif name != "directory.id":
            lines.append(line)
    return "\n".join(lines).encode()


def _directory(old: Directory, names: Renaming) -> Directory:
    new = Directory(f"{names.index:02}-{old.name}")
    new.files = {name: content for name, content in old.files.items() if name != MANIFEST}
    if META in new.files:
        new.files[META] = _meta(new.files[META], names)
    for name in CHECKPOINTS:
        if name in old.files:
            told = old.checkpoint(name).items()
            new.set_checkpoint(
                name,
                {names.place(*place): at for place, at in told if place[0] != METADATA},
            )
    new.partitions = [_partition(one, names) for one in old.partitions if one.topic != METADATA]
    return new


def internal_partitions(dump: Dump) -> dict[str, int]:
    """How many partitions the internal topics have, by the highest that is there."""
    return {
        topic: 1 + max(one.number for _, one in dump.copies() if one.topic == topic)
        for topic in (TXN_LOG, OFFSETS)
        if any(one.topic == topic for _, one in dump.copies())
    }


def packed(copies: list[Dump], partitions: dict[str, int]) -> Dump:
    """One dump of all copies; `partitions` as `internal_partitions` tells of the whole dump."""
    each = [renamed(copy, at, len(copies), partitions) for at, copy in enumerate(copies)]
    return Dump([directory for directories in each for directory in directories])


def renamed(copy: Dump, index: int, count: int, partitions: dict[str, int]) -> list[Directory]:
    """Copy `index` of so many. Raises NotPlacedError."""
    names = Renaming(index, count, partitions)
    return [_directory(one, names) for one in copy.directories]
