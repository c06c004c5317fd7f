"""Where a copy parts from those that outlived it: by leader epochs, as a follower finds it."""

from collections.abc import Sequence
from typing import NamedTuple


class Stretch(NamedTuple):
    """Neighbouring batches of one leader epoch in a copy; offsets are inclusive."""

    first_offset: int
    last_offset: int
    leader_epoch: int


def parts_at(own: Sequence[Stretch], surviving: Sequence[Stretch], cut: int) -> int:
    """From which offset on the copy `own` has records that `surviving` does not have.

    Both are sorted by offset and begin at `cut`, where copies of the partition differ. The newest
    leader epoch of the surviving copy that is not newer than those of the other counts: its records
    are equal up to where the first of the two copies ends it. A copy that only lags ends there.
    Source: `LeaderEpochFileCache.endOffsetFor`, `AbstractFetcherThread.getOffsetTruncationState`.
    """
    newest = max((one.leader_epoch for one in own), default=-1)
    shared = max((one.leader_epoch for one in surviving if one.leader_epoch <= newest), default=-1)
    if shared < 0:
        return cut
    return max(cut, min(_end(own, shared), _end(surviving, shared)))


def _end(copy: Sequence[Stretch], leader_epoch: int) -> int:
    """The first offset behind the batches of a leader epoch and of those before it."""
    later = [one.first_offset for one in copy if one.leader_epoch > leader_epoch]
    return min(later, default=copy[-1].last_offset + 1 if copy else 0)
