"""Laws about the head of a log: a roll, retention, DeleteRecords.

- `roll`: a broker may roll a segment before any batch (`segment.ms`, `segment.bytes`). Entries of
  the `.txnindex` lie where their ABORT marker lies. The snapshot of a roll is not needed: brokers
  before 2.8 keep the newest two, and a copy may lack it.
- `retention` (`UnifiedLog.deleteOldSegments`): whole segments below the high watermark go with
  their side files; the log start is the base of the first that is left, and no checkpoint tells
  it. The newest may go too: an empty one takes its place. `LeaderEpochFileCache` is cut from the
  start. Only client topics: the internal ones are compacted.
- `delete_records` (`ReplicaManager.deleteRecords`): the log start moves to any offset up to the
  high watermark; the checkpoint tells it where it lies above the first segment's base. Segments
  below go at the next check of retention, so some or none are gone.
"""

from random import Random

from laws import logs
from laws.dump_files import CLEANER, INTERNAL, LOG_START, Directory, Dump, Partition
from laws.log_batches import batches


def roll(directory: Directory, one: Partition, rng: Random, rolls: int = 3) -> bool:
    """Rolls up to so many times at random batch boundaries."""
    rolled = False
    for _ in range(rolls):
        base = rng.choice(one.bases())
        inside = list(batches(one.segment(base)))
        size = sum(len(batch.content) for batch in inside)
        if len(inside) < 2 or size != len(one.segment(base)):
            continue
        at = rng.randrange(1, len(inside))
        # A wrapper of magic 0 or 1 tells the offset of its last message only.
        new = inside[at].base_offset if inside[at].magic == 2 else inside[at - 1].last_offset + 1
        if new <= base or new in one.bases():
            continue
        entries = logs.aborted(one, base)
        one.drop(base, (".log", ".index", ".timeindex", ".txnindex"))
        one.files[f"{base:020}.log"] = b"".join(batch.content for batch in inside[:at])
        one.files[f"{new:020}.log"] = b"".join(batch.content for batch in inside[at:])
        logs.set_aborted(one, base, [entry for entry in entries if entry.last_offset < new])
        logs.set_aborted(one, new, [entry for entry in entries if entry.last_offset >= new])
        rolled = True
    return rolled


def _start_at(directory: Directory, one: Partition, start: int, rng: Random) -> None:
    """What follows from a new log start: checkpoints and leader epochs."""
    directory.put(LOG_START, one.place, start if start > one.bases()[0] else None)
    epochs = one.leader_epochs()
    if epochs:
        below = [epoch for epoch in epochs if epoch[1] <= start]
        kept = [epoch for epoch in epochs if epoch[1] > start]
        if below:
            kept.insert(0, (below[-1][0], max(below[-1][1], start)))
        one.set_leader_epochs(kept)
    cleaned = directory.checkpoint(CLEANER).get(one.place)
    if cleaned is not None and cleaned < start and rng.random() < 0.5:
        directory.put(CLEANER, one.place, start)


def _delete_below(one: Partition, first: int) -> None:
    """Deletes the segments and snapshots below a segment."""
    for base in one.bases():
        if base < first:
            one.drop(base)
    for offset in one.snapshots():
        if offset < first:
            one.drop(offset, (".snapshot",))


def _start_empty(one: Partition, end: int) -> None:
    """A new, empty segment; the one before it loses what follows its last batch, as in a roll.

    `LogSegment.onBecomeInactiveSegment` trims what was preallocated, and a broker that was killed
    cut off a torn batch when it came back.
    """
    newest = one.bases()[-1]
    whole = b"".join(batch.content for batch in batches(one.segment(newest)))
    one.files[f"{newest:020}.log"] = whole
    one.files[f"{end:020}.log"] = b""


def retention(dump: Dump, directory: Directory, one: Partition, rng: Random) -> bool:
    """Deletes some of the oldest segments, after rolls that give it a choice."""
    if one.topic in INTERNAL:
        return False
    roll(directory, one, rng)
    watermark, end = logs.high_watermark(directory, one), logs.log_end(one)
    if watermark == end and end > one.bases()[-1] and rng.random() < 0.1:
        _start_empty(one, end)
    choices = [
        base for base in one.bases()[1:] if logs.log_start(directory, one) < base <= watermark
    ]
    if not choices:
        return False
    first = rng.choice(choices)
    _delete_below(one, first)
    _start_at(directory, one, first, rng)
    return True


def delete_records(dump: Dump, directory: Directory, one: Partition, rng: Random) -> bool:
    """Moves the log start to any offset up to the high watermark."""
    if one.topic in INTERNAL:
        return False
    if rng.random() < 0.5:
        roll(directory, one, rng)
    start, watermark = logs.log_start(directory, one), logs.high_watermark(directory, one)
    if watermark <= start:
        return False
    new = rng.randint(start + 1, watermark)
    gone = [base for base in one.bases() if base <= new]
    if len(gone) > 1 and rng.random() < 0.5:
        _delete_below(one, rng.choice(gone[1:]))
    _start_at(directory, one, new, rng)
    return True


def rolled(dump: Dump, directory: Directory, one: Partition, rng: Random) -> bool:
    """Rolls only."""
    return roll(directory, one, rng)
