"""A `leader-epoch-checkpoint` beside the batches of its log (`LeaderEpochFileCache`).

An entry (epoch, start offset) holds for every batch from that offset up to the next entry. Two
entries may start at one offset: until 2.0 a leader that wrote nothing kept its own.
"""

from typing import NamedTuple

import numpy as np

from udfs.wire.batches.batch_headers import BatchHeaders, Bools, Int64s
from udfs.wire.side_files import checkpoints

# An entry fails by its place in the file (`index_rules.ORDER`), by batches of another leader epoch,
# or, as the first, by a log that begins behind it.
LEADER_EPOCH, LOG_BEGINS_LATER = "leader_epoch", "log_begins_later"


class LeaderEpochs(NamedTuple):
    """Entries in the order of the file: leader epochs, and the offsets at which they start."""

    epochs: Int64s
    starts: Int64s


class Stretch(NamedTuple):
    """Neighbouring batches `first` to `last` (both inclusive) that contradict entry `ordinal`."""

    ordinal: int
    first: int
    last: int


def decode(text: str) -> LeaderEpochs:
    """Raises WireError where a broker could not read the file either."""
    entries = checkpoints.parse_leader_epochs(text)
    table = np.array(entries, dtype=np.int64).reshape(len(entries), 2)
    return LeaderEpochs(table[:, 0], table[:, 1])


def out_of_order(entries: LeaderEpochs) -> list[int]:
    """Ordinals of entries whose epoch does not rise, or whose offset falls."""
    epochs, starts = entries
    wrong = (epochs[1:] <= epochs[:-1]) | (starts[1:] < starts[:-1])
    return [int(ordinal) + 1 for ordinal in np.flatnonzero(wrong)]


def contradictions(entries: LeaderEpochs, headers: BatchHeaders) -> list[Stretch]:
    """Stretches of batches that were written under another leader epoch than the file says.

    In front of the first entry nothing is said, and a batch of magic 0 or 1 or of epoch -1 says
    nothing. Entries that are out of order cannot be searched and are compared with nothing.
    """
    if not entries.starts.size or out_of_order(entries):
        return []
    entry = np.searchsorted(entries.starts, headers.base_offset, side="right") - 1
    epoch = headers.partition_leader_epoch
    wrong: Bools = (entry >= 0) & (epoch >= 0) & (entries.epochs[entry] != epoch)
    at = np.flatnonzero(wrong)
    if not at.size:
        return []
    # A stretch ends where the entry or the epoch of the batches changes, or a batch fits.
    change = (np.diff(at) > 1) | (np.diff(entry[at]) != 0) | (np.diff(epoch[at]) != 0)
    starts = np.concatenate(([0], np.flatnonzero(change) + 1))
    ends = np.concatenate((starts[1:], [at.size])) - 1
    return [
        Stretch(int(entry[at[one]]), int(at[one]), int(at[other]))
        for one, other in zip(starts, ends, strict=True)
    ]
