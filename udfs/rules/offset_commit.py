"""Which transactional offset commit of a group came too late.

A commit takes effect with its record, or with the marker of its transaction
(`OffsetMetadataManager.replayEndTransactionMarker`), whoever owns the partition by then. A request
that was delayed, or one of an instance that no longer owned it, so shows in three commits of one
group and partition, in the order of their effect: the middle one goes below what it replaced, and
the producer of what it replaced goes on beyond that. A rewind that was meant would have gone on
from the lower offset.

What cannot be known: whether another commit stood between them, where records are missing. A
tombstone in place of any of them tells nothing.
"""

from typing import NamedTuple

from udfs.rules.logic import Values


class Commit(NamedTuple):
    """A commit in effect: `producer_id` -1 for a plain one; `offset` null for a tombstone."""

    producer_id: Values
    offset: Values


def takes_effect(record: Values, newest: Values) -> Values:
    """Whether a pending commit becomes the committed offset at the COMMIT marker.

    `record`: its place in the log; `newest`: the highest one of those that were the committed
    offset of its group and partition by then. What lies behind it in the log wins.
    """
    return record > newest


def is_late(replaced: Commit, late: Commit, following: Commit) -> Values:
    """Whether the middle one of three commits in the order of their effect came too late."""
    lower = (late.producer_id >= 0) & (late.offset < replaced.offset)
    goes_on = (replaced.producer_id >= 0) & (following.producer_id == replaced.producer_id)
    return lower & goes_on & (following.offset > replaced.offset)
