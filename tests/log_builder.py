"""Builds logs from a small text notation, as real bytes of a dump (`tests/checks/**/*.yaml`).

A case is one partition. All cases lie in one dump, which is audited once: `AS_OF` is 600 s after
T0. A log is a list of lines, one batch or event each: a verb, then `name=value` and flags.

Verbs
    data pid=1 epoch=0 seq=0 n=2   idempotent batch of n records (default 1)
    txn pid=1 epoch=0 seq=0 n=2    the same, transactional
    plain n=2                      batch without a producer
    commit pid=1 epoch=0 cepoch=3  marker; also abort. cepoch (coordinator epoch) default 0
    v0, v1                         one message of magic 0 or 1, see below
    offsets group=g t-0=7 t-1=none   records of __consumer_offsets (the case needs topic:): offset
            commits, `none` a tombstone; transactional with pid=1. version=4 (of the values,
            default 3), misplaced (the group belongs into another partition), members=2 (metadata
            of the group in place of commits; none: a tombstone), rkey=00ff rvalue=00ff (one
            record as hex)
    ids 1000                       record of __cluster_metadata (the case needs topic:): the block
            of producer ids in front of that one was given out
    metadata begin   record of __cluster_metadata: a metadata transaction begins; also end, abort
    skip 5                         the next batch starts 5 offsets later
    roll [base=10]                 new segment; named after the next offset unless given
    bytes 00ff, zeros 100, garbage 40   raw bytes (garbage is no batch and not zero)
    cut 10                         removes the last 10 bytes of the file so far
Left out, epoch and seq go on where the producer stopped: same epoch, next sequence; a new epoch
starts at 0. Producer ids are 1 to 999; each case gets ids of its own (`finds` uses 1 to 999 too).
From 1000000000 on they were never given out, but `bare` does not tell.

On any batch
    at=-3600        timestamp, s relative to T0. Default: 1 s after the batch before; first 0
    offset=7        base offset (default: the next free one)
    leader=3        partition leader epoch; stays until changed (default 0)
    logappend       the timestamp is the broker's
    horizon=90      delete horizon, s relative to T0 (attribute bit 6)
    empty           as the cleaner leaves it: count 0, the n offsets and sequences stay
    codec=gzip      or snappy, snappy_raw, lz4, zstd, or a number 0 to 7 (5 to 7: stored plain)
    lod=4 count=1 attributes=0x0080 transactional=0   header fields that do not fit the records
    deltas=0,2      offset deltas of the records, in place of n (as the cleaner leaves: with lod=)
    times=0,5       timestamp deltas of the records against `at`, ms
    max=3           maxTimestamp, s relative to T0 (default: that of the records)
    key=k value=v size=100 headers=2 null_key null_value   all records; value of `size` bytes
    section=00ff    the records section as stored, hex
    crc=bad         wrong checksum
    flip=70         inverts that byte of the batch (negative: from its end); checksum made right
    poke=57:00000009  sets bytes at that index, hex; checksum made right. Several: poke=8:00,57:00
    keep_crc        flip and poke leave the checksum as it was
On v0 and v1 (at, offset, logappend, key, value, size, null_value, crc, flip, poke as above)
    codec=gzip      a wrapper of n= messages or deltas= (their offsets, relative to the first free
            one), times= as above; lz4_old: with the header checksum of old clients; gzip_stored:
            as they are, which gzip does with what it cannot make smaller
    max=3           timestamp of the wrapper, s relative to T0
    last=0          offset of the wrapper, in place of that of its last message
    inner_crc=bad   wrong checksum of its last message; nested: that one is compressed itself
    section=00ff    what the wrapper holds, hex; null_wrapper: nothing
On commit and abort
    type=5 ckey=00000005 cvalue=0000   control type, or key and value as hex; seq=, n= as above

Options of a case, all optional
    broker: clean | live | bare   clean: all checkpoint files and the clean-shutdown marker
            (default); live: no clean-shutdown marker; bare: no side files at all; foreign: clean,
            of another cluster; fetched: over the protocol, by `told`; startless: clean, but its
            log-start-offset-checkpoint is not in the dump; unstarted: its last start failed before
            it loaded the logs
    told: what the leader said before and after a fetch, a list of `stable 7` (last stable offset),
            `mark 9` (high watermark; default the log end), `producer pid=1 epoch=0 seq=3 open=5`
            (one that it remembers; without open: no transaction), `refused` (nothing of producers),
            `leader 2` (its epoch), `id other` or none (of the topic; default: same, as fetched),
            `transaction id=x pid=1 state=Ongoing` (of a coordinator), each also with
            moment=before or moment=after. hw: and log_start: are those of the fetch.
            `fetched later`: after both answers; `made again`: while it was fetched
    fetched_from: 3 | none   first offset that was fetched between these answers, what is below was
            by an earlier run; default: the first of the copy; none: not told
    hw: 7 | none         replication checkpoint; default the log end; none: not listed
    cleaner: 7           cleaner checkpoint; default: not listed, so never compacted
    log_start: 3         log start checkpoint; default: not listed
    copied_at: 500       moment before which everything is in the copy (dump-manifest.json), s as
            in at; default: not told
    copied_until: 600    moment after which nothing of it was read (dump-manifest.json); only with
            copied_at; default: not told
    recovery_point: 3    recovery point checkpoint; default: not listed
    first_base: 5        base offset of the first segment and of the first batch; default 0
    txnindex: auto | none | list of `pid=1 first=0 last=4 lso=5 [segment=0] [version=0]` or
            `bytes 00ff segment=0`; auto (default): the right entries
    index, timeindex: list of `batch=2 offset=7`: an entry of the `.index` or `.timeindex` for the
            batch with that number in the case, from 0; offset (default: its last), plus=3 (bytes
            behind its position); a time index has at= in place of a position (s as in the log).
            Or `segment=0 position=99 offset=7`, `zeros 80 [segment=0]`. Default: no files
    indexed: base offsets of the segments that have an `.index`, empty unless `index` gives entries;
            default: all
    epochs: list of `epoch=3 start=7`: the leader-epoch-checkpoint; default: no file
    snapshots: list of producer snapshots (tests/snapshot_files.py); default none
    coordinator: list of `id=x pid=1 epoch=0 state=Ongoing partitions=this at=0` records in
            __transaction_state (complete, broker clean). State: as in the log, or
            `tombstone`. partitions: this, elsewhere, beside, `this,elsewhere` or none; the default
            is this for Ongoing and Prepare*, none else. timeout= ms (default 600000). The first
            record of an id is led up to by legal ones, unless it says `raw`. More: start=, update=
            and clock= (s as in at; clock: the record's timestamp, where that is not at), ctv=2
            (client transaction version), leader=1 (for all that follow; -1: none), status=7 (any),
            skip=2 (offsets missing before it), stored=00ff (the value, hex), ckey=00ff (the key,
            hex), next=2 (next producer id, with ctv=), tag=9 (an unknown tag, with ctv=),
            codec=gzip, joined (in the batch of the record before), misplaced (in another partition
            than that of its id), again=20 every=50 (so often more, s apart), crc=bad (wrong
            checksum of its batch), roll (a new segment begins with it); these two with `alone`, as
            other ids share the log
    alone: true           the case has a partition of __transaction_state of its own; {hw: 7}: with
            that replication checkpoint; {cleaner: 7}: with that cleaner checkpoint
    whole: true           the case is audited among those whose coordinator's log lacks nothing: of
            a producer that no id has, nothing is proven where some record is lost
    dump: a name          the case is audited among those with that name: of a producer that no id
            has, it matters what is lost of any partition of that log
    in_part: true         of that dump __transaction_state has a further partition, which is listed
            and not there: of a producer that no record names, nothing is proven
    before: true          that partition was copied before the data, too; only with alone
    copy: {broker: second, hw: 7, records: list as in coordinator}   another copy of that partition
            on another broker: second (clean), live or bare. hw: as above
    replica: {broker: second, log: the lines, hw: 7}   the partition on another broker: second
            (clean), live or foreign (clean, of another cluster). More: cleaner:, first_base:,
            log_start:, topic_id: other | none. Without topic_id both tell the same. Of several
            brokers: a list
    partitions: 20        so many partitions of the topic have the log; `this` lists them all
    policy: delete        cleanup.policy with which the topic was created, in __cluster_metadata;
            default: the topic is not in it
    created: once         the topic is in __cluster_metadata, and its folders tell its id; again: it
            was created before, with another id; unknown: the folders tell one that is not there;
            deleted: that is also deleted there
    assigned: list of brokers that the partition is assigned to there; with policy or created
    controller: what the controller wrote, with created: a list of `EVENT at=S`, by time. fence,
            unfence, register or stop, with broker=N; no_leader, elect or unclean (broker=N, the new
            leader) of the partition; output: of that of `output`, old: of the topic of before,
            partition=N: of another one of the topic; isr=1+2, elr=, last=: the replicas in sync,
            eligible, last known as eligible from now on, `none` for none; in_sync: only these
            change; assigned: the new leader becomes the only replica
    beside: the lines of a further partition of the topic, 1, on the same broker; with created
    beside_base: 5        that partition begins with this offset
    topic: __consumer_offsets     place it in an internal topic; __cluster_metadata: broker bare
    output: the lines of a second partition, of a client topic, on the same broker; its findings
            are the case's too. In `coordinator`, and in what groups commit, its name is `output`
    info: true           findings of severity info count too
    name: a sentence; log: the lines; finds: list of {code, verdict (default violation), offset
            (offset_first), last (offset_last), reason, pid, places (how many)}; what is left out
            may be anything, but a violation has no reason. `finds: []`: legal, no error and no
            warning.
On the clean broker the dump is complete up to AS_OF; on live only up to a partition's own markers.
"""

import base64
import glob
import gzip
import hashlib
import json
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import google_crc32c
from snapshot_files import snapshot_files
from told_answers import (
    FETCHED_LATER,
    MADE_AGAIN,
    TOPIC_IDS,
    answers_of,
    of_coordinator,
    transactions_of,
)

from tests.wire_writer import batches as writer
from tests.wire_writer import offsets_log as group_writer
from tests.wire_writer import txn_index as index_writer
from tests.wire_writer import txn_log as txn_writer
from tests.wire_writer.fields import encode_string, encode_tagged_fields
from udfs.rules.producer_step import MAX_SEQUENCE
from udfs.wire import codecs
from udfs.wire.batches import batch_layout as layout
from udfs.wire.coordinator import txn_log
from udfs.wire.offsets import offsets_log
from udfs.wire.side_files import txn_index

T0 = 1_700_000_000_000
AS_OF = T0 + 600_000
CODECS = {
    "none": 0, "gzip": 1, "gzip_stored": 1, "snappy": 2, "snappy_raw": 2, "lz4": 3, "lz4_old": 3,
    "zstd": 4,
}  # fmt: skip
SPECIAL_COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "gzip_stored": lambda plain: gzip.compress(plain, 0, mtime=0),
    "snappy_raw": writer.snappy_raw,
    "lz4_old": writer.lz4_of_magic_0,
}
COORDINATOR_TOPIC = "__transaction_state"
# Of the cases that share them; `_has_own_log` has a further one.
COORDINATOR_PARTITIONS = 5
METADATA_TOPIC = "__cluster_metadata"
NEXT_PRODUCER_ID = 1_000_000_000
CLOCK_TOPIC = "clock"
OFFSETS_TOPIC = "__consumer_offsets"
COMMITTED = re.compile(r"(?P<topic>[a-z]+)-(?P<partition>\d+)")
OPTIONS = {
    "name", "log", "finds", "info", "broker", "hw", "cleaner", "log_start", "recovery_point",
    "first_base", "txnindex", "index", "indexed", "timeindex", "epochs", "snapshots", "coordinator",
    "topic",
    "copied_at", "copied_until", "alone", "copy", "output", "replica", "policy",
    "partitions", "before", "told", "whole", "dump", "in_part", "fetched_from", "created", "beside",
    "controller",
    "beside_base", "assigned",
}  # fmt: skip
VERBS = {
    "data", "txn", "plain", "offsets", "ids", "metadata", "commit", "abort", "v0", "v1", "skip",
    "roll", "bytes", "zeros", "garbage", "cut",
}  # fmt: skip
# Events of `controller`: api keys of records about brokers; how many tags those of leaders have.
BROKER_EVENTS = {"register": 0, "fence": 7, "unfence": 8, "stop": 17}
LEADER_EVENTS = ("no_leader", "elect", "unclean", "in_sync")
# What they tell of replicas: tags of PartitionChangeRecord.
IN_SYNC = {"isr": 0, "elr": 6, "last": 7}
# The legal way to a state, for the first record of an id.
LED_UP_BY: dict[str, tuple[str, ...]] = {
    "Empty": (),
    "Ongoing": ("Empty",),
    "PrepareCommit": ("Empty", "Ongoing"),
    "PrepareAbort": ("Empty", "Ongoing"),
    "CompleteCommit": ("Empty", "Ongoing", "PrepareCommit"),
    "CompleteAbort": ("Empty", "Ongoing", "PrepareAbort"),
}
BROKERS = {
    "clean": 1, "live": 2, "bare": 3, "second": 4, "foreign": 5, "fetched": 6, "startless": 7,
    "unstarted": 8,
}  # fmt: skip
# Those with the mark of a clean stop, and those that listed their logs then.
MARKED = ("clean", "second", "foreign", "startless", "unstarted")
CLEANLY_STOPPED = MARKED[:-1]


class NotationError(ValueError):
    """A case that is written wrongly."""


# What odd words and options run into.
ODD = (
    ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError, struct.error,
)  # fmt: skip


@contextmanager
def told_of(case: "Case", what: str) -> Iterator[None]:
    """Says in which case something odd is written."""
    try:
        yield
    except NotationError as error:
        named = str(error).startswith(f"{case.name}: ")
        raise NotationError(str(error) if named else f"{case.name}: {what}: {error}") from error
    except ODD as error:
        told = f"{type(error).__name__}: {error}"
        raise NotationError(f"{case.name}: {what}: cannot be read ({told})") from error


class Line:
    """One line of the notation: `verb`, positional `words`, named values, flags."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.verb, *rest = text.split()
        self._named = dict(word.split("=", 1) for word in rest if "=" in word)
        self.words = [word for word in rest if "=" not in word]
        self._unread = set(self._named) | set(self.words)

    def text_of(self, name: str, default: str | None = None) -> str | None:
        self._unread.discard(name)
        return self._named.get(name, default)

    def number(self, name: str, default: int = 0) -> int:
        value = self.optional(name)
        return default if value is None else value

    def optional(self, name: str) -> int | None:
        value = self.text_of(name)
        return None if value is None else int(value, 0)

    def bits(self, name: str) -> int | None:
        """Sixteen bits as the signed number that holds them."""
        value = self.optional(name)
        return value if value is None or value < 1 << 15 else value - (1 << 16)

    def moment(self, name: str) -> int | None:
        """Milliseconds since 1970 of seconds relative to T0."""
        value = self.text_of(name)
        return None if value is None else T0 + round(float(value) * 1000)

    def numbers(self, name: str) -> list[int] | None:
        value = self.text_of(name)
        return None if value is None else [int(word, 0) for word in value.split(",")]

    def flag(self, name: str) -> bool:
        self._unread.discard(name)
        return name in self.words

    def word(self) -> str:
        self._unread.discard(self.words[0])
        return self.words[0]

    def hexadecimal(self, name: str) -> bytes | None:
        value = self.text_of(name)
        return None if value is None else bytes.fromhex(value)

    def commits(self) -> list[tuple[str, int, int | None]]:
        """(topic, partition, offset or None) of all words like `t-0=7`, in their order."""
        found = []
        for name, value in self._named.items():
            if match := COMMITTED.fullmatch(name):
                self._unread.discard(name)
                offset = None if value == "none" else int(value, 0)
                found.append((match["topic"], int(match["partition"]), offset))
        return found

    def end(self) -> None:
        """Everything must have been understood."""
        if self._unread:
            raise NotationError(f"{self.text!r}: unknown {sorted(self._unread)}")


Contents = list[tuple[bytes, bytes | None]]


def offset_commit(version: int, offset: int) -> bytes:
    """Value of an offset commit."""
    return group_writer.encode_offset_commit(offsets_log.OffsetCommit(version, offset, "m", T0))


def group_metadata(version: int, members: int) -> bytes:
    """Value of a classic group."""
    group = tuple(
        offsets_log.GroupMember(f"member-{i}", "client", "/host", 45_000, b"s", b"a")
        for i in range(members)
    )
    return group_writer.encode_group_metadata(
        offsets_log.GroupMetadata(version, "consumer", 1, "range", None, group)
    )


def metadata_value(api_key: int, message: bytes) -> bytes:
    """Value of a record of `__cluster_metadata`: frame version 1, message version 0, no tags."""
    return bytes([1, api_key, 0]) + message + b"\x00"


def tagged_value(api_key: int, message: bytes, tags: Iterable[tuple[int, bytes]]) -> bytes:
    """The same with tagged fields, each shorter than 128 bytes."""
    fields = [bytes([tag, len(content)]) + content for tag, content in tags]
    return metadata_value(api_key, message)[:-1] + bytes([len(fields)]) + b"".join(fields)


def broker_list(brokers: Sequence[int]) -> bytes:
    """Ids of brokers, as records of __cluster_metadata have them."""
    return bytes([len(brokers) + 1]) + struct.pack(f">{len(brokers)}i", *brokers)


def topic_id_of(name: str, number: int) -> bytes:
    """The id of a topic; `number`: of those that had its name, from the newest back."""
    return hashlib.md5(f"{name}{number or ''}".encode()).digest()


def metadata_id(topic: str, number: int = 0) -> str:
    """The same id as in partition.metadata."""
    return base64.urlsafe_b64encode(topic_id_of(topic, number)).decode().rstrip("=")


def topic_metadata(topic_id: str | None) -> str:
    """A partition.metadata."""
    return f"version: 0\ntopic_id: {topic_id}"


class GroupNames:
    """Names of groups whose hash puts them into `partition`, or into another one if misplaced."""

    def __init__(self, prefix: str, partition: int, partitions: int) -> None:
        self._prefix, self._partition, self._partitions = prefix, partition, partitions

    def topic(self, name: str) -> str:
        """A topic whose offsets are committed; `output`: that of the case."""
        return f"{self._prefix}output" if name == "output" else name

    def of(self, name: str, misplaced: bool) -> str:
        """The name in the dump."""
        # The hash modulo 31 is that of the last character: where 31 divides the number of
        # partitions, digits alone do not reach each of them.
        ends = ("", *map(chr, range(64, 64 + 31)))
        candidates = (
            f"{self._prefix}{name}.{salt}{end}" for end in ends for salt in range(1 << 11)
        )
        return next(
            candidate
            for candidate in candidates
            if (txn_writer.partition_for(candidate, self._partitions) == self._partition)
            is not misplaced
        )


def leader_epoch_file(entries: Sequence[str]) -> str:
    """Contents of a leader-epoch-checkpoint."""
    lines = [Line(f"entry {text}") for text in entries]
    stored = [f"{line.number('epoch')} {line.number('start')}" for line in lines]
    for line in lines:
        line.end()
    return "\n".join(["0", str(len(stored)), *stored]) + "\n"


@dataclass
class Placed:
    """What the builder remembers of a batch that it wrote."""

    segment: int
    start: int
    end: int
    offset: int
    last: int
    pid: int
    transactional: bool
    commit: bool | None


def _patched(batch: bytes, line: Line, legacy: bool = False) -> bytes:
    """Applies flip, poke and crc of a line."""
    data = bytearray(batch)
    flip, poke, keep = line.optional("flip"), line.text_of("poke"), line.flag("keep_crc")
    if flip is not None:
        data[flip] ^= 0xFF
    for part in poke.split(",") if poke else ():
        index, content = part.split(":")
        at, raw = int(index), bytes.fromhex(content)
        data[at : at + len(raw)] = raw
    where = layout.LOG_OVERHEAD if legacy else layout.CRC
    if (flip is not None or poke) and not keep:
        checked = bytes(data[layout.MAGIC if legacy else layout.ATTRIBUTES :])
        checksum = zlib.crc32(checked) if legacy else google_crc32c.value(checked)
        struct.pack_into(">I", data, where, checksum)
    if line.text_of("crc") == "bad":
        data[where + 3] ^= 0xFF
    return bytes(data)


class LogBuilder:
    """The files of one partition, line by line."""

    def __init__(
        self, pid_base: int = 0, first_base: int = 0, groups: "GroupNames | None" = None
    ) -> None:
        self._groups = groups or GroupNames("", 0, 1)
        self.segments: dict[int, bytearray] = {first_base: bytearray()}
        self.placed: list[Placed] = []
        self._pid_base = pid_base
        self._current = first_base
        self._next_offset = first_base
        self._clock = T0 - 1000
        self._leader = 0
        self._producers: dict[int, tuple[int, int]] = {}

    def pid(self, local: int) -> int:
        """The producer id in the dump; what is no id stays."""
        return self._pid_base + local if local >= 0 else local

    def add(self, text: str) -> None:
        """One line of the notation."""
        line = Line(text)
        if line.verb not in VERBS:
            raise NotationError(f"{text!r}: unknown verb {line.verb}")
        getattr(self, f"_{line.verb}")(line)
        line.end()

    @property
    def end(self) -> int:
        """Log end offset: behind the last batch."""
        return max((batch.last + 1 for batch in self.placed), default=self._current)

    # Events

    def _skip(self, line: Line) -> None:
        self._next_offset += int(line.word())

    def _roll(self, line: Line) -> None:
        self._current = line.number("base", self._next_offset)
        self.segments[self._current] = bytearray()

    def _bytes(self, line: Line) -> None:
        self.segments[self._current] += bytes.fromhex(line.word())

    def _zeros(self, line: Line) -> None:
        self.segments[self._current] += bytes(int(line.word()))

    def _garbage(self, line: Line) -> None:
        size = int(line.word())
        self.segments[self._current] += bytes(40 + i * 37 % 200 for i in range(size))

    def _cut(self, line: Line) -> None:
        file = self.segments[self._current]
        del file[len(file) - int(line.word()) :]
        self.placed = [
            one for one in self.placed if one.segment != self._current or one.end <= len(file)
        ]

    # Batches

    def _data(self, line: Line) -> None:
        self._append_data(line, transactional=False)

    def _txn(self, line: Line) -> None:
        self._append_data(line, transactional=True)

    def _plain(self, line: Line) -> None:
        self._append_data(line, transactional=False)

    def _offsets(self, line: Line) -> None:
        group = self._groups.of(line.text_of("group", "g") or "", line.flag("misplaced"))
        version, members = line.number("version", 3), line.text_of("members")
        contents = [
            (
                group_writer.encode_key(
                    offsets_log.GroupKey(1, group, self._groups.topic(topic), partition)
                ),
                None if offset is None else offset_commit(version, offset),
            )
            for topic, partition, offset in line.commits()
        ]
        if members is not None:
            key = group_writer.encode_key(offsets_log.GroupKey(2, group))
            value = None if members == "none" else group_metadata(version, int(members))
            contents = [(key, value)]
        key, value = line.hexadecimal("rkey"), line.hexadecimal("rvalue")
        if key is not None:
            contents = [(key, value)]
        elif value is not None:
            contents = [(contents[0][0], value)]
        self._append_data(line, line.optional("pid") is not None, contents)

    def create_topic(
        self, name: str, policy: str | None, number: int = 0, at: int | None = None
    ) -> None:
        """A batch of __cluster_metadata: the topic is created with that cleanup.policy, if any.

        `number`: tells topics of one name apart, see `topic_id_of`; `at`: seconds from T0.
        """
        topic = encode_string(name, True) + topic_id_of(name, number)
        contents: Contents = [(None, metadata_value(2, topic))]
        if policy is not None:
            names = (name, "cleanup.policy", policy)
            option = b"\x02" + b"".join(encode_string(one, True) for one in names)
            contents.append((None, metadata_value(4, option)))
        line = Line("plain" if at is None else f"plain at={at}")
        self._append_data(line, transactional=False, contents=contents)

    def delete_topic(self, name: str) -> None:
        """A batch of __cluster_metadata: the topic is deleted."""
        value = metadata_value(9, topic_id_of(name, 0))
        self._append_data(Line("plain"), transactional=False, contents=[(None, value)])

    def assign(self, topic: str, partition: int, brokers: Sequence[int]) -> None:
        """A batch of __cluster_metadata: a partition of the topic is created on these brokers."""
        message = struct.pack(">i", partition) + topic_id_of(topic, 0) + broker_list(brokers)
        contents: Contents = [(None, metadata_value(3, message))]
        self._append_data(Line("plain"), transactional=False, contents=contents)

    def control(self, case: "Case", text: str) -> None:
        """A batch of __cluster_metadata: something happened to a broker or to a leader."""
        line = Line(text)
        event, broker = line.verb, line.number("broker", -1)
        topic, older = case.topic, int(line.flag("old"))
        partition = line.optional("partition")
        if line.flag("output"):
            topic, partition = case.output_topic, 0
        if event in BROKER_EVENTS:
            api_key, stops = BROKER_EVENTS[event], [(1, b"\x01")] if event == "stop" else []
            value = tagged_value(api_key, struct.pack(">iq", broker, 1), stops)
        elif event in LEADER_EVENTS:
            here = case.partition if partition is None else partition
            tags = {1: struct.pack(">i", broker)} if event != "in_sync" else {}
            tags |= {2: broker_list([broker])} if line.flag("assigned") else {}
            tags |= {5: b"\x01"} if event == "unclean" else {}
            for name, tag in IN_SYNC.items():
                brokers = line.text_of(name)
                if brokers is not None:
                    tags[tag] = broker_list([int(n) for n in brokers.split("+") if n != "none"])
            message = struct.pack(">i", here) + topic_id_of(topic, older)
            value = tagged_value(5, message, sorted(tags.items()))
        else:
            raise NotationError(f"{text!r}: unknown event")
        moment = Line(f"plain at={line.text_of('at')}")
        line.end()
        self._append_data(moment, transactional=False, contents=[(None, value)])

    def register_broker(self, broker: int) -> None:
        """A batch of __cluster_metadata: a broker, as far as an audit reads the record."""
        value = metadata_value(0, struct.pack(">i", broker))
        self._append_data(Line("plain"), transactional=False, contents=[(None, value)])

    def migrate(self, state: int) -> None:
        """A batch of __cluster_metadata: how far a move from ZooKeeper is."""
        value = metadata_value(21, bytes([state]))
        self._append_data(Line("plain"), transactional=False, contents=[(None, value)])

    def _ids(self, line: Line) -> None:
        message = struct.pack(">iqq", BROKERS["clean"], 1, int(line.word()))
        self._append_data(line, transactional=False, contents=[(None, metadata_value(15, message))])

    def _metadata(self, line: Line) -> None:
        api_key = {"begin": 23, "end": 24, "abort": 25}[line.word()]
        value = metadata_value(api_key, b"")
        self._append_data(line, transactional=False, contents=[(None, value)])

    def _commit(self, line: Line) -> None:
        self._append_marker(line, commit=True)

    def _abort(self, line: Line) -> None:
        self._append_marker(line, commit=False)

    def _v0(self, line: Line) -> None:
        self._append_legacy(line, magic=0)

    def _v1(self, line: Line) -> None:
        self._append_legacy(line, magic=1)

    def _moment(self, line: Line) -> int:
        given = line.moment("at")
        self._clock = self._clock + 1000 if given is None else given
        return self._clock

    def _common(self, line: Line) -> dict[str, Any]:
        self._leader = line.number("leader", self._leader)
        return {
            "partition_leader_epoch": self._leader,
            "timestamp_type": int(line.flag("logappend")),
        }

    def _producer(self, line: Line) -> tuple[int, int, int]:
        """(producer id, epoch, next sequence), with what is left out filled in."""
        pid = self.pid(line.number("pid", -1))
        known = self._producers.get(pid)
        no_producer = pid < 0
        epoch = line.number("epoch", -1 if no_producer else known[0] if known else 0)
        following = known[1] if known and known[0] == epoch else 0
        return pid, epoch, -1 if no_producer else following

    def _place(
        self, line: Line, data: bytes, span: int, pid: int, transactional: bool, commit: bool | None
    ) -> None:
        file = self.segments[self._current]
        start = len(file)
        file += data
        offset = self._next_offset
        self.placed.append(
            Placed(
                self._current,
                start,
                len(file),
                offset,
                offset + span - 1,
                pid,
                transactional,
                commit,
            )
        )
        self._next_offset = offset + span

    @staticmethod
    def _as_records(contents: Contents, base: int, moment: int) -> list[bytes]:
        return [
            writer.record(delta, moment - base, key, value)
            for delta, (key, value) in enumerate(contents)
        ]

    def _records(self, line: Line, base: int, moment: int) -> list[bytes]:
        count = line.number("n", 1)
        deltas = line.numbers("deltas")
        deltas = list(range(count)) if deltas is None else deltas
        times = line.numbers("times") or [0] * len(deltas)
        value: bytes | None = (line.text_of("value", "v") or "").encode()
        size = line.optional("size")
        if size is not None:
            value = bytes(97 + i % 26 for i in range(size))
        if line.flag("null_value"):
            value = None
        key = line.text_of("key")
        no_key = line.flag("null_key")
        headers = [(f"h{i}", b"x") for i in range(line.number("headers"))]
        return [
            writer.record(
                delta,
                moment - base + time,
                None if no_key else (key or f"k{delta}").encode(),
                value,
                headers,
            )
            for delta, time in zip(deltas, times, strict=True)
        ]

    def _append_data(
        self, line: Line, transactional: bool, contents: Contents | None = None
    ) -> None:
        self._next_offset = line.number("offset", self._next_offset)
        pid, epoch, following = self._producer(line)
        if contents is not None:
            following = 0
        sequence = line.number("seq", following)
        moment, common = self._moment(line), self._common(line)
        horizon, lod = line.moment("horizon"), line.optional("lod")
        base = moment if horizon is None else horizon
        if contents is None:
            records = self._records(line, base, moment)
        else:
            records = self._as_records(contents, base, moment)
        count = line.number("n", 1) if contents is None else len(contents)
        deltas = line.numbers("deltas") or [count - 1]
        span = max(*deltas, 0) + 1 if lod is None else max(lod, 0) + 1
        producer = {"producer_id": pid, "producer_epoch": epoch, "base_sequence": sequence}
        transactional = bool(line.number("transactional", int(transactional)))
        if line.flag("empty"):
            maximum = line.moment("max")
            data = writer.empty_batch(
                self._next_offset,
                self._next_offset + span - 1,
                max_timestamp=moment if maximum is None else maximum,
                transactional=transactional,
                **producer,
                **common,
            )
        else:
            codec, section = self._codec(line, records)
            maximum = line.moment("max")
            if maximum is None and common["timestamp_type"]:
                maximum = moment
            data = writer.batch(
                self._next_offset,
                records,
                base_timestamp=moment,
                max_timestamp=maximum,
                transactional=transactional,
                codec=codec,
                last_offset_delta=lod,
                count=line.optional("count"),
                delete_horizon=horizon,
                attributes=line.bits("attributes"),
                section=section,
                **producer,
                **common,
            )
        if pid >= 0:
            self._producers[pid] = (epoch, (sequence + span) % (MAX_SEQUENCE + 1))
        self._place(line, _patched(data, line), span, pid, transactional, None)

    @staticmethod
    def _codec(line: Line, records: Sequence[bytes]) -> tuple[int, bytes | None]:
        name = line.text_of("codec", "none") or "none"
        codec = CODECS[name] if name in CODECS else int(name)
        plain = b"".join(records)
        section = line.hexadecimal("section")
        if section is None and name in SPECIAL_COMPRESSORS:
            section = SPECIAL_COMPRESSORS[name](plain)
        if section is None and codec > codecs.ZSTD:
            section = plain
        return codec, section

    def _append_marker(self, line: Line, commit: bool) -> None:
        self._next_offset = line.number("offset", self._next_offset)
        pid, epoch, _ = self._producer(line)
        moment, common = self._moment(line), self._common(line)
        horizon, kind = line.moment("horizon"), line.optional("type")
        key, value = line.hexadecimal("ckey"), line.hexadecimal("cvalue")
        if key is None and kind is not None:
            key = writer.CONTROL_KEY.pack(0, kind)
        coordinator_epoch = line.number("cepoch")
        empty = line.flag("empty")
        shape = {name: line.optional(name) for name in ("seq", "lod", "count")}
        count, section = line.number("n", 1), line.hexadecimal("section")
        if empty:
            data = writer.empty_batch(
                self._next_offset,
                self._next_offset,
                max_timestamp=moment,
                producer_id=pid,
                producer_epoch=epoch,
                base_sequence=-1,
                transactional=True,
                control=True,
                **common,
            )
        else:
            if key is None:
                key = writer.CONTROL_KEY.pack(0, int(commit))
            if value is None:
                value = writer.MARKER_VALUE.pack(0, coordinator_epoch)
            base = moment if horizon is None else horizon
            name = line.text_of("codec", "none") or "none"
            data = writer.batch(
                self._next_offset,
                [writer.record(i, moment - base, key, value) for i in range(count)],
                base_timestamp=moment,
                max_timestamp=moment,
                producer_id=pid,
                producer_epoch=epoch,
                base_sequence=-1 if shape["seq"] is None else shape["seq"],
                transactional=bool(line.number("transactional", 1)),
                control=True,
                codec=CODECS[name],
                delete_horizon=horizon,
                last_offset_delta=shape["lod"],
                count=shape["count"],
                attributes=line.bits("attributes"),
                section=section,
                **common,
            )
        known = self._producers.get(pid)
        if known is None or known[0] != epoch:
            self._producers[pid] = (epoch, 0)
        span = count if shape["lod"] is None else max(shape["lod"], 0) + 1
        self._place(line, _patched(data, line), span, pid, True, None if empty else commit)

    def _append_legacy(self, line: Line, magic: int) -> None:
        self._next_offset = line.number("offset", self._next_offset)
        codec, moment = line.text_of("codec", "none") or "none", self._moment(line)
        kind = layout.TIMESTAMP_TYPE_MASK * line.flag("logappend")
        key: bytes | None = (line.text_of("key", "k") or "").encode()
        value, last = self._message_value(line), 0
        timestamp = moment
        if codec != "none":
            deltas = line.numbers("deltas") or list(range(line.number("n", 1)))
            times = line.numbers("times") or [0] * len(deltas)
            value = self._wrapped(line, magic, [*zip(deltas, times, strict=True)], key, value)
            key, last = None, max(deltas)
            maximum = line.moment("max")
            timestamp = moment + max(times) if maximum is None else maximum
        data = writer.legacy_message(
            self._next_offset + line.number("last", last),
            key,
            value,
            magic=magic,
            timestamp=timestamp,
            attributes=kind | (CODECS[codec] if codec in CODECS else int(codec)),
        )
        self._place(line, _patched(data, line, legacy=True), last + 1, -1, False, None)

    @staticmethod
    def _message_value(line: Line) -> bytes | None:
        value, size = (line.text_of("value", "v") or "").encode(), line.optional("size")
        if line.flag("null_value"):
            return None
        return value if size is None else bytes(97 + i % 26 for i in range(size))

    def _wrapped(
        self, line: Line, magic: int, places: Sequence[tuple[int, int]], key: bytes | None,
        value: bytes | None,
    ) -> bytes | None:  # fmt: skip
        """The value of a wrapper; `places`: offset and timestamp deltas of its messages."""
        codec, stored = line.text_of("codec") or "", line.hexadecimal("section")
        bad, nested = line.text_of("inner_crc") == "bad", line.flag("nested")
        messages = [
            writer.legacy_message(
                delta + (0 if magic else self._next_offset),
                key,
                value,
                magic=magic,
                timestamp=self._clock + time,
                attributes=codecs.GZIP if nested and (delta, time) == places[-1] else 0,
                crc=0 if bad and (delta, time) == places[-1] else None,
            )
            for delta, time in places
        ]
        plain = b"".join(messages)
        if line.flag("null_wrapper"):
            return None
        if stored is not None or codec not in CODECS:
            return stored or plain
        if codec in SPECIAL_COMPRESSORS:
            return SPECIAL_COMPRESSORS[codec](plain)
        return writer.compress(CODECS[codec], plain)

    # Side files

    def right_entries(self) -> dict[int, list[txn_index.AbortedTxnEntry]]:
        """Entries of the aborted transaction indexes by segment (`TransactionIndex`)."""
        entries: dict[int, list[txn_index.AbortedTxnEntry]] = {}
        running: dict[int, int] = {}
        for one in self.placed:
            if one.commit is None:
                if one.transactional and one.pid >= 0:
                    running.setdefault(one.pid, one.offset)
                continue
            first = running.pop(one.pid, None)
            if first is not None and not one.commit:
                stable = min(running.values(), default=one.offset + 1)
                entries.setdefault(one.segment, []).append(
                    txn_index.AbortedTxnEntry(0, one.pid, first, one.offset, stable)
                )
        return entries

    def index_files(self, wanted: str | Sequence[str]) -> dict[int, bytes]:
        """Contents of the `.txnindex` files by segment."""
        if wanted == "none":
            return {}
        if wanted == "auto":
            return {base: index_writer.encode(one) for base, one in self.right_entries().items()}
        files: dict[int, bytes] = {}
        for text in wanted:
            line = Line(text if text.startswith("bytes ") else f"entry {text}")
            if line.verb == "bytes":
                content, last = bytes.fromhex(line.word()), -1
            else:
                last = line.number("last")
                entry = txn_index.AbortedTxnEntry(
                    line.number("version"),
                    self.pid(line.number("pid")),
                    line.number("first"),
                    last,
                    line.number("lso", last + 1),
                )
                content = index_writer.encode([entry])
            holding = max((base for base in self.segments if base <= last), default=self._current)
            segment = line.number("segment", holding)
            files[segment] = files.get(segment, b"") + content
            line.end()
        return files

    def sparse_index_files(self, wanted: Sequence[str], times: bool) -> dict[int, bytes]:
        """Contents of the `.index` or `.timeindex` files by segment."""
        files: dict[int, bytes] = {}
        for text in wanted:
            line = Line(text if text.startswith("zeros ") else f"entry {text}")
            batch = line.optional("batch")
            of = Placed(0, 0, 0, 0, 0, 0, False, None) if batch is None else self.placed[batch]
            segment = line.number("segment", of.segment)
            if line.verb == "zeros":
                content = bytes(int(line.word()))
            else:
                offset = line.number("offset", of.last) - segment
                if times:
                    content = struct.pack(">qi", line.moment("at"), offset)
                else:
                    position = line.number("position", of.start + line.number("plus"))
                    content = struct.pack(">ii", offset, position)
            files[segment] = files.get(segment, b"") + content
            line.end()
        return files


@dataclass
class Case:
    """One case: `code` and `number` are those of its file, `given` what stands there."""

    code: str
    number: int
    given: dict[str, Any]
    pid_base: int = 0
    topic: str = ""
    partition: int = 0
    builder: LogBuilder = field(default_factory=LogBuilder)

    @property
    def partitions(self) -> range:
        """Partitions of the topic that have the log."""
        return range(self.partition, self.partition + self.given.get("partitions", 1))

    @property
    def output_topic(self) -> str:
        """Topic of the second partition."""
        return f"{self.code}.{self.number}.output"

    @property
    def name(self) -> str:
        """Code and sentence."""
        return f"{self.code}: {self.given['name']}"


class StateRecord(NamedTuple):
    """A record to be written to the coordinator log; `value` None is a tombstone."""

    case: int
    at: int
    identity: str
    value: bytes | None
    leader: int
    skip: int
    partition: int
    codec: int = 0
    joined: bool = False
    stamp: int | None = None
    crc_is_bad: bool = False
    rolls: bool = False
    key: bytes | None = None

    @property
    def timestamp(self) -> int:
        """What the coordinator's clock told, ms; `at` gives the order."""
        return self.at if self.stamp is None else self.stamp


@dataclass
class CoordinatorBatches:
    """One partition of the coordinator log; `end`: the next offset; `leader`: newest epoch.

    `segments`: batches by base offset.
    """

    segments: dict[int, list[bytes]] = field(default_factory=lambda: {0: []})
    end: int = 0
    leader: int = 0

    def append(self, records: Sequence[StateRecord]) -> None:
        """Adds one batch of these records."""
        first = records[0]
        self.end += first.skip
        # Messages of format 0 and 1 have none, -1.
        self.leader = max(self.leader, first.leader) if first.leader >= 0 else -1
        if first.rolls:
            self.segments[self.end] = []
        stored = [
            writer.record(
                i,
                one.timestamp - first.timestamp,
                txn_writer.encode_key(one.identity) if one.key is None else one.key,
                one.value,
            )
            for i, one in enumerate(records)
        ]
        batch = bytearray(
            writer.batch(
                self.end,
                stored,
                base_timestamp=first.timestamp,
                partition_leader_epoch=self.leader,
                codec=first.codec,
            )
        )
        if first.crc_is_bad:
            batch[layout.CRC + 3] ^= 0xFF
        self.segments[max(self.segments)].append(bytes(batch))
        self.end += len(records)


def _has_own_log(case: Case) -> bool:
    """Whether the case has a partition of the coordinator's log for itself.

    One that loses records, so that the others are whole, or with leader epochs, which only rise.
    """
    if "copy" in case.given or case.given.get("alone"):
        return True
    words = ("skip=", "stored=", "leader=", "ckey=")
    return any(word in text for text in case.given.get("coordinator", ()) for word in words)


class CoordinatorLog:
    """State records of all cases; the records of a case lie together, in the order of time.

    `alone`: pid_base of a case -> the partition that it has for itself.
    """

    def __init__(self, alone: dict[int, int]) -> None:
        self._records: list[StateRecord] = []
        self._known: set[str] = set()
        self._identities: dict[tuple[int, str], str] = {}
        self._alone = alone
        count = COORDINATOR_PARTITIONS + len(alone)
        # The hash multiplies by 31: modulo that, only the last letter of an id would count.
        self.partitions = count + (count % 31 == 0)

    def _belongs(self, case: Case, partition: int) -> bool:
        """Whether ids of the case may lie in the partition."""
        if case.pid_base in self._alone:
            return partition == self._alone[case.pid_base]
        return partition < COORDINATOR_PARTITIONS

    def identity(self, case: Case, name: str) -> str:
        """The id of a case, with a tail that brings it to the right partition."""
        known = self._identities.get((case.pid_base, name))
        if known is not None:
            return known
        # Among hundreds of partitions a thousand tails may all miss one; 2^16 differ.
        for number in range(1 << 16):
            tail = f".{number * 40503 % 65536:04x}" if number else ""
            identity = f"{case.code}.{case.number}.{name}{tail}"
            if self._belongs(case, txn_writer.partition_for(identity, self.partitions)):
                return self._identities.setdefault((case.pid_base, name), identity)
        raise NotationError(f"{case.name}: no id {name} for its partition")

    def add(self, case: Case, text: str) -> None:
        """Adds the record of one line, and before the first of an id those that lead up to it."""
        line = Line(f"state {text}")
        state = line.text_of("state", "Ongoing") or ""
        identity = self.identity(case, line.text_of("id", "id") or "")
        moment = line.moment("at")
        at = T0 if moment is None else moment
        known = identity in self._known
        leader, skip = line.number("leader"), line.number("skip")
        stored = line.hexadecimal("stored")
        partition = txn_writer.partition_for(identity, self.partitions)
        if line.flag("misplaced"):
            partition = (partition + 1) % COORDINATOR_PARTITIONS
        if not line.flag("raw") and not known and stored is None and state != "tombstone":
            for before in LED_UP_BY[state]:
                value = self._value(case, Line(f"state {text}"), before, at)
                self._records.append(
                    StateRecord(case.pid_base, at, identity, value, leader, 0, partition)
                )
        value = stored
        if stored is None and state != "tombstone":
            value = self._value(case, line, state, at)
        codec, joined = CODECS[line.text_of("codec", "none") or ""], line.flag("joined")
        one = StateRecord(
            case.pid_base, at, identity, value, leader, skip, partition, codec, joined,
            line.moment("clock"), line.text_of("crc") == "bad", line.flag("roll"),
            line.hexadecimal("ckey"),
        )  # fmt: skip
        again, every = line.number("again"), line.number("every") * 1000
        line.end()
        self._known.add(identity)
        self._records += [one._replace(at=at + i * every) for i in range(again + 1)]

    def _value(self, case: Case, line: Line, state: str, at: int) -> bytes:
        active = state == "Ongoing" or state.startswith("Prepare")
        asked = line.text_of("partitions")
        own = state == line.text_of("state", "Ongoing")
        if asked is None or not own:
            asked = (asked or "this") if active else "none"
        places = {
            "this": (case.topic, tuple(case.partitions)),
            "elsewhere": ("elsewhere", (0,)),
            "beside": (case.topic, (1,)),
            "output": (case.output_topic, (0,)),
        }
        partitions = tuple(places[name] for name in asked.split(",") if name != "none")
        version = line.number("ctv")
        start, update = line.moment("start"), line.moment("update")
        following, tag = line.number("next", -1), line.optional("tag")
        if not own:
            start, following = None, -1
        status = line.optional("status")
        empty = state == "Empty" and not partitions
        value = txn_log.TxnLogValue(
            version=1 if version else 0,
            producer_id=case.builder.pid(line.number("pid", 1)),
            producer_epoch=line.number("epoch"),
            timeout_ms=line.number("timeout", 600_000),
            status=txn_log.STATUS.index(state) if status is None else status,
            partitions=None if empty else partitions,
            last_update_ms=at if update is None else update,
            start_ms=(-1 if state == "Empty" else at) if start is None else start,
            next_producer_id=case.builder.pid(following),
            client_transaction_version=version,
        )
        if tag is None or not own:
            return txn_writer.encode_value(value)
        # Without any tag the section is one byte, the number of tags.
        untagged = txn_writer.encode_value(value._replace(client_transaction_version=0))
        told = (txn_log.TAG_CLIENT_TRANSACTION_VERSION, struct.pack(">h", version))
        return untagged[:-1] + encode_tagged_fields([told, (tag, b"\0")])

    def logs(self) -> list[CoordinatorBatches]:
        """The partitions of the log."""
        logs = [CoordinatorBatches() for _ in range(self.partitions)]
        batches: list[list[StateRecord]] = []
        for one in sorted(self._records, key=lambda record: (record.case, record.at)):
            if one.joined:
                batches[-1].append(one)
            else:
                batches.append([one])
        # All cases together, so that no clock goes back from one to the next.
        for batch in sorted(batches, key=lambda batch: batch[0].at):
            logs[batch[0].partition].append(batch)
        return logs


class DumpWriter:
    """Lays cases out as partitions of several brokers, with one coordinator log for all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._checkpoints: dict[str, dict[str, list[str]]] = {
            broker: {"replication-offset-checkpoint": [], "log-start-offset-checkpoint": [],
                     "recovery-point-offset-checkpoint": [], "cleaner-offset-checkpoint": []}
            for broker in BROKERS
        }  # fmt: skip
        self._copies: dict[str, list[dict[str, Any]]] = {broker: [] for broker in BROKERS}
        self._told: list[dict[str, Any]] = []
        self._events: list[dict[str, Any]] = []
        self._of_groups = 1
        self._used: dict[str, int] = {COORDINATOR_TOPIC: COORDINATOR_PARTITIONS}

    def write(self, cases: Iterable[Case]) -> None:
        """Writes all cases, the coordinator log and the side files."""
        placed = list(cases)
        self._of_groups = sum(case.given.get("topic") == OFFSETS_TOPIC for case in placed)
        for number, case in enumerate(placed):
            with told_of(case, "its log or an option"):
                self._case(number, case)
        for broker in ("clean", "live"):
            clock = LogBuilder(pid_base=10)
            clock.add(f"txn pid=1 at={(AS_OF - T0) // 1000 - 1}")
            clock.add("commit pid=1")
            self._partition(broker, CLOCK_TOPIC, BROKERS[broker], clock, {})
        # The broker of the clean cases is alone in its cluster: no replica of it can lag.
        metadata = LogBuilder()
        metadata.add(f"plain value=\x01\x00\x03\x00\x00\x00{chr(BROKERS['clean'])}")
        for case in placed:
            if "policy" in case.given or "created" in case.given:
                self._create_topic(metadata, case)
        metadata.add(f"ids {NEXT_PRODUCER_ID} at={(AS_OF - T0) // 1000}")
        self._partition("clean", METADATA_TOPIC, 0, metadata, {})
        self._coordinator_logs(placed)
        for broker, identity in BROKERS.items():
            self._side_files(broker, identity)

    @staticmethod
    def _create_topic(metadata: LogBuilder, case: Case) -> None:
        created = case.given.get("created")
        if created == "again":
            metadata.create_topic(case.topic, case.given.get("policy"), number=1, at=-1000)
        metadata.create_topic(case.topic, case.given.get("policy"))
        if "output" in case.given and "controller" in case.given:
            metadata.create_topic(case.output_topic, case.given.get("policy"))
        if "assigned" in case.given:
            brokers = [BROKERS[one] for one in case.given["assigned"]]
            metadata.assign(case.topic, case.partition, brokers)
        if created == "deleted":
            metadata.delete_topic(case.topic)
        for text in case.given.get("controller", []):
            metadata.control(case, text)

    def _told_topic(self, case: Case, broker: str) -> None:
        """What the folders of a topic say of its id."""
        number = {"once": 0, "again": 0, "deleted": 0, "unknown": 2}[case.given["created"]]
        told = metadata_id(case.topic, number)
        for folder in (self.folder / broker).glob(f"{glob.escape(case.topic)}-*"):
            (folder / "partition.metadata").write_text(topic_metadata(told), encoding="utf-8")

    def _case(self, number: int, case: Case) -> None:
        unknown = set(case.given) - OPTIONS
        if unknown:
            raise NotationError(f"{case.name}: unknown options {sorted(unknown)}")
        topic = case.given.get("topic")
        case.topic = topic or f"{case.code}.{case.number}"
        if topic:
            case.partition = self._used.get(topic, 0)
            self._used[topic] = case.partition + 1
        case.pid_base = (number + 1) * 1000
        case.builder = LogBuilder(
            case.pid_base, case.given.get("first_base", 0), self._groups(case)
        )
        self._add_lines(case, case.builder, case.given["log"])
        broker = "fetched" if "told" in case.given else case.given.get("broker", "clean")
        for partition in case.partitions:
            self._partition(broker, case.topic, partition, case.builder, case.given)
        if "output" in case.given:
            output = LogBuilder(case.pid_base)
            self._add_lines(case, output, case.given["output"])
            self._partition(broker, case.output_topic, 0, output, {})
        if "beside" in case.given:
            beside = LogBuilder(case.pid_base, case.given.get("beside_base", 0))
            self._add_lines(case, beside, case.given["beside"])
            self._partition(broker, case.topic, case.partition + 1, beside, {})
        if "created" in case.given:
            self._told_topic(case, broker)
        replicas = case.given.get("replica", [])
        for given in [replicas] if isinstance(replicas, dict) else replicas:
            self._replica(case, broker, given)

    def _groups(self, case: Case) -> GroupNames:
        return GroupNames(f"{case.code}.{case.number}.", case.partition, self._of_groups)

    def _replica(self, case: Case, broker: str, given: dict[str, Any]) -> None:
        """The copy of a partition on another broker; both tell a topic id."""
        log = LogBuilder(case.pid_base, given.get("first_base", 0), self._groups(case))
        self._add_lines(case, log, given["log"])
        self._partition(given["broker"], case.topic, case.partition, log, given)
        ids = {broker: "same", given["broker"]: given.get("topic_id", "same")}
        told = TOPIC_IDS | ({"same": metadata_id(case.topic)} if "policy" in case.given else {})
        for one, topic_id in ids.items():
            if topic_id != "none":
                folder = self.folder / one / f"{case.topic}-{case.partition}"
                content = topic_metadata(told[topic_id])
                (folder / "partition.metadata").write_text(content, encoding="utf-8")

    @staticmethod
    def _add_lines(case: Case, builder: LogBuilder, lines: list[str]) -> None:
        for text in lines:
            try:
                builder.add(text)
            except (ValueError, struct.error) as error:
                raise NotationError(f"{case.name}: {text!r}: {error}") from error

    def _partition(
        self, broker: str, topic: str, partition: int, log: LogBuilder, given: dict[str, Any]
    ) -> None:
        folder = self.folder / broker / f"{topic}-{partition}"
        folder.mkdir(parents=True)
        for base, content in log.segments.items():
            (folder / f"{base:020}.log").write_bytes(content)
        for base, content in log.index_files(given.get("txnindex", "auto")).items():
            (folder / f"{base:020}.txnindex").write_bytes(content)
        for name in ("index", "timeindex"):
            files = log.sparse_index_files(given.get(name, ()), times=name == "timeindex")
            if name == "index":
                # A broker has one for each segment, empty where the segment is small.
                wanted = given.get("indexed", log.segments)
                files = dict.fromkeys(wanted, b"") | files
            for base, content in files.items():
                (folder / f"{base:020}.{name}").write_bytes(content)
        if "epochs" in given or broker == "unstarted":
            content = leader_epoch_file(given.get("epochs", ()))
            (folder / "leader-epoch-checkpoint").write_text(content, encoding="utf-8")
        snapshots = snapshot_files(
            given.get("snapshots", ()), log.segments, log.pid, lambda at: T0 + round(at * 1000)
        )
        for offset, content in snapshots.items():
            (folder / f"{offset:020}.snapshot").write_bytes(content)
        if broker == "fetched":
            self._fetched(folder, topic, partition, log, given)
        if "copied_at" in given:
            moment = T0 + int(given["copied_at"]) * 1000
            copied = {"path": folder.name, "copy_start_ms": moment}
            if "copied_until" in given:
                copied["copy_end_ms"] = T0 + int(given["copied_until"]) * 1000
            self._copies[broker].append(copied)
        hw = given.get("hw", log.end)
        # A copy with less than a broker's files may lack lines of its checkpoints, too.
        listed = log.end if broker in CLEANLY_STOPPED and "epochs" in given else None
        for file, value in (
            ("replication-offset-checkpoint", None if hw == "none" else hw),
            ("log-start-offset-checkpoint", given.get("log_start")),
            ("recovery-point-offset-checkpoint", given.get("recovery_point", listed)),
            ("cleaner-offset-checkpoint", given.get("cleaner")),
        ):
            if value is not None:
                self._checkpoints[broker][file].append(f"{topic} {partition} {value}")

    def _fetched(
        self, folder: Path, topic: str, partition: int, log: LogBuilder, given: dict[str, Any]
    ) -> None:
        """What the manifest has of a copy over the protocol, and what its leader said."""
        mark, told = given.get("hw", log.end), list(given.get("told", ()))
        later, begins = FETCHED_LATER in told, given.get("first_base", 0)
        fetched_from = given.get("fetched_from", begins)
        if MADE_AGAIN in told:
            event = {"path": folder.name, "kind": "made_again", "at_ms": AS_OF}
            self._events.append(event)
        self._copies["fetched"].append(
            {
                "path": folder.name,
                "copy_start_ms": AS_OF,
                "copy_end_ms": AS_OF + 10 * later,
                "high_watermark": mark,
                "log_start": given.get("log_start", begins),
                "end_offset": log.end,
                "topic_id": TOPIC_IDS["same"],
                "fetched_from": None if fetched_from == "none" else fetched_from,
            }
        )
        of_the_fetch = (FETCHED_LATER, MADE_AGAIN)
        lines = [Line(one) for one in told if one not in of_the_fetch and not of_coordinator(one)]
        self._told += answers_of(topic, partition, lines, mark, log.pid, AS_OF)

    def _coordinator_logs(self, cases: Sequence[Case]) -> None:
        """The coordinator log of all cases, and the further copies that some have."""
        with_own = [case for case in cases if _has_own_log(case)]
        alone = {case.pid_base: COORDINATOR_PARTITIONS + i for i, case in enumerate(with_own)}
        states = CoordinatorLog(alone)
        for case in cases:
            for text in case.given.get("coordinator", ()):
                with told_of(case, f"coordinator: {text!r}"):
                    states.add(case, text)
            lines = [Line(text) for text in case.given.get("told", ()) if of_coordinator(text)]
            self._told += transactions_of(lines, partial(states.identity, case), case.builder.pid)
        told = {
            alone[case.pid_base]: case.given["alone"]
            for case in with_own
            if isinstance(case.given.get("alone"), dict)
        }
        for number, batches in enumerate(states.logs()):
            mine = told.get(number, {})
            self._coordinator_partition("clean", number, batches, mine.get("hw", batches.end))
            if "cleaner" in mine:
                self._checkpoints["clean"]["cleaner-offset-checkpoint"].append(
                    f"{COORDINATOR_TOPIC} {number} {mine['cleaner']}"
                )
        if any(case.given.get("in_part") for case in cases):
            self._checkpoints["clean"]["replication-offset-checkpoint"].append(
                f"{COORDINATOR_TOPIC} {states.partitions} 0"
            )
        for case in with_own:
            if case.given.get("before"):
                self._copy_before(alone[case.pid_base])
            copy = case.given.get("copy")
            if copy is None:
                continue
            copied = CoordinatorLog(alone)
            for text in copy["records"]:
                with told_of(case, f"copy: {text!r}"):
                    copied.add(case, text)
            number = alone[case.pid_base]
            batches = copied.logs()[number]
            self._coordinator_partition(
                copy["broker"], number, batches, copy.get("hw", batches.end)
            )

    def _coordinator_partition(
        self, broker: str, number: int, batches: CoordinatorBatches, high_watermark: int
    ) -> None:
        folder = self.folder / broker / f"{COORDINATOR_TOPIC}-{number}"
        folder.mkdir(parents=True)
        for base, segment in batches.segments.items():
            (folder / f"{base:020}.log").write_bytes(b"".join(segment))
        # The active segment is empty: the cleaner may have passed all that lies before.
        (folder / f"{batches.end:020}.log").touch()
        self._checkpoints[broker]["replication-offset-checkpoint"].append(
            f"{COORDINATOR_TOPIC} {number} {high_watermark}"
        )

    def _copy_before(self, number: int) -> None:
        """The copy of a partition of the coordinator log that was taken first."""
        name, segment = f"{COORDINATOR_TOPIC}-{number}", f"{0:020}.log"
        folder = self.folder / "clean" / "before" / name
        folder.mkdir(parents=True)
        (folder / segment).write_bytes((self.folder / "clean" / name / segment).read_bytes())

    def _side_files(self, broker: str, identity: int) -> None:
        folder = self.folder / broker
        if broker == "bare" or not folder.exists():
            return
        fetched = broker == "fetched"
        (folder / "meta.properties").write_text(
            f"version=1\n{'' if fetched else f'node.id={identity}'}\n"
            f"cluster.id={'elsewhere' if broker == 'foreign' else 'cases'}\n",
            encoding="utf-8",
        )
        manifest = {"format": 1, "fetched": fetched, "directories": self._copies[broker]}
        manifest |= {"events": self._events if fetched else []}
        (folder / "dump-manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        if fetched:
            told = {"format": 1, "cluster_id": "cases", "partitions": {}, "answers": self._told}
            (folder / "broker-answers.json").write_text(json.dumps(told), encoding="utf-8")
            return
        for name, entries in self._checkpoints[broker].items():
            if broker == "startless" and name == "log-start-offset-checkpoint":
                continue
            lines = ["0", str(len(entries)), *entries]
            (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        if broker in MARKED:
            (folder / ".kafka_cleanshutdown").write_text("", encoding="utf-8")
