"""Where a copy parts from those that outlived it: by leader epochs, as a follower finds it."""

from collections.abc import Sequence
from typing import NamedTuple

from udfs.rules.extent import MAX_OFFSET


class Stretch(NamedTuple):
    """Neighbouring batches of one leader epoch in a copy; offsets are inclusive."""

    first_offset: int
    last_offset: int
    leader_epoch: int


def parts_at(own: Sequence[Stretch], surviving: Sequence[Stretch], cut: int) -> int:
    """From which offset on the copy `own` has records that `surviving` does not have.

    Both are sorted by offset and begin at `cut`, where copies of the partition differ. The newest
    epoch of `surviving` counts that is not newer than those of `own`: up to where a newer one
    begins in either, both have the same. Where none begins, nothing is known to differ: a copy that
    lags parts nowhere, and a cleaner may have taken the rest. `cut` if there is no such epoch.
    Source: `LeaderEpochFileCache.endOffsetFor`, `AbstractFetcherThread.getOffsetTruncationState`.
    """
    newest = max((one.leader_epoch for one in own), default=-1)
    shared = max((one.leader_epoch for one in surviving if one.leader_epoch <= newest), default=-1)
    if shared < 0:
        return cut
    newer = [one.first_offset for one in (*own, *surviving) if one.leader_epoch > shared]
    return max(cut, min(newer, default=MAX_OFFSET))
