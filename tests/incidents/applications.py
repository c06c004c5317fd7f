"""A dump of applications that read, process and write in transactions.

It has several stories, hours apart, of topics and applications that share nothing but the cluster.
All topics have one partition. They lie on brokers that were stopped cleanly.
"""

import base64
import hashlib
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

from schemas.coordinator_states import EMPTY, ONGOING, PREPARE_ABORT, PREPARE_COMMIT
from tests.wire_writer import batches as writer
from tests.wire_writer import offsets_log as group_writer
from tests.wire_writer import txn_log as txn_writer
from udfs.wire.coordinator import txn_log
from udfs.wire.offsets import offsets_log

T0 = 1_700_000_000_000
COORDINATOR, OFFSETS = "__transaction_state", "__consumer_offsets"
COMMIT_VERSION = 3
AN_HOUR_MS = 3_600_000
# Of the next story: consequences of the one before are over.
BETWEEN_MS = 12 * AN_HOUR_MS
AS_OF = T0 + 6 * BETWEEN_MS
# Story of an unclean election -> transaction.version.
UNCLEAN = {"unclean1.": 1, "unclean2.": 2}


@dataclass
class Log:
    """The batches of one partition, its log end offset, and the epoch of its leader."""

    parts: list[bytes] = field(default_factory=list)
    end: int = 0
    leader_epoch: int = 0


@dataclass
class Application:
    """A transactional id; `group`: that of its consumer; `sequences`: the next one by topic."""

    name: str
    producer_id: int
    epoch: int = 0
    sequences: dict[str, int] = field(default_factory=dict)

    @property
    def group(self) -> str:
        return self.name


class Applications:
    """Writes transactions as brokers and their coordinator do, under a transaction.version."""

    def __init__(self) -> None:
        self.logs: dict[str, Log] = {COORDINATOR: Log()}
        self.now = T0
        self._ids = 4_000
        self.begin("", 2)

    def begin(self, story: str, version: int = 2) -> None:
        """From now on names of topics and applications have the story's in front."""
        self.story, self.version = story, version

    def named(self, topic: str) -> str:
        """The whole name of a topic of this story, or of all."""
        return topic if topic in (COORDINATOR, OFFSETS) else f"{self.story}{topic}"

    def log(self, topic: str) -> Log:
        """The log of a topic, which may be new."""
        return self.logs.setdefault(self.named(topic), Log())

    def application(self, name: str) -> Application:
        """A new transactional id."""
        self._ids += 1
        made = Application(f"{self.story}{name}", self._ids)
        self._state(made, EMPTY, [], 0)
        return made

    def _append(self, topic: str, batch: bytes, offsets: int) -> None:
        log = self.log(topic)
        log.parts.append(batch)
        log.end += offsets
        self.now += 1_000

    def _data(self, one: Application, topic: str, records: list[bytes]) -> None:
        log = self.log(topic)
        batch = writer.batch(
            log.end, records, base_timestamp=self.now, transactional=True,
            producer_id=one.producer_id, producer_epoch=one.epoch,
            base_sequence=one.sequences.get(topic, 0), partition_leader_epoch=log.leader_epoch,
        )  # fmt: skip
        one.sequences[topic] = one.sequences.get(topic, 0) + len(records)
        self._append(topic, batch, len(records))

    def plain(self, topic: str, number: int) -> None:
        """Records outside of transactions, of a producer without an id."""
        log = self.log(topic)
        records = [writer.record(n) for n in range(number)]
        batch = writer.batch(
            log.end, records, base_timestamp=self.now, partition_leader_epoch=log.leader_epoch
        )
        self._append(topic, batch, number)

    def _state(self, one: Application, status: int, listed: list[str], began: int) -> None:
        value = txn_log.TxnLogValue(
            1, one.producer_id, one.epoch, 60_000, status,
            tuple((self.named(topic), (0,)) for topic in listed) or None,
            self.now, began or -1, client_transaction_version=self.version,
        )  # fmt: skip
        key = txn_writer.encode_key(one.name)
        log = self.logs[COORDINATOR]
        record = writer.record(0, 0, key, txn_writer.encode_value(value))
        self._append(COORDINATOR, writer.batch(log.end, [record], base_timestamp=self.now), 1)

    def transaction(
        self,
        one: Application,
        writes: dict[str, int],
        reads: dict[str, int] | None = None,
        commit: bool = True,
        unmarked: tuple[str, ...] = (),
        opposite: tuple[str, ...] = (),
    ) -> None:
        """`writes`: topic -> records; `reads`: topic -> committed offset.

        Of the topics in `unmarked` the coordinator completes it without a marker; in those of
        `opposite` the marker says the opposite.
        """
        began = self.now
        listed = [*writes, *([OFFSETS] if reads else [])]
        self._state(one, ONGOING, listed, began)
        for topic, number in writes.items():
            self._data(one, topic, [writer.record(n) for n in range(number)])
        if reads:
            commits = [
                _commit(n, one.group, self.named(topic), offset)
                for n, (topic, offset) in enumerate(reads.items())
            ]
            self._data(one, OFFSETS, commits)
        if self.version == 2:
            one.epoch, one.sequences = one.epoch + 1, {}
        self._state(one, PREPARE_COMMIT if commit else PREPARE_ABORT, listed, began)
        for topic in listed:
            if topic not in unmarked:
                log = self.log(topic)
                marker = writer.marker(
                    log.end, one.producer_id, one.epoch, commit ^ (topic in opposite), 0, self.now,
                    partition_leader_epoch=log.leader_epoch,
                )  # fmt: skip
                self._append(topic, marker, 1)
        self._state(one, (PREPARE_COMMIT if commit else PREPARE_ABORT) + 2, [], began)

    def write(self, folder: Path, node: int, stories: tuple[str, ...]) -> None:
        """Writes the log directory of a broker that has the topics of these stories."""
        folder.mkdir(parents=True)
        wanted = (COORDINATOR, OFFSETS, *stories)
        logs = {topic: log for topic, log in self.logs.items() if topic.startswith(wanted)}
        for topic, log in logs.items():
            partition = folder / f"{topic}-0"
            partition.mkdir()
            (partition / f"{0:020d}.log").write_bytes(b"".join(log.parts))
            digest = hashlib.md5(topic.encode(), usedforsecurity=False).digest()
            topic_id = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            (partition / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
        ends = [f"{topic} 0 {log.end}" for topic, log in logs.items()]
        for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
            (folder / name).write_text("\n".join(["0", str(len(ends)), *ends]) + "\n")
        (folder / "meta.properties").write_text(f"version=1\nnode.id={node}\ncluster.id=c\n")
        (folder / "cleaner-offset-checkpoint").write_text("0\n0\n")
        (folder / ".kafka_cleanshutdown").write_text("")


def _commit(number: int, group: str, topic: str, offset: int) -> bytes:
    key = group_writer.encode_key(offsets_log.GroupKey(1, group, topic, 0))
    value = group_writer.encode_offset_commit(
        offsets_log.OffsetCommit(COMMIT_VERSION, offset, "", T0)
    )
    return writer.record(number, 0, key, value)


def chain(made: Applications) -> None:
    """Three applications over four topics; one aborted record is visible at the head of them.

    `notes` has output of the first from before it read that record, `other` no input at all. A
    fourth application writes what it reads of the last topic into the first.
    """
    made.begin("chain.")
    source, third, fourth = (made.application(name) for name in ("source", "sums-3", "again-4"))
    first, second = made.application("first-1"), made.application("next-2")
    made.transaction(source, {"orders": 3})
    made.transaction(first, {"enriched": 1, "notes": 1}, {"orders": 4})
    made.transaction(second, {"joined": 1}, {"enriched": 2})
    made.transaction(third, {"sums": 1}, {"joined": 2})
    made.now += AN_HOUR_MS
    # Aborted, but without a marker: the next COMMIT of the producer makes it visible.
    made.transaction(source, {"orders": 1}, commit=False, unmarked=("orders",))
    made.transaction(source, {"orders": 2, "other": 1})
    made.transaction(first, {"enriched": 2}, {"orders": 5})
    made.transaction(second, {"joined": 2}, {"enriched": 5})
    made.transaction(third, {"sums": 3}, {"joined": 5})
    made.transaction(fourth, {"orders": 1}, {"sums": 6})
    made.transaction(first, {"enriched": 1}, {"orders": 9})


def two_breaks(made: Applications) -> None:
    """One producer, twice without a marker, an hour apart."""
    made.begin("twice.")
    source = made.application("source")
    made.transaction(source, {"orders": 1}, commit=False, unmarked=("orders",))  # 0
    made.transaction(source, {"orders": 2})  # 1, 2, and a marker
    made.now += AN_HOUR_MS
    made.transaction(source, {"orders": 2}, commit=False, unmarked=("orders",))  # 4, 5
    made.transaction(source, {"orders": 1})


def merged_epochs(made: Applications) -> None:
    """transaction.version 1: markers of one epoch are skipped, or say what nobody decided.

    In `orders` the aborted second transaction has no marker, and the third one's COMMIT ended both.
    In `parts` all were committed, and an ABORT stands where the marker of the second belongs.
    """
    made.begin("merged.", 1)
    source, other = made.application("source"), made.application("other")
    for topic in ("orders", "parts"):
        made.transaction(other, {topic: 1})
    made.now += AN_HOUR_MS
    made.transaction(source, {"orders": 2})
    made.transaction(source, {"orders": 3}, commit=False, unmarked=("orders",))
    made.transaction(source, {"orders": 4})
    made.transaction(other, {"parts": 2}, opposite=("parts",))
    made.now += AN_HOUR_MS
    made.transaction(other, {"orders": 1, "parts": 1})


@dataclass(frozen=True)
class Election:
    """`log`: what the leader to come has of `orders`, of which `source` has more to write."""

    log: Log
    source: Application


def before_an_unclean_election(made: Applications, story: str, version: int) -> Election:
    """The old leader of `orders`; the new one will have only its first transaction.

    Two more were committed (3 and 2 records) and one was aborted; nothing is wrong with them on the
    old leader. The producer of the second of them never wrote again. Five records in front of the
    cut and seven behind it were written outside of transactions.
    """
    made.begin(story, version)
    source, once = made.application("source"), made.application("once")
    made.transaction(source, {"orders": 2})
    made.plain("orders", 5)
    log = made.log("orders")
    kept = Log(list(log.parts), log.end, leader_epoch=1)
    made.transaction(source, {"orders": 3})
    made.plain("orders", 7)
    made.transaction(once, {"orders": 2})
    made.transaction(source, {"orders": 1}, commit=False)
    return Election(kept, source)


def write_stories(folder: Path) -> None:
    """All stories on broker 1, and on broker 2 the copies of those that were elected uncleanly."""
    old = Applications()
    for story in (chain, two_breaks, merged_epochs):
        story(old)
        old.now += BETWEEN_MS
    elected = {
        (story, version): before_an_unclean_election(old, story, version)
        for story, version in UNCLEAN.items()
    }
    new = deepcopy(old)
    new.now += 2 * AN_HOUR_MS
    for (story, version), election in elected.items():
        new.begin(story, version)
        new.logs[new.named("orders")] = election.log
        new.transaction(election.source, {"orders": 4})
    old.write(folder / "broker-1", 1, ("",))
    new.write(folder / "broker-2", 2, tuple(UNCLEAN))
