"""What happens to one copy of a partition: passes of the cleaner, and what lies between them.

Each copy is cleaned by its own broker, which has other segments, moments and groups than the next
one. A copy may also be a follower's that fetched what the cleaner of its leader had left.
"""

from collections import Counter
from collections.abc import Iterable
from random import Random

from laws import logs
from laws.dump_files import CLEANER, LOG_START, Directory, Partition
from laws.log_batches import Batch, batches
from mutants.scene import NEW, follow

from cleaner.log_cleaner import LastRecords, Log, Pass, Segment, clean
from tests.wire_writer import producer_snapshot as snapshot_writer
from udfs.wire.side_files.producer_snapshot import ProducerSnapshotEntry

States = dict[int, ProducerSnapshotEntry]


def read_log(directory: Directory, one: Partition) -> Log:
    """The segments of a folder, all of magic 2, and what the checkpoints tell of it."""
    segments = [
        Segment(base, list(batches(one.segment(base))), logs.aborted(one, base))
        for base in one.bases()
    ]
    checkpoint = directory.checkpoint(CLEANER).get(one.place)
    return Log(segments, logs.log_start(directory, one), checkpoint)


def write_log(directory: Directory, one: Partition, log: Log) -> None:
    """Replaces the files of a folder; offset and time indexes and what was merged are gone."""
    left = {segment.base for segment in log.segments}
    for base in one.bases():
        one.drop(base, (".log", ".index", ".timeindex", ".txnindex"))
        if base not in left:
            # `UnifiedLog.deleteProducerSnapshots`.
            one.drop(base, (".snapshot",))
    for segment in log.segments:
        one.files[f"{segment.base:020}.log"] = b"".join(one.content for one in segment.batches)
        logs.set_aborted(one, segment.base, segment.aborted)
    directory.put(CLEANER, one.place, log.checkpoint)
    directory.put(LOG_START, one.place, log.start if log.start > log.segments[0].base else None)


def states_of(appended: Iterable[Batch]) -> States:
    """The producers of a broker that appended these batches (`ProducerStateManager`)."""
    states: States = {}
    for batch in appended:
        if batch.control and not batch.count and batch.producer_id >= 0:
            # `ProducerAppendInfo.append` takes nothing of it, but the producer is known.
            new = NEW._replace(producer_id=batch.producer_id)
            states.setdefault(batch.producer_id, new)
        else:
            follow(states, batch)
    return states


def last_records(states: States) -> LastRecords:
    """`UnifiedLog.lastRecordsOfActiveProducers`."""
    return {
        producer_id: (state.last_offset if state.last_offset >= 0 else None, state.producer_epoch)
        for producer_id, state in states.items()
    }


class Copy:
    """One copy; `took`: what its passes took, as `log_cleaner.clean` counts it.

    `expires_ms`: producers that wrote nothing for so long are forgotten, None: none are
    (`producer.id.expiration.ms`).
    """

    def __init__(self, directory: Directory, one: Partition) -> None:
        self.directory, self.one = directory, one
        self.log = read_log(directory, one)
        self.appended = logs.all_batches(one)
        self.end = logs.log_end(one)
        self.expires_ms: int | None = None
        self.took: Counter[str] = Counter()

    def bounds(self) -> list[int]:
        """Offsets at which the log may have ended once."""
        return [batch.last_offset + 1 for batch in self.appended]

    def appended_at(self, end: int) -> int:
        """When the log ended there, ms: no append before it has a later timestamp."""
        return max(batch.max_timestamp for batch in self.appended if batch.last_offset < end)

    def known(self, end: int, now: int) -> States:
        """Producers when the log ended there (`ProducerStateManager.removeExpiredProducers`)."""
        states = states_of(batch for batch in self.appended if batch.base_offset < end)
        return {
            producer_id: state
            for producer_id, state in states.items()
            if self.expires_ms is None
            or state.current_txn_first_offset >= 0
            or now - state.timestamp < self.expires_ms
        }

    def clean(self, end: int, asked: Pass, rng: Random) -> None:
        """One pass at a time when the log ended at `end`, all of it replicated.

        `asked` lacks what follows from that moment: the last records of producers, and where the
        pass must end. A broker may have rolled a segment just there.
        """
        states = self.known(end, asked.now)
        opened = [
            max(state.current_txn_first_offset, self.log.start)
            for state in states.values()
            if state.current_txn_first_offset >= 0
        ]
        active = self.log.floor(end)
        if self.log.segments[active].base == end and active and rng.random() < 0.5:
            active -= 1
        last = last_records(states)
        uncleanable = min(self.log.segments[active].base, end, *opened)
        self.took += clean(self.log, asked._replace(uncleanable=uncleanable, last=last))

    def delete_records(self, to: int) -> None:
        """`UnifiedLog.maybeIncrementLogStartOffset`; segments below it go later."""
        self.took["moved starts"] += to > self.log.start
        self.log.start = max(self.log.start, to)

    def delete_below_start(self) -> None:
        """`UnifiedLog.deleteLogStartOffsetBreachedSegments`."""
        while len(self.log.segments) > 1 and self.log.segments[1].base <= self.log.start:
            del self.log.segments[0]
            self.took["deleted segments"] += 1

    def retention(self, end: int, rng: Random) -> None:
        """`UnifiedLog.deleteOldSegments`: the oldest segments go, below the high watermark."""
        bases = [segment.base for segment in self.log.segments]
        later = [base for base in bases[1:] if self.log.start < base <= end]
        if later:
            self.delete_records(rng.choice(later))
            self.delete_below_start()

    def restart(self) -> None:
        """The broker came back without snapshots and read what the cleaner had left.

        It wrote one at its next clean stop (`UnifiedLog.rebuildProducerState`).
        """
        left = [
            batch
            for segment in self.log.segments
            for batch in segment.batches
            if batch.last_offset >= self.log.start
        ]
        self.stop(states_of(left))

    def stop(self, states: States) -> None:
        """Only the snapshot of a clean stop is left (`ProducerStateManager.takeSnapshot`)."""
        for offset in self.one.snapshots():
            self.one.drop(offset, (".snapshot",))
        self.one.files[f"{self.end:020}.snapshot"] = snapshot_writer.encode(states.values())

    def fetch_from(self, leader: "Copy", rng: Random) -> bool:
        """The copy is a new replica's, which fetched from its leader; whether it could.

        It begins at the leader's log start (`ReplicaFetcherThread.truncateFullyAndStartAt`), and
        rolls where it likes. Its own cleaner has not been there.
        """
        start = leader.log.start
        fetched = [
            batch
            for segment in leader.log.segments
            for batch in segment.batches
            if batch.last_offset >= start
        ]
        if not fetched or fetched[0].base_offset < start:
            return False
        segments, states = [Segment(start)], States()
        for batch in fetched:
            if segments[-1].batches and rng.random() < 0.08:
                segments.append(Segment(batch.base_offset))
            segments[-1].batches.append(batch)
            segments[-1].aborted += follow(states, batch)
        self.log = Log(segments, start)
        self.took = Counter({"fetched copies": 1})
        self.restart()
        return True

    def store(self) -> None:
        """Writes all files of the copy."""
        write_log(self.directory, self.one, self.log)
        for offset in self.one.snapshots():
            if offset < self.log.segments[0].base:
                self.one.drop(offset, (".snapshot",))
        start, epochs = self.log.start, self.one.leader_epochs()
        if epochs and start:
            # `LeaderEpochFileCache.truncateFromStart`.
            below = [one for one in epochs if one[1] <= start]
            kept = [one for one in epochs if one[1] > start]
            if below:
                kept.insert(0, (below[-1][0], max(below[-1][1], start)))
            self.one.set_leader_epochs(kept)
