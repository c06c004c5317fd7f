"""Which batch and which marker of a producer follow what a broker knows of it.

- Sequences (`ProducerAppendInfo.checkSequence`, all releases): in the epoch of its data a producer
  goes on with the next sequence, and after 2147483647 comes 0
  (`DefaultRecordBatch.incrementSequence`). In a higher epoch, and in that of a marker which raised
  it, it begins at 0. Batches that a coordinator writes carry no sequence.
- Epochs (`ProducerAppendInfo.checkProducerEpoch`): never lower than that of the newest batch or
  marker. The highest, 32767, is a fence and no transactional producer's
  (`isProducerEpochExhausted`).
- A marker has the epoch of the data it ends, or the next one: a fence and, under
  transaction.version 2, the end of a transaction raise it by one (KIP-890). It comes from a
  coordinator of the same epoch as the marker before, or a higher one
  (`ProducerAppendInfo.checkCoordinatorEpoch`).
- The cleaner leaves markers without their data (`Cleaner.shouldDiscardBatch`), so an aborted
  transaction below its reach is not known to be whole.

A transaction that keeps to all of this meets no rule by itself: the fold need not keep it, and a
context need not look at it again. What a broker may have forgotten is in `udfs.rules.memory`.
"""

from typing import NamedTuple

from udfs.rules.absence import within_reach
from udfs.rules.attribution import may_end
from udfs.rules.logic import Values, as_number, surely

# No transactional producer has it: `Short.MAX_VALUE`, which fences.
LAST_EPOCH = 32767
# `DefaultRecordBatch.incrementSequence`: 0 follows on the last one.
MAX_SEQUENCE = 2147483647
# So many sequences there are.
SEQUENCES = MAX_SEQUENCE + 1


class Batch(NamedTuple):
    """The first data batch of a run."""

    epoch: Values
    first_sequence: Values


class ProducerState(NamedTuple):
    """What a broker knows of the producer by then.

    `epoch`: of its newest batch or marker; `data_epoch`: of its newest data, null or -1 for none;
    `next_sequence`: the one after these data.
    """

    epoch: Values
    data_epoch: Values
    next_sequence: Values


class Marker(NamedTuple):
    """The marker of a transaction; `coordinator_before`: epoch of the one before, null for none."""

    offset: Values
    epoch: Values
    commit: Values
    coordinator_epoch: Values
    coordinator_before: Values


def next_sequence(last: Values) -> Values:
    """The sequence after `last`, 0 to 2^31 - 1 or -1 for none; in 32 bits nothing overflows."""
    at_end = as_number(last >= MAX_SEQUENCE)
    return last - at_end * MAX_SEQUENCE + (1 - at_end)


def sequence_at(sequence: Values, steps: Values) -> Values:
    """The sequence so many steps after one, or before it where `steps` is negative; of arrays."""
    return (sequence + steps) & MAX_SEQUENCE


def sequence_distance(start: Values, end: Values) -> Values:
    """Steps from `start` forward to `end` on the circle of sequences, 0 to 2^31 - 1.

    Both are any 32 bits of a file. A remainder has the sign of the divisor in an array and that of
    the dividend in a column.
    """
    steps = end % SEQUENCES - start % SEQUENCES
    return (steps + 2 * SEQUENCES) % SEQUENCES


def is_ahead(expected: Values, found: Values) -> Values:
    """Whether `found` comes after `expected` rather than before it, on the circle."""
    distance = sequence_distance(expected, found)
    return (distance > 0) & (distance < SEQUENCES // 2)


def is_behind(expected: Values, found: Values) -> Values:
    """Whether `found` comes before `expected`, on the circle."""
    return sequence_distance(expected, found) >= SEQUENCES // 2


def is_contiguous(batch: Batch, known: ProducerState) -> Values:
    """Whether a batch goes on in the epoch and sequence of the data before."""
    return (known.data_epoch == batch.epoch) & (batch.first_sequence == known.next_sequence)


def follows(batch: Batch, known: ProducerState, unsequenced: Values) -> Values:
    """Whether a batch is what a broker that remembers its producer takes.

    `unsequenced`: of a topic that only coordinators write. Null where nothing is known before.
    """
    of_data = surely(batch.epoch == known.data_epoch)
    same = (batch.epoch == known.epoch) & of_data
    new = (batch.epoch > known.epoch) | ((batch.epoch == known.epoch) & ~of_data)
    goes_on = unsequenced | (batch.first_sequence == known.next_sequence)
    begins = unsequenced | (batch.first_sequence == 0)
    return (same & goes_on) | (new & begins)


def is_regular_end(marker: Marker, data_epoch: Values, cleaned_below: Values) -> Values:
    """Whether a marker ends its data as it should, and the data are not the cleaner's to take.

    `cleaned_below`: the offset that a pass of the cleaner came to, null or 0 for none.
    """
    older_coordinator = surely(marker.coordinator_epoch < marker.coordinator_before)
    cleaned = surely(within_reach(marker.offset, cleaned_below))
    return may_end(marker.epoch, data_epoch) & ~older_coordinator & (marker.commit | ~cleaned)
