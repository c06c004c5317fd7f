"""Laws about what a dump lacks: files, partitions, copies. A copy may be as partial as it likes.

- `side_files`: all side files of a random segment, or one of them; the leader epochs, the topic
  id. None holds a record; an audit that needs one cannot decide. A `.txnindex` goes only with the
  rest: brokers make `.index` and `.timeindex` with the segment, so a copy that has one of these and
  no `.txnindex` tells that the broker had none, and is no legal history where data were aborted.
- `checkpoints`: some of the files at the root of a log directory, but `meta.properties`.
- `crash`: no clean-shutdown file: the broker was copied while it ran, or was killed. Behind the
  newest batch zeros may lie (`log.preallocate`).
- `partition`, `coordinator`, `no_coordinator`: folders are missing.
"""

from random import Random

from laws.dump_files import (
    CHECKPOINTS,
    CLEAN_SHUTDOWN,
    LEADER_EPOCHS,
    METADATA,
    OF_SEGMENT,
    TOPIC_ID,
    TXN_LOG,
    Directory,
    Dump,
    Partition,
)

# A `.txnindex` that is missing beside an `.index` is one that the broker lacks.
LONELY = (".index", ".timeindex", ".snapshot")


def side_files(dump: Dump, directory: Directory, one: Partition, rng: Random) -> bool:
    """Side files are missing."""
    before = len(one.files)
    for base in sorted({int(name[:20]) for name in one.files if name.endswith(OF_SEGMENT)}):
        if rng.random() < 0.5:
            one.drop(base, OF_SEGMENT[1:] if rng.random() < 0.5 else (rng.choice(LONELY),))
    for name in (LEADER_EPOCHS, TOPIC_ID):
        if rng.random() < 0.3:
            one.files.pop(name, None)
    return len(one.files) < before


def crash(dump: Dump, directory: Directory, one: Partition, rng: Random) -> bool:
    """The broker was not stopped."""
    dump.not_stopped(directory)
    if rng.random() < 0.5:
        one.files[f"{one.bases()[-1]:020}.log"] += bytes(rng.randint(1, 300))
    return True


def checkpoints(dump: Dump, rng: Random) -> int:
    """Files at the roots are missing; every partition there is looked at with less."""
    count = 0
    for directory in dump.directories:
        names = [name for name in (*CHECKPOINTS, CLEAN_SHUTDOWN) if name in directory.files]
        for name in names:
            if rng.random() < 0.6:
                del directory.files[name]
                count = max(count, 1)
    return count * sum(len(directory.partitions) for directory in dump.directories)


def partitions(dump: Dump, rng: Random) -> int:
    """A third of all copies of client partitions is missing, the others lack their company."""
    for directory in dump.directories:
        directory.partitions = [
            one
            for one in directory.partitions
            if one.topic in (TXN_LOG, METADATA) or rng.random() < 0.67
        ]
    return sum(len(directory.partitions) for directory in dump.directories)


def coordinator(dump: Dump, rng: Random) -> int:
    """Partitions of the coordinator's log are missing, in all copies or in some, or all of it."""
    share = rng.choice((0.2, 0.5, 1.0))
    for directory in dump.directories:
        directory.partitions = [
            one for one in directory.partitions if one.topic != TXN_LOG or rng.random() >= share
        ]
    return sum(len(directory.partitions) for directory in dump.directories)
