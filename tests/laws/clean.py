"""The law of compaction: a log as the cleaner leaves it, at random by the model of `tests/cleaner`.

`cleaner.log_cleaner` is the cleaner itself, for this law and for `cleaner.run`. There the clusters
of the model are cleaned while they are written. Here it is the dumps of real brokers, internal
topics and all, after their last append, as releases before 3.1 do, too. What passes could have left
by then is drawn: some producers are forgotten, and `min.compaction.lag.ms` ends each pass but the
last early. From 3.1 on the first pass writes the horizon into the batch and a later one drops it;
before, the age of the segment decides. Any topic may be compacted; an operator decides.
"""

from collections.abc import Iterator
from random import Random

from cleaner.copies import last_records, read_log, states_of, write_log
from cleaner.log_cleaner import ANY_SIZE, DELETE_RETENTION_MS, Pass
from cleaner.log_cleaner import clean as clean_log

from laws import head, logs
from laws.dump_files import METADATA, Directory, Dump, Partition
from laws.log_batches import batches, sound


def _uniform(one: Partition) -> Iterator[bool]:
    """Whether each segment can be walked to its end, all of magic 2 and free of damage."""
    for base in one.bases():
        content = one.segment(base)
        yield all(batch.magic == 2 for batch in batches(content))
        yield sound(content)


def clean(
    dump: Dump,
    directory: Directory,
    one: Partition,
    rng: Random,
    release: tuple[int, ...],
    moment: int,
) -> bool:
    """Cleans a copy once or several times, up to where a cleaner may; `moment`: of the last, ms."""
    if one.topic == METADATA or not all(list(_uniform(one))):
        return False
    head.roll(directory, one, rng)
    log = read_log(directory, one)
    watermark, unstable = logs.high_watermark(directory, one), logs.unstable_from(one, log.start)
    stable = watermark if unstable is None else min(watermark, unstable)
    ends = [base for base in one.bases() if log.first_dirty() < base <= stable]
    if not ends:
        return False
    known = last_records(states_of(logs.all_batches(one)))
    forgotten = rng.choice((0.0, 0.0, 0.5, 1.0))
    known = {pid: last for pid, last in known.items() if rng.random() >= forgotten}
    early = rng.sample(ends[:-1], min(rng.choice((0, 0, 1, 2)), len(ends) - 1))
    passes = [*sorted(early), ends[-1]]
    sizes = [segment.size for segment in log.segments]
    for number, end in enumerate(passes):
        now = moment - (len(passes) - number) * 2 * DELETE_RETENTION_MS
        size = rng.choice((0, *sizes, 2 * max(sizes), ANY_SIZE))
        old = rng.choice([base for base in one.bases() if base <= log.first_dirty()])
        clean_log(log, Pass(release, now, end, known, segment_bytes=size, old_below=old))
    write_log(directory, one, log)
    return True
