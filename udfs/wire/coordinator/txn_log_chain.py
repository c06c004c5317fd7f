"""Which records of `__transaction_state` become rows: what may be folded of that log.

Most of that log is plain steps: Ongoing, Prepare, Complete. A record that follows the one before it
of its id as `udfs.rules.coordinator_step` allows, within one split without a missing offset, is a
plain step. Only the first and the last records of an id can meet records of another split, and only
a step that is not plain is compared with more than its neighbours: with those back to the last
Complete record. The first record of a leader epoch tells when a coordinator loaded the log
(`udfs.arrow.txn_log_rows` keeps it). All others are folded away. Data batches have the folding
contract of udfs/wire/batches/fold.py.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from schemas.coordinator_states import COMPLETED, PREPARED
from udfs.rules import coordinator_step as step
from udfs.rules import decision_epoch
from udfs.rules.earlier_record import LOOKED_BACK
from udfs.wire.batches.batch_headers import Bools, Int64s

# The first records of an id in a split meet the last ones of the split before: a rule reads a
# record, the one before it and the one before that; a decision what follows it. A step that is not
# plain is held against more, see `_keep_before`.
KEPT_AT_START = 2
KEPT_AT_END = 3


class States(NamedTuple):
    """Records of a stretch of the log in which no offset is missing, one array element each.

    `identity`: number of the transactional id; `listed`: number of the stored list of partitions;
    `transaction_version`: the client's, from 2 on each decision raises the epoch.
    """

    identity: Int64s
    producer_id: Int64s
    producer_epoch: Int64s
    timeout_ms: Int64s
    status: Int64s
    listed: Int64s
    last_update_ms: Int64s
    start_ms: Int64s
    transaction_version: Int64s

    def step(self) -> step.Step:
        """Them for the rules; what they announce is not asked."""
        return step.Step(
            self.status, self.producer_id, self.producer_epoch, self.start_ms, self.timeout_ms,
            np.int64(-1), self.transaction_version,
        )  # fmt: skip

    def at(self, some: Int64s) -> "States":
        """Those with these indexes."""
        return States(*(column[some] for column in self))


class Chain(NamedTuple):
    """The records of each id in order. `previous`, `following`: index, -1 for none.

    `place`: number of the record among those of its id, from 0, of `size`. `order`: indexes by id,
    and within it in the order of the log.
    """

    previous: Int64s
    following: Int64s
    place: Int64s
    size: Int64s
    order: Int64s


class Folding(NamedTuple):
    """`folded`: needs no row. `judged`: a plain step between records of the stretch.

    `decided`: a Prepare record whose neighbours of the same id are both in the stretch, and what
    tells its data, too. `told_by`: see there.
    """

    folded: Bools
    judged: Bools
    decided: Bools
    told_by: Int64s


def chain(identity: Int64s) -> Chain:
    """Takes the records of each id together; they are given in log order."""
    size = identity.size
    order = np.argsort(identity, kind="stable")
    numbers = identity[order]
    same = numbers[1:] == numbers[:-1]
    previous, following = np.full(size, -1), np.full(size, -1)
    previous[order[1:][same]] = order[:-1][same]
    following[order[:-1][same]] = order[1:][same]
    first = np.flatnonzero(np.concatenate(([True], ~same)) if size else np.empty(0, np.bool_))
    lengths = np.diff(np.append(first, size))
    place, sizes = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    place[order] = np.arange(size) - np.repeat(first, lengths)
    sizes[order] = np.repeat(lengths, lengths)
    return Chain(previous, following, place, sizes, order)


class _Lists:
    """How the stored lists of partitions compare; each pair that occurs is asked for once."""

    def __init__(self, partitions: Sequence[Sequence[str]]) -> None:
        self._sets = [frozenset(one) for one in partitions]
        self.empty: Bools = np.array([not one for one in self._sets], dtype=np.bool_)

    def holds(self, one: Int64s, other: Int64s) -> Bools:
        """Whether list `one` has all that `other` has."""
        held: Bools = one == other
        asked = np.flatnonzero(~held)
        pairs = one[asked] * len(self._sets) + other[asked]
        distinct, which = np.unique(pairs, return_inverse=True)
        answers = [
            self._sets[pair // len(self._sets)] >= self._sets[pair % len(self._sets)]
            for pair in distinct.tolist()
        ]
        held[asked] = np.array(answers, dtype=np.bool_)[which]
        return held


def plain_steps(states: States, before: Int64s, partitions: Sequence[Sequence[str]]) -> Bools:
    """Whether each record follows the one at `before` as it should; false where that is -1.

    `partitions`: the lists by number.
    """
    lists = _Lists(partitions)
    last = states.at(before)
    compared = step.Lists(
        empty=lists.empty[states.listed],
        holds_all=lists.holds(states.listed, last.listed),
        adds_none=lists.holds(last.listed, states.listed),
    )
    plain: Bools = (before >= 0) & step.is_plain(
        states.step(), last.step(), states.last_update_ms, last.last_update_ms, compared
    )
    return plain


def _keep_before(kept: Bools, asked: Int64s, previous: Int64s, complete: Bools) -> None:
    """Marks what a step may be taken from: the records before it back to the last Complete record.

    After a Complete record nothing older can be taken up.
    """
    for _ in range(LOOKED_BACK + 1):
        before = previous[asked]
        before = before[before >= 0]
        if not before.size:
            return
        kept[before] = True
        asked = before[~complete[before]]


def told_by(states: States, chained: Chain) -> Int64s:
    """Index of the record that tells the data of each Prepare record; -1 for none.

    The record of its id before it, or that behind which the tries of its decision stand, see
    `udfs.rules.decision_epoch.data_epoch`. A run of tries may be as long as the stretch.
    """
    before = chained.previous
    here, last = states.step(), states.at(before).step()
    there = before >= 0
    tells = ~(there & decision_epoch.tells_no_more(here, last))
    # The first record of an id always tells.
    order = chained.order
    newest = np.maximum.accumulate(np.where(tells[order], np.arange(order.size), 0))
    first = np.full(order.size, -1)
    first[order[1:]] = order[newest[:-1]]
    again = there & decision_epoch.is_tried_again(here, last)
    return np.where(again, first, before)


def fold_states(
    states: States, chained: Chain, whole: Bools, partitions: Sequence[Sequence[str]]
) -> Folding:
    """Which records are folded away. `whole`: all records of its id in the stretch are `states`."""
    plain = plain_steps(states, chained.previous, partitions) & whole
    at_start = chained.place < KEPT_AT_START
    at_end = chained.place >= chained.size - KEPT_AT_END
    kept = at_start | at_end | ~plain
    complete = np.isin(states.status, COMPLETED)
    # What a step that is not plain is held against, and what one in the next split may be.
    unplain, last = np.flatnonzero(~plain), np.flatnonzero(chained.following < 0)
    asked = unplain
    for _ in range(2):
        asked = chained.previous[asked]
        asked = asked[asked >= 0]
        kept[asked] = True
    for ends in (unplain, last[~complete[last]]):
        _keep_before(kept, ends, chained.previous, complete)
    inside = (chained.previous >= 0) & (chained.following >= 0) & whole
    prepared = np.isin(states.status, PREPARED)
    # What is tried again from the first record of its id here may have been tried before.
    first = told_by(states, chained)
    begun = ~(prepared[first] & (chained.place[first] == 0))
    is_last = chained.place == chained.size - 1
    return Folding(~kept, plain & ~is_last, inside & prepared & begun, first)
