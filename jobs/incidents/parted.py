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

    Both are sorted by offset and begin at `cut`, where copies of the partition differ. Up to where
    an epoch begins, in either, that is newer than the newest one of both, they have the same. Where
    none begins, nothing is known to differ: a copy that lags parts nowhere, and a cleaner may have
    taken the rest. `cut` if they have no epoch in common: two brokers that led in turn, and neither
    truncated its log.
    Source: `AbstractFetcherThread.getOffsetTruncationState` (KIP-279: asked again, until both know
    the epoch), `LeaderEpochFileCache.endOffsetFor`.
    """
    shared = {one.leader_epoch for one in own} & {one.leader_epoch for one in surviving}
    newest = max(shared, default=-1)
    if newest < 0:
        return cut
    newer = [one.first_offset for one in (*own, *surviving) if one.leader_epoch > newest]
    return max(cut, min(newer, default=MAX_OFFSET))
