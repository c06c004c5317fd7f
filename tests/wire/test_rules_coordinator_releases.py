"""The rules of a step against coordinators of several releases: what they write is never refused.

Releases differ in what a fence that failed leaves in memory. Up to 2.4 each try raises the epoch
(KAFKA-9666), later ones raise it once (`hasFailedEpochFence`). Under transaction.version 2, 4.0.0
raises it in memory and once more in the record (KAFKA-19367), later releases in the record only.
Since 2.5 a retry of InitProducerId keeps the epoch (KIP-360). A second fence may come in before the
first is marked as failed, and raises the epoch once more. Value version 0, which all releases
up to 3.9 write, and 4.0 where transaction.version is 0, does not tell the client's version.
"""

import random
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import pytest

from schemas.coordinator_states import (
    AT_REST,
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    NO_STATE,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
)
from udfs.rules.coordinator_step import EXHAUSTED_EPOCH, UNTOLD_VERSION, Step
from udfs.rules.earlier_record import (
    KeptFields,
    goes_below,
    keeps,
    may_keep_one_past,
    may_share_past,
    takes_up,
)
from udfs.rules.producer_step import LAST_EPOCH

KINDS = ("2.4", "2.5", "4.0.0", "4.0.1")
VERSION_2 = ("4.0.0", "4.0.1")
PARTITIONS = range(1, 5)
TIMEOUTS = (30_000, 60_000)


@dataclass(frozen=True)
class Record:
    """A record, or what a coordinator has in memory. `last`: the epoch before, -1 for none."""

    state: int
    pid: int
    epoch: int
    last: int = -1
    timeout: int = TIMEOUTS[0]
    start: int = -1
    update: int = 0
    following: int = -1
    version: int = 0
    listed: frozenset[int] = frozenset()

    def step(self) -> Step:
        given = (
            self.state, self.pid, self.epoch, self.start, self.timeout, self.following,
            self.version,
        )  # fmt: skip
        return Step(*(np.array([value], dtype=np.int64) for value in given))

    def kept(self) -> KeptFields:
        given = (
            self.state, self.timeout, self.start, self.update, hash(self.listed), len(self.listed),
        )  # fmt: skip
        return KeptFields(*(np.array([value], dtype=np.int64) for value in given))


class Coordinator:
    """One id. `log`: each record with the place of the one that was in effect when it was tried.

    `lowered`: transaction.version was lowered to 0, and clients go on as before.
    """

    def __init__(self, seed: int, lowered: bool = False) -> None:
        self.chance = random.Random(seed)
        self.kind = self.chance.choice(KINDS)
        self.late = self.chance.choice((0.1, 0.4, 0.7))
        self.lowered = lowered
        self.pids, self.clock, self.fence_failed = count(1), 0, False
        self.came_in = False
        first = self.chance.choice((0, EXHAUSTED_EPOCH - 2))
        self.memory = Record(EMPTY, next(self.pids), first, version=self._told(0))
        self.log: list[tuple[Record, int]] = [(self.memory, -1)]
        self.at = 0

    def _told(self, version: int) -> int:
        """What a record tells of the client's version."""
        return version if self.kind in VERSION_2 and not self.lowered else UNTOLD_VERSION

    def run(self, steps: int) -> list[tuple[Record, int]]:
        for _ in range(steps):
            if self.chance.random() < 0.03:
                self._move()
            self._act()
        return self.log

    def _move(self) -> None:
        """Another coordinator takes the last record of the log for the one in effect."""
        self.memory, self.at = self.log[-1][0], len(self.log) - 1
        self.fence_failed = False
        self.clock += self.chance.choice((-5, 0, 5))

    def _append(self, record: Record) -> bool:
        """Whether the record took effect; Complete is tried until it does."""
        surely = record.state in (COMPLETE_COMMIT, COMPLETE_ABORT)
        while True:
            self.log.append((record, self.at))
            if self.chance.random() >= self.late:
                self.memory, self.at = record, len(self.log) - 1
                return True
            if not surely:
                return False

    def _act(self) -> None:
        self.clock += self.chance.choice((0, 1, 3))
        now, chance = self.memory, self.chance
        if now.state == NO_STATE:
            record = Record(EMPTY, next(self.pids), 0, update=self.clock, version=self._told(0))
            self._append(record)
        elif now.state in (PREPARE_COMMIT, PREPARE_ABORT):
            self._complete()
        elif now.state == ONGOING:
            chance.choice((self._add, self._end, self._end, self._fence))()
        else:
            chance.choice((self._begin, self._begin, self._init, self._expire, self._abort))()

    def _changed(self, state: int, **facts: object) -> Record:
        record = replace(self.memory, state=state, update=self.clock, following=-1)
        return replace(record, **{"version": self._told(0)} | facts)  # type: ignore[arg-type]

    def _init(self) -> None:
        now, timeout = self.memory, self.chance.choice(TIMEOUTS)
        rest = {"timeout": timeout, "start": -1, "listed": frozenset()}
        expected = self.chance.choice((None, now.epoch, now.last)) if self.kind != "2.4" else None
        if now.epoch >= EXHAUSTED_EPOCH:
            self._append(self._changed(EMPTY, pid=next(self.pids), epoch=0, last=-1, **rest))
        elif expected in (None, now.epoch):
            last = -1 if expected is None else now.epoch
            self._append(self._changed(EMPTY, epoch=now.epoch + 1, last=last, **rest))
        else:
            self._append(self._changed(EMPTY, **rest))

    def _expire(self) -> None:
        # Of a tombstone nothing else is there.
        self._append(Record(NO_STATE, 0, 0, timeout=0, start=0))

    def _begin(self) -> None:
        if self.memory.epoch < LAST_EPOCH:
            one = frozenset({self.chance.choice(PARTITIONS)})
            self._append(self._changed(ONGOING, start=self.clock, listed=one))

    def _add(self) -> None:
        more = self.memory.listed | {self.chance.choice(PARTITIONS)}
        if not self.fence_failed or self.kind == "4.0.1":
            self._append(self._changed(ONGOING, listed=more))

    def _raised(self, state: int, **facts: object) -> Record:
        """A decision under transaction.version 2."""
        now = self.memory
        following = next(self.pids) if now.epoch >= EXHAUSTED_EPOCH else -1
        epoch = min(now.epoch + 1, LAST_EPOCH)
        given = {"epoch": epoch, "last": now.epoch, "following": following}
        return self._changed(state, **given | {"version": self._told(2)} | facts)

    def _end(self) -> None:
        state = self.chance.choice((PREPARE_COMMIT, PREPARE_ABORT))
        if self.fence_failed and self.kind != "4.0.1":
            self._fence()
        elif self.kind in VERSION_2 and self.chance.random() < 0.7:
            self._append(self._raised(state))
        else:
            self._append(self._changed(state))

    def _abort(self) -> None:
        """Of nothing, which starts at its own moment."""
        if self.kind in VERSION_2 and self.memory.epoch < LAST_EPOCH:
            self._append(self._raised(PREPARE_ABORT, start=self.clock))

    def _fence(self) -> None:
        now = self.memory
        raised = now.epoch + (self.kind == "2.4" or not self.fence_failed)
        if raised > LAST_EPOCH - (self.kind == "4.0.0"):
            return
        if self.kind != "4.0.1":
            self.memory = replace(now, epoch=raised, last=-1)
        if self.kind in VERSION_2:
            record = self._raised(PREPARE_ABORT, following=-1)
        else:
            record = self._changed(PREPARE_ABORT)
        failed = not self._append(record)
        if failed and not self.fence_failed and not self.came_in and self.chance.random() < 0.2:
            # Once in a transaction another one comes in before this one is marked.
            self.came_in = True
            self._fence()
        self.fence_failed = failed

    def _complete(self) -> None:
        now = self.memory
        facts: dict[str, object] = {"listed": frozenset(), "version": now.version}
        if now.following >= 0:
            facts |= {"pid": now.following, "epoch": 0}
        self._append(self._changed(now.state + 2, **facts))
        self.fence_failed = self.came_in = False


def steps_of(record: Record, older: Record) -> bool:
    takes = takes_up(record.step(), older.step()) & keeps(record.kept(), older.kept())
    return bool(np.all(takes))


@pytest.mark.parametrize("seed", range(150))
def test_what_a_coordinator_writes_is_a_step_from_the_record_in_effect(seed: int) -> None:
    log = Coordinator(seed, lowered=seed % 3 == 0).run(60)
    for at, (record, taken) in enumerate(log[1:], 1):
        older = log[taken][0]
        assert steps_of(record, older), (record, older)
        for between, _ in log[taken + 1 : at]:
            assert steps_of(between, older), (between, older)


@pytest.mark.parametrize("seed", range(150))
def test_what_was_tried_from_one_record_fits_together_where_that_is_gone(seed: int) -> None:
    log = Coordinator(seed, lowered=seed % 3 == 0).run(60)
    for at, (record, taken) in enumerate(log[1:], 1):
        for between, _ in log[taken + 1 : at]:
            fits = may_share_past(record.step(), between.step())
            fits &= may_keep_one_past(record.kept(), between.kept())
            assert bool(np.all(fits)), (record, between)


@pytest.mark.parametrize("seed", range(150))
def test_no_record_goes_below_an_epoch_that_an_earlier_one_proves(seed: int) -> None:
    # Not where it was lowered: a client then repeats an abort that failed, and does nothing else.
    log = [record.step() for record, _ in Coordinator(seed).run(60)]
    for at, record in enumerate(log):
        for earlier in log[:at]:
            assert not np.any(goes_below(record, earlier)), (record, earlier)


def test_the_histories_have_every_state_and_appends_that_failed() -> None:
    logs = [Coordinator(seed).run(60) for seed in range(150)]
    assert {record.state for log in logs for record, _ in log} == {
        NO_STATE, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, *AT_REST,
    }  # fmt: skip
    assert {Coordinator(seed).kind for seed in range(150)} == set(KINDS)
    assert any(at - taken > 5 for log in logs for at, (_, taken) in enumerate(log))
