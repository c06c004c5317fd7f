"""When "nothing is missing between offsets a and b" may be said.

Offsets are given out without a gap (`UnifiedLog.append`), so what is missing shows: batch headers
keep base offset and last offset for ever, also where the cleaner took records out of a batch or
emptied it (`MemoryRecords.filterTo`). Where one batch begins right after the other, no batch is
missing between them; where each also has as many records as offsets, no record is. That is exact,
and it is the only proof. No proof are:

- a log that begins at offset 0, since the record there stays as long as nobody wrote its key again
  (`Cleaner.shouldRetainRecord`; in `__transaction_state` an id that only called initTransactions);
- a partition that `cleaner-offset-checkpoint` does not list: the file is written when a pass ends,
  cleaned segments are swapped in group by group before that (`Cleaner.doClean`,
  `LogCleanerManager.doneCleaning`), so a broker that was killed, or copied while it ran, may have
  cleaned anything below its active segment. And a follower fetches what its leader's cleaner left;
- an empty control batch, which was a marker (`is_emptied_marker`);
- a checkpoint as an upper bound: it goes back to the log start where it lies after the log end,
  and up to it where it lies below (`LogCleanerManager.cleanableOffsets`).

How many offsets are missing is told twice. Ranges say where, but of many only so many are kept
apart (`widest_apart`), and what is there between those that become one counts as missing. Running
numbers (`running`) say how many lie between two batches of the replay, and are exact.

Who took what is missing is another question. The cleaner never takes the marker of data that are
still there at or above the log start (`CleanedTransactionMetadata`; by faults it did, KAFKA-8351 up
to 2.2.1, KAFKA-13727 up to 3.1.0, KAFKA-14055 up to 3.2.0), nor the last record of a key. So behind
data that lie open no marker of their producer is missing that a cleaner took. An ABORT below
the log start it takes, and leaves the data: `UnifiedLog.collectAbortedTransactions` does not give
it the entries of transactions that ended there. And it is so at one moment, and in one file: a copy
whose data were read before the cleaner's passes, and the place of their marker after them, has the
data alone. So each check asks one of two questions: whether anything is missing, or whether
something is lost that no cleaner takes.

Not to be known: whether a file between two others was cleaned away or not copied, and up to where
a pass had come that was under way.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from udfs.rules.logic import Values, chosen

# So many ranges of a split, and of a partition, are kept apart; of more, neighbours become one.
# One is about 30 bytes in the row of its split, and 40 in each row that asks its partition.
RANGES_OF_SPLIT = 300
RANGES_OF_PARTITION = 1_000
# A number of missing offsets goes no higher at one place: there are fewer sequences (2^31).
MANY = 1 << 32
# transaction.state.log.num.partitions by default.
DEFAULT_COORDINATOR_PARTITIONS = 50
# So many ids must lie where a number of partitions puts them, and for each that does not.
IDS_THAT_PROVE = 10


class Range(NamedTuple):
    """Missing offsets: the first of them, and the first offset that is there after them."""

    first: Values
    end: Values


class Counted(NamedTuple):
    """A record of a log, and its number among those of the log that can be read, from 1."""

    offset: Values
    ordinal: Values


class Running(NamedTuple):
    """How many offsets are missing in a split up to each of its batches, in file order.

    `before`: those in front of the batch; `behind`: with those that the batch itself lacks;
    `total`: all of the split.
    """

    before: NDArray[np.int64]
    behind: NDArray[np.int64]
    total: int


def is_gap(last_before: Values, base_offset: Values) -> Values:
    """Whether offsets are missing between two neighbouring batches."""
    return base_offset > last_before + 1


def lacks_records(records: Values, last_offset_delta: Values) -> Values:
    """Whether a data batch of magic 2 has fewer records than offsets, which only a cleaner does."""
    return records < last_offset_delta + 1


def is_emptied_marker(control: Values, records: Values) -> Values:
    """Whether a control batch lost its record: the outcome of its marker is not to be known.

    The cleaner drops a marker all of whose data are gone, but keeps the batch where it is the last
    that an active producer has, or the last of the pass (`Cleaner.checkBatchRetention`,
    RETAIN_EMPTY). Its offset and those around it are there, and its header with producer id and
    epoch (`DefaultRecordBatch.writeEmptyHeader`); the marker is not.
    """
    return control & (records == 0)


def none_between(earlier: Counted, later: Counted) -> Values:
    """Whether no record between two of one log is missing or unreadable."""
    return later.offset - earlier.offset == later.ordinal - earlier.ordinal


def none_before(record: Counted) -> Values:
    """Whether no record from offset 0 to this one is missing or unreadable."""
    return record.offset == record.ordinal - 1


def within_reach(first_missing: Values, cleaned_below: Values) -> Values:
    """Whether the cleaner took what is missing: it begins below the offset a pass came to."""
    return first_missing < cleaned_below


def overlaps(missing: Range, first: Values, last: Values) -> Values:
    """Whether offsets between `first` and `last`, both inclusive, are among those missing.

    Between neighbours lies none: where `first` is behind `last`, a range around both has none, too.
    """
    return (first <= last) & (missing.first <= last) & (missing.end > first)


def reaches_behind(end: Values, offset: Values) -> Values:
    """Whether a range of missing offsets that ends at `end` (exclusive) has one after `offset`."""
    return end > offset


def widest_apart(
    first: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[list[Range], NDArray[np.int64]]:
    """Ranges of a split in the order of their ends, and which of those given each begins with.

    Where there are too many, those with the fewest offsets between them become one: what is there
    between them counts as missing, and this way it is the least. Of equal ones the newest are kept
    apart.
    """
    between = first[1:] - end[:-1]
    widest = np.argsort(between, kind="stable")[max(between.size - RANGES_OF_SPLIT + 1, 0) :]
    starts = np.concatenate([np.arange(min(first.size, 1)), np.sort(widest) + 1])
    lowest, highest = np.minimum.reduceat(first, starts), np.maximum.reduceat(end, starts)
    return [Range(*one) for one in zip(lowest.tolist(), highest.tolist(), strict=True)], starts


def step_between(last_before: Values, base_offset: Values) -> Values:
    """How far a batch is from the place right behind the one before it; below 0: back."""
    return base_offset - last_before - 1


def running(
    base_offset: NDArray[np.int64], last_offset: NDArray[np.int64], lacking: NDArray[np.bool_]
) -> Running:
    """How many offsets are missing up to each batch of a split (see `most_missing`).

    `lacking`: batches whose own offsets count as missing. A step back counts as far as it goes:
    what is missing between two batches lies in the steps from one to the other, forward, or is less
    than those back. A batch that says it ends before it begins lacks its one offset.
    """
    steps = np.zeros(base_offset.size, dtype=np.int64)
    steps[1:] = step_between(last_offset[:-1], base_offset[1:])
    backwards = last_offset < base_offset
    if not (steps.any() or lacking.any() or backwards.any()):
        return Running(steps, steps, 0)
    end = np.where(backwards, base_offset, last_offset)
    steps[1:] = np.minimum(np.abs(step_between(end[:-1], base_offset[1:])), MANY)
    own = np.where(lacking | backwards, np.minimum(end - base_offset + 1, MANY), 0)
    behind = np.cumsum(steps + own)
    # The step to the next split begins where the last batch says it ends.
    last = min(int(end[-1] - last_offset[-1]), MANY)
    return Running(behind - own, behind, int(behind[-1]) + last)


def most_missing(behind_earlier: Values, before_later: Values) -> Values:
    """How many offsets are missing between two batches of a log at most, by their running numbers.

    That is exact where offsets rise from one to the other, as in any log of a broker, and 0 only if
    none is missing, whatever order they have. From `MANY` on it may be more.
    """
    further = before_later - behind_earlier
    return chosen(further >= 0, further, -further)


def first_pass_possible(
    checkpoint_file: Values, listed: Values, clean_shutdown: Values, never_compacted: Values
) -> Values:
    """Whether an unlisted partition may be in the middle of its first pass, or was at a kill.

    A broker that stops cleanly breaks the pass off, and lists the partition with the offset at
    which that began (`CleanerThread.cleanLog`).
    """
    return checkpoint_file & ~listed & ~clean_shutdown & ~never_compacted


def passed_by_cleaner(
    first_offset: Values, last_offset: Values, log_start: Values, checkpoint: Values
) -> Values:
    """Whether a checkpoint lies after data that were open: no cleaner passes those.

    Of data below the log start an open transaction holds the last stable offset at the log start
    (`UnifiedLog.maybeIncrementFirstUnstableOffset`), to which the checkpoint is then moved; a
    broker that forgot them (rebuilt from the log start) holds it at the first that lie above.
    """
    inside = first_offset >= log_start
    return (inside & (first_offset < checkpoint)) | (
        ~inside & (last_offset >= log_start) & (last_offset < checkpoint)
    )


def ids_fit(fitting: Values, misfits: Values) -> Values:
    """Whether ids that do not lie where a number of partitions puts them are the fault, not it."""
    return fitting >= misfits * IDS_THAT_PROVE


def partitions_proven(
    number: Values, known: Values, listed: Values, fits: Values, sole: Values
) -> Values:
    """Whether partitions 0 to `number` - 1 of `__transaction_state` are all that there are.

    `known`: `__cluster_metadata` says so. `fits`: ids lie where their hash modulo `number` says
    (`TransactionStateManager.partitionFor`, `ids_fit`). `sole`: with no multiple of it they would
    lie there. Of the partitions 0 to k - 1 of a multiple of k all ids fit k, too, and brokers may
    be assigned just these (`AdminUtils.assignReplicasToBrokers`): that checkpoints list these and
    no others (`listed`) is believed of the default only.
    """
    usual = (number == DEFAULT_COORDINATOR_PARTITIONS) & listed
    return known | (fits & (sole | usual))
