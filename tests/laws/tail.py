"""Laws about the tail of a log: a copy that was made earlier, and a follower that stopped.

- `earlier`: a live broker's partitions are copied one after another, so any may be copied at any
  earlier moment: its log ends at a batch, or inside one that was just being appended. Files that
  did not exist then (later segments, snapshots, entries) are not there, the high watermark and
  the recovery point are at most the log end, and nobody says that the broker was stopped. A log
  that was cleaned is never cut below what the cleaner looked at: what it dropped, dropped it for
  records behind the cut.
- `follower`: a broker left the ISR, was stopped cleanly at an earlier offset, and its disk is in
  the dump beside the leader's: a legal copy that ends earlier, whatever the clock says.
"""

from random import Random

from laws import logs
from laws.dump_files import (
    CLEAN_SHUTDOWN,
    CLEANER,
    HIGH_WATERMARK,
    LOG_START,
    META,
    METADATA,
    RECOVERY_POINT,
    Directory,
    Dump,
    Partition,
)
from laws.log_batches import batches

FOLLOWER = 900


def cut(one: Partition, end: int, torn: int = 0) -> None:
    """Leaves what the folder held when the log ended at `end`; `torn` bytes of the next batch.

    Where the cleaner has taken the last batches below `end`, an empty newest segment begins there.
    """
    for base in one.bases():
        inside = list(batches(one.segment(base)))
        if base >= end and base > one.bases()[0]:
            one.drop(base)
            continue
        left = [batch.content for batch in inside if batch.last_offset < end]
        behind = [batch.content for batch in inside if batch.last_offset >= end]
        if behind:
            one.drop(base, (".index", ".timeindex"))
            part = behind[0][: min(torn, len(behind[0]) - 1)]
            one.files[f"{base:020}.log"] = b"".join(left) + part
        entries = logs.aborted(one, base)
        if any(entry.last_offset >= end for entry in entries):
            logs.set_aborted(one, base, [entry for entry in entries if entry.last_offset < end])
    if logs.log_end(one) < end:
        one.files[f"{end:020}.log"] = b""
    for offset in one.snapshots():
        if offset > end:
            one.drop(offset, (".snapshot",))
    epochs = one.leader_epochs()
    if epochs is not None:
        one.set_leader_epochs([epoch for epoch in epochs if epoch[1] <= end])


def _choose_end(dump: Dump, directory: Directory, one: Partition, rng: Random) -> int | None:
    lowest = max(logs.cleaned_below(dump, one), logs.log_start(directory, one))
    ends = [batch.base_offset for batch in logs.all_batches(one) if batch.base_offset >= lowest]
    return rng.choice(ends) if ends else None


def _lower(directory: Directory, place: tuple[str, int], end: int, rng: Random) -> None:
    for name in (HIGH_WATERMARK, RECOVERY_POINT):
        told = directory.checkpoint(name).get(place)
        if told is not None and told > end:
            directory.put(name, place, end)


def earlier(dump: Dump, directory: Directory, one: Partition, rng: Random) -> bool:
    """The partition was copied at an earlier moment."""
    end = _choose_end(dump, directory, one, rng)
    if end is None or one.topic == METADATA:
        return False
    cut(one, end, torn=rng.choice((0, 0, rng.randint(1, 90))))
    _lower(directory, one.place, end, rng)
    dump.not_stopped(directory)
    return True


def follower(dump: Dump, directory: Directory, one: Partition, rng: Random) -> bool:
    """A further broker holds the log up to an earlier offset."""
    end = _choose_end(dump, directory, one, rng)
    if end is None or one.topic == METADATA or directory.name.startswith("follower"):
        return False
    copy = one.copy()
    cut(copy, end)
    # Its own cleaner goes no further than what is stable in its own log.
    unstable = logs.unstable_from(copy, logs.log_start(directory, one))
    if unstable is not None and unstable < directory.checkpoint(CLEANER).get(one.place, 0):
        return False
    name = f"follower-{directory.name}"
    stopped = next((other for other in dump.directories if other.name == name), None)
    if stopped is None:
        stopped = Directory(name, {META: _meta(directory)})
        stopped.files[CLEAN_SHUTDOWN] = b""
        dump.directories.append(stopped)
    stopped.partitions.append(copy)
    start = logs.log_start(directory, one)
    watermark = min(end, logs.high_watermark(directory, one))
    stopped.put(HIGH_WATERMARK, one.place, rng.choice((watermark, rng.randint(start, watermark))))
    stopped.put(RECOVERY_POINT, one.place, end)
    stopped.put(LOG_START, one.place, start if start > one.bases()[0] else None)
    if one.place in directory.checkpoint(CLEANER):
        stopped.put(CLEANER, one.place, directory.checkpoint(CLEANER)[one.place])
    return True


def _meta(directory: Directory) -> bytes:
    """`meta.properties` of a broker with another number."""
    lines = []
    for line in directory.files[META].decode().splitlines():
        name, _, value = line.partition("=")
        if name in ("node.id", "broker.id"):
            lines.append(f"{name}={FOLLOWER + int(value)}")
        elif name != "directory.id":
            lines.append(line)
    return "\n".join(lines).encode()
