"""Which record may follow which, held against a coordinator whose appends may fail late."""

import random
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from engines import check_in_both_engines
from pyspark.sql import SparkSession

from schemas.coordinator_states import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    NO_STATE,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    TWO_PHASE_COMMIT_TIMEOUT,
)
from udfs.rules.coordinator_step import (
    EXHAUSTED_EPOCH,
    Lists,
    Step,
    adds_any_fences,
    as_of_version_2,
    begins_elsewhen,
    begins_too_high,
    ended_otherwise,
    gave_way,
    is_completed_by,
    is_of_older_version,
    is_plain,
    is_two_phase,
    keeps_announced,
    lacks_raise,
    may_follow,
    may_follow_step,
    most_raise,
    raised_by_failed_fences,
    replaces_producer,
    tells_older_version,
    unless_told,
)
from udfs.rules.decision_epoch import (
    NO_RECORD,
    Recorded,
    data_epoch,
    ends_running,
    epoch_by_version,
    epoch_in_effect,
    is_clients_version,
    is_tried_again,
    may_have_raised,
    shares_epoch,
    shown_version,
    tells_no_more,
    tried_before,
)
from udfs.rules.earlier_record import (
    KeptFields,
    began_before,
    goes_below,
    keeps,
    may_have_failed_raise,
    may_keep_one_past,
    may_share_past,
    takes_up,
)


def step(
    state: int, pid: int = 1, epoch: int = 0, start: int = 0, following: int = -1, version: int = 0
) -> Step:
    given = (state, pid, epoch, start, 60_000, following, version)
    return Step(*(np.array([value], dtype=np.int64) for value in given))


def holds(answer: object) -> bool:
    return bool(np.all(answer))


class Coordinator:
    """Writes records of one id; an append that fails leaves its memory as it was."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._memory = step(EMPTY, start=-1, epoch=self._random.choice([0, EXHAUSTED_EPOCH - 1]))
        self._next_pid = 2
        self._clock = 0
        self.log = [self._memory]

    def run(self, steps: int) -> list[Step]:
        for _ in range(steps):
            tried = self._tried()
            self.log.append(tried)
            complete = int(tried.state[0]) in (COMPLETE_COMMIT, COMPLETE_ABORT)
            if complete or self._random.random() < 0.4:
                self._memory = tried
        return self.log

    def _tried(self) -> Step:
        self._clock += 1
        now = self._memory
        state, pid, epoch, start = (int(column[0]) for column in now[:4])
        version = self._random.choice([0, 2])
        by_version_2 = version == 2
        if self._random.random() < 0.5:
            # The cluster is at level 0: the record does not tell what the client does.
            version = -1
        if state == ONGOING:
            kind = self._random.choice([ONGOING, PREPARE_COMMIT, PREPARE_ABORT])
            raised = kind != ONGOING and (by_version_2 or kind == PREPARE_ABORT)
            following = -1
            if kind != ONGOING and by_version_2 and epoch >= EXHAUSTED_EPOCH:
                following = self._new_pid()
            rise = int(raised and epoch <= EXHAUSTED_EPOCH)
            return step(kind, pid, epoch + rise, start, following, version)
        if state in (PREPARE_COMMIT, PREPARE_ABORT):
            following = int(now.next_producer_id[0])
            if following >= 0:
                return step(state + 2, following, 0, start, version=version)
            return step(state + 2, pid, epoch, start, version=version)
        kind = self._random.choice([EMPTY, ONGOING, ONGOING])
        if kind == ONGOING:
            return step(ONGOING, pid, epoch, self._clock, version=version)
        if epoch >= EXHAUSTED_EPOCH:
            return step(EMPTY, self._new_pid(), 0, -1)
        return step(EMPTY, pid, epoch + 1, -1)

    def _new_pid(self) -> int:
        self._next_pid += 1
        return self._next_pid


@pytest.mark.parametrize("seed", range(40))
def test_each_record_takes_up_an_earlier_one_from_which_all_between_were_tried(seed: int) -> None:
    log = Coordinator(seed).run(40)
    for at in range(1, len(log)):
        assert any(
            all(holds(takes_up(log[one], log[older])) for one in range(older + 1, at + 1))
            for older in range(at)
        ), at


@pytest.mark.parametrize("seed", range(20))
def test_what_was_tried_from_one_record_fits_together_without_it(seed: int) -> None:
    log = Coordinator(seed).run(40)
    for one, other in pairwise(log[1:]):
        from_one = any(
            holds(takes_up(one, older)) and holds(takes_up(other, older)) for older in log
        )
        assert not from_one or holds(may_share_past(one, other)), (one, other)


@pytest.mark.parametrize(
    ("older", "record"),
    [
        (step(ONGOING), step(NO_STATE)),
        (step(ONGOING), step(EMPTY, start=-1)),
        (step(ONGOING), step(ONGOING, start=5)),
        (step(ONGOING), step(ONGOING, epoch=1)),
        (step(ONGOING, epoch=3), step(PREPARE_ABORT, epoch=2)),
        (step(ONGOING), step(PREPARE_COMMIT, epoch=1)),
        (step(ONGOING), step(PREPARE_COMMIT, epoch=2, version=2)),
        (step(EMPTY), step(PREPARE_ABORT, epoch=2, version=2)),
        (step(PREPARE_COMMIT), step(COMPLETE_COMMIT, epoch=1)),
        (step(EMPTY, epoch=EXHAUSTED_EPOCH), step(EMPTY, epoch=EXHAUSTED_EPOCH + 1)),
        (step(ONGOING), step(COMPLETE_COMMIT)),
        (step(PREPARE_COMMIT), step(PREPARE_ABORT)),
        (step(PREPARE_COMMIT), step(COMPLETE_ABORT)),
        (step(COMPLETE_COMMIT), step(PREPARE_ABORT)),
        (step(COMPLETE_COMMIT, epoch=4), step(EMPTY, pid=2, start=-1)),
        (step(COMPLETE_COMMIT), step(ONGOING, pid=2)),
        (step(EMPTY, epoch=EXHAUSTED_EPOCH), step(EMPTY, epoch=0)),
        (step(EMPTY, epoch=EXHAUSTED_EPOCH), step(EMPTY, pid=2, epoch=1)),
        (step(NO_STATE), step(ONGOING)),
    ],
)
def test_steps_that_no_coordinator_takes(older: Step, record: Step) -> None:
    assert not holds(takes_up(record, older))


@pytest.mark.parametrize(
    ("record", "its_own"),
    [
        (step(COMPLETE_COMMIT, epoch=7, start=5), True),
        (step(COMPLETE_COMMIT, pid=2, epoch=0, start=5), True),
        (step(COMPLETE_COMMIT, pid=2, epoch=1, start=5), False),
        (step(COMPLETE_COMMIT, epoch=8, start=5), False),
        (step(COMPLETE_COMMIT, epoch=7, start=6), False),
    ],
)
def test_a_complete_record_keeps_producer_and_start(record: Step, its_own: bool) -> None:
    assert holds(is_completed_by(step(PREPARE_COMMIT, epoch=7, start=5), record)) is its_own


@pytest.mark.parametrize(
    ("record", "without_effect"),
    [
        (step(PREPARE_COMMIT, epoch=7, start=5), True),
        (step(PREPARE_ABORT, epoch=8, start=5), True),
        (step(ONGOING, epoch=7, start=5), True),
        (step(COMPLETE_COMMIT, epoch=7, start=5), False),
        # Of a later transaction, or of none: the Complete record between is lost.
        (step(ONGOING, epoch=7, start=9), False),
        (step(PREPARE_ABORT, epoch=8, start=9, version=2), False),
        (step(EMPTY, epoch=8, start=-1), False),
        (step(ONGOING, pid=2, epoch=0, start=5), False),
        (step(NO_STATE, pid=0, start=0), False),
        # A text does not tell the start.
        (step(PREPARE_ABORT, epoch=8, start=-2), True),
        (step(ONGOING, epoch=7, start=-2), False),
    ],
)
def test_a_prepare_record_gave_way_to_one_of_its_transaction(
    record: Step, without_effect: bool
) -> None:
    assert holds(gave_way(step(PREPARE_COMMIT, epoch=7, start=5), record)) is without_effect


@pytest.mark.parametrize(
    ("record", "otherwise"),
    [
        (step(COMPLETE_ABORT, epoch=7, start=5), True),
        (step(COMPLETE_ABORT, epoch=8, start=5), True),
        (step(COMPLETE_COMMIT, epoch=7, start=5), False),
        (step(COMPLETE_ABORT, epoch=8, start=9), False),
        (step(COMPLETE_ABORT, pid=2, epoch=0, start=5), False),
        (step(PREPARE_ABORT, epoch=8, start=5), False),
        (step(NO_STATE, pid=0, start=0), False),
        # A text does not tell the start.
        (step(COMPLETE_ABORT, epoch=7, start=-2), False),
    ],
)
def test_a_transaction_was_ended_otherwise_than_a_prepare_record_says(
    record: Step, otherwise: bool
) -> None:
    prepare = step(PREPARE_COMMIT, epoch=7, start=5)
    assert holds(ended_otherwise(prepare, record)) is otherwise


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (step(ONGOING, epoch=6), step(ONGOING, epoch=5)),
        (step(COMPLETE_COMMIT), step(COMPLETE_ABORT)),
        (step(COMPLETE_COMMIT), step(PREPARE_ABORT)),
        (step(PREPARE_COMMIT), step(NO_STATE)),
        (step(PREPARE_COMMIT, start=1), step(PREPARE_ABORT, start=2)),
        (step(ONGOING, pid=2, epoch=0), step(ONGOING, epoch=EXHAUSTED_EPOCH)),
        (step(EMPTY, epoch=4), step(EMPTY, pid=2, epoch=4)),
        (step(EMPTY, epoch=5), step(EMPTY, epoch=3)),
    ],
)
def test_steps_that_no_one_record_led_to(one: Step, other: Step) -> None:
    assert not holds(may_share_past(one, other))
    assert not holds(may_share_past(other, one))


def test_only_what_raises_an_epoch_may_be_a_raise_that_failed() -> None:
    after = step(ONGOING, epoch=5)
    assert holds(may_have_failed_raise(after, step(EMPTY, epoch=6)))
    assert holds(may_have_failed_raise(after, step(PREPARE_ABORT, epoch=7)))
    assert holds(may_have_failed_raise(after, step(PREPARE_COMMIT, epoch=6, version=2)))
    assert not holds(may_have_failed_raise(after, step(PREPARE_COMMIT, epoch=6)))
    assert not holds(may_have_failed_raise(after, step(EMPTY, epoch=7)))
    assert holds(may_have_failed_raise(step(EMPTY, epoch=5), step(EMPTY, epoch=6)))
    assert not holds(may_have_failed_raise(step(EMPTY, epoch=5), step(EMPTY, epoch=7)))
    assert not holds(may_have_failed_raise(after, step(COMPLETE_COMMIT, epoch=6)))
    used_up = step(ONGOING, epoch=EXHAUSTED_EPOCH)
    assert holds(may_have_failed_raise(used_up, step(EMPTY, pid=2)))
    assert not holds(may_have_failed_raise(after, step(EMPTY, pid=2)))


@pytest.mark.parametrize(
    ("earlier", "below"),
    [
        (step(EMPTY, epoch=6, start=-1), False),
        (step(EMPTY, epoch=7, start=-1), True),
        (step(ONGOING, epoch=6), True),
        (step(PREPARE_ABORT, epoch=6), True),
        (step(PREPARE_ABORT, epoch=6, version=2), False),
        (step(PREPARE_ABORT, epoch=7, version=2), True),
        (step(PREPARE_ABORT, pid=2, epoch=6), False),
        (step(PREPARE_ABORT, epoch=5), False),
    ],
)
def test_a_record_goes_below_what_is_in_memory(earlier: Step, below: bool) -> None:
    assert holds(goes_below(step(ONGOING, epoch=5), earlier)) is below


def kept(
    state: int, timeout: int = 60_000, start: int = 5, update: int = 5, listed: int = 1
) -> KeptFields:
    given = (state, timeout, start, update, listed, listed)
    return KeptFields(*(np.array([value], dtype=np.int64) for value in given))


@pytest.mark.parametrize(
    ("older", "record", "fits"),
    [
        (kept(EMPTY, start=-1), kept(ONGOING), True),
        (kept(EMPTY, start=-1), kept(ONGOING, update=6), False),
        (kept(COMPLETE_ABORT, listed=0), kept(ONGOING, start=4), False),
        (kept(ONGOING), kept(ONGOING, update=6, listed=2), True),
        (kept(ONGOING, listed=2), kept(ONGOING, update=6), False),
        (kept(ONGOING), kept(PREPARE_COMMIT, update=6), True),
        (kept(ONGOING), kept(PREPARE_ABORT, update=6, listed=2), False),
        (kept(ONGOING), kept(PREPARE_COMMIT, timeout=50_000), False),
        (kept(ONGOING, TWO_PHASE_COMMIT_TIMEOUT), kept(PREPARE_COMMIT, timeout=50_000), True),
        # An abort from rest begins itself, and has no partitions.
        (kept(COMPLETE_ABORT, listed=0), kept(PREPARE_ABORT, listed=0), True),
        (kept(COMPLETE_ABORT, listed=0), kept(PREPARE_ABORT), False),
        (kept(PREPARE_COMMIT), kept(COMPLETE_COMMIT, update=6, listed=0), True),
        (kept(PREPARE_COMMIT), kept(COMPLETE_COMMIT, timeout=50_000, listed=0), False),
        (kept(COMPLETE_COMMIT, listed=0), kept(EMPTY, timeout=50_000, listed=0), True),
        (kept(NO_STATE, timeout=0), kept(EMPTY, listed=0), True),
        (kept(EMPTY), kept(NO_STATE, timeout=0), True),
    ],
)
def test_a_step_keeps_timeout_start_and_partitions(
    older: KeptFields, record: KeptFields, fits: bool
) -> None:
    assert holds(keeps(record, older)) == fits


SAME_LISTS = Lists(np.bool_(False), np.bool_(True), np.bool_(True))
NO_LIST = Lists(np.bool_(True), np.bool_(False), np.bool_(True))


@pytest.mark.parametrize(
    ("last", "record", "lists", "plain"),
    [
        (step(EMPTY), step(ONGOING, start=10), SAME_LISTS, True),
        # A transaction that begins has no other start than its own moment.
        (step(COMPLETE_COMMIT), step(ONGOING), SAME_LISTS, False),
        (step(ONGOING), step(ONGOING), SAME_LISTS, True),
        (step(ONGOING, start=1), step(ONGOING, start=2), SAME_LISTS, False),
        (step(ONGOING), step(PREPARE_COMMIT), SAME_LISTS, True),
        (step(ONGOING), step(PREPARE_COMMIT, epoch=1, version=2), SAME_LISTS, True),
        # Under version 2 the end raises the epoch.
        (step(ONGOING), step(PREPARE_COMMIT, version=2), SAME_LISTS, False),
        (step(ONGOING), step(PREPARE_COMMIT, epoch=1), SAME_LISTS, False),
        (step(ONGOING), step(PREPARE_COMMIT, epoch=2, version=2), SAME_LISTS, False),
        (step(ONGOING), step(PREPARE_COMMIT), NO_LIST, False),
        (step(PREPARE_COMMIT), step(COMPLETE_COMMIT), NO_LIST, True),
        (step(PREPARE_COMMIT), step(COMPLETE_COMMIT), SAME_LISTS, False),
        (step(PREPARE_COMMIT), step(COMPLETE_ABORT), NO_LIST, False),
        (step(COMPLETE_COMMIT), step(EMPTY, epoch=1, start=-1), NO_LIST, True),
        (step(COMPLETE_COMMIT), step(EMPTY, pid=2, start=-1), NO_LIST, False),
        (step(EMPTY), step(PREPARE_ABORT, epoch=1, version=2), SAME_LISTS, False),
    ],
)
def test_a_plain_step_is_that_of_a_healthy_id(
    last: Step, record: Step, lists: Lists, plain: bool
) -> None:
    assert holds(is_plain(record, last, 10, 10, lists)) == plain
    assert not holds(is_plain(record, last, 9, 10, lists))


@pytest.mark.parametrize(
    ("last", "record", "elsewhen"),
    [
        (step(COMPLETE_COMMIT), step(ONGOING, start=10), False),
        (step(COMPLETE_COMMIT), step(ONGOING), True),
        (step(EMPTY), step(ONGOING, start=9), True),
        (step(COMPLETE_COMMIT), step(PREPARE_ABORT, version=2), True),
        (step(COMPLETE_COMMIT), step(PREPARE_ABORT, start=10, version=2), False),
        (step(ONGOING), step(ONGOING), False),
        (step(NO_STATE), step(ONGOING), False),
        (step(PREPARE_COMMIT), step(COMPLETE_COMMIT), False),
    ],
)
def test_a_transaction_begins_at_its_own_moment(last: Step, record: Step, elsewhen: bool) -> None:
    assert holds(begins_elsewhen(record, last, 10)) == elsewhen


USED_UP, LAST = EXHAUSTED_EPOCH, EXHAUSTED_EPOCH + 1


@pytest.mark.parametrize(
    ("last", "record", "replaces"),
    [
        (step(COMPLETE_COMMIT, epoch=USED_UP), step(EMPTY, pid=2), True),
        (step(COMPLETE_COMMIT, epoch=USED_UP), step(EMPTY, pid=2, epoch=5), False),
        (step(COMPLETE_COMMIT, epoch=5), step(EMPTY, pid=2), False),
        (step(COMPLETE_COMMIT, epoch=USED_UP), step(ONGOING, pid=2), False),
        (step(ONGOING, epoch=USED_UP), step(PREPARE_COMMIT, pid=2), False),
        (step(PREPARE_ABORT, 1, LAST, 0, 2, 2), step(COMPLETE_ABORT, pid=2), True),
        (step(PREPARE_ABORT, 1, LAST, 0, 2, 2), step(COMPLETE_ABORT, pid=3), False),
        (step(PREPARE_ABORT, 1, LAST, 0, 2, 2), step(COMPLETE_ABORT, pid=2, epoch=3), False),
        (step(PREPARE_ABORT, 1, 1, 0, 2, 2), step(COMPLETE_ABORT, pid=2), False),
        # A decision raises the epoch, so it was taken in one that is not used up.
        (step(PREPARE_ABORT, 1, USED_UP, 0, 2, 2), step(COMPLETE_ABORT, pid=2), False),
        # 4.0 does not tell the next one, and older versions have none.
        (step(PREPARE_ABORT, 1, LAST, version=2), step(COMPLETE_ABORT, pid=2), True),
        (step(PREPARE_ABORT, 1, LAST), step(COMPLETE_ABORT, pid=2), False),
        # A text does not tell the version.
        (step(PREPARE_ABORT, 1, LAST, start=-2), step(COMPLETE_ABORT, pid=2), True),
    ],
)
def test_a_new_producer_id_comes_at_epoch_0(last: Step, record: Step, replaces: bool) -> None:
    assert holds(replaces_producer(record, last)) == replaces


@pytest.mark.parametrize(
    ("last", "record", "most"),
    [
        # InitProducerId raises no epoch that is used up.
        (step(COMPLETE_COMMIT, epoch=USED_UP), step(EMPTY, epoch=LAST), 0),
        (step(COMPLETE_COMMIT, epoch=USED_UP - 1), step(EMPTY, epoch=USED_UP), 1),
        (step(ONGOING), step(ONGOING), 0),
        (step(ONGOING), step(PREPARE_COMMIT), 0),
        (step(ONGOING), step(PREPARE_COMMIT, version=2), 1),
        (step(ONGOING), step(PREPARE_COMMIT, version=-1), 0),
        (step(ONGOING), as_of_version_2(step(PREPARE_COMMIT, version=-1)), 1),
        (step(ONGOING), as_of_version_2(step(PREPARE_COMMIT, version=1)), 0),
        # A text does not tell the version.
        (step(ONGOING), step(PREPARE_COMMIT, start=-2), 1),
        # A fence of 4.0.0 raises it by two under version 2, and needs a running transaction.
        (step(ONGOING, epoch=USED_UP), step(PREPARE_ABORT, epoch=LAST, version=2), 2),
        (step(ONGOING), step(PREPARE_ABORT, epoch=1), 1),
        (step(ONGOING), step(PREPARE_ABORT, epoch=1, version=-1), 2),
        (step(EMPTY), step(PREPARE_ABORT, version=2), 1),
        (step(PREPARE_COMMIT), step(COMPLETE_COMMIT), 0),
    ],
)
def test_a_step_raises_the_epoch_so_far(last: Step, record: Step, most: int) -> None:
    assert holds(most_raise(record, last) == most)


@pytest.mark.parametrize(
    ("prepare", "before", "raised"),
    [
        (Recorded(PREPARE_COMMIT, 1, 5, -1), Recorded(ONGOING, 1, 4, 2), True),
        (Recorded(PREPARE_COMMIT, 1, 5, -1), Recorded(ONGOING, 1, 5, 2), False),
        (Recorded(PREPARE_COMMIT, 1, 5, -1), Recorded(*[NO_RECORD] * 4), True),
        (Recorded(PREPARE_COMMIT, 1, 5, 0), Recorded(ONGOING, 1, 4, 2), False),
        (Recorded(PREPARE_COMMIT, 1, 5, 2), Recorded(ONGOING, 1, 4, 2), False),
    ],
)
def test_a_decision_may_have_raised_the_epoch_untold(
    prepare: Recorded, before: Recorded, raised: bool
) -> None:
    prepare, before = Recorded(*map(np.array, prepare)), Recorded(*map(np.array, before))
    assert holds(may_have_raised(prepare, before)) == raised


@pytest.mark.parametrize(
    ("last", "record", "follows"),
    [
        (step(EMPTY), step(PREPARE_ABORT, epoch=1, version=-1), True),
        (step(EMPTY), step(PREPARE_ABORT, version=-1), False),
        (step(EMPTY), step(PREPARE_ABORT, epoch=1, version=0), False),
        (step(ONGOING), step(PREPARE_ABORT, version=-1), True),
    ],
)
def test_an_abort_of_nothing_may_be_of_version_2(last: Step, record: Step, follows: bool) -> None:
    assert holds(may_follow_step(record, last)) == follows


def test_failed_fences_add_up_in_value_version_0_alone() -> None:
    for version, far in ((-1, 9), (0, 2), (1, 2), (2, 3)):
        for rise in range(1, 10):
            fence = step(PREPARE_ABORT, epoch=rise, version=version)
            assert holds(takes_up(fence, step(ONGOING))) == (rise <= far), (version, rise)
            assert holds(raised_by_failed_fences(fence, step(ONGOING))) == (rise <= far)
            assert not holds(raised_by_failed_fences(fence, step(EMPTY)))


RUNNING = Recorded(ONGOING, 1, 5, -1)


@pytest.mark.parametrize(
    ("record", "running", "version"),
    [
        (Recorded(PREPARE_COMMIT, 1, 5, -1), RUNNING, 0),
        (Recorded(PREPARE_COMMIT, 1, 6, -1), RUNNING, -1),
        (Recorded(PREPARE_COMMIT, 2, 5, -1), RUNNING, -1),
        (Recorded(PREPARE_COMMIT, 1, 5, 2), RUNNING, 2),
        (Recorded(PREPARE_COMMIT, 1, 5, -1), Recorded(*[NO_RECORD] * 4), -1),
        # By version 2 an abort goes on in the last epoch.
        (Recorded(PREPARE_ABORT, 1, 5, -1), RUNNING, -1),
        (Recorded(COMPLETE_COMMIT, 1, 5, -1), RUNNING, -1),
    ],
)
def test_a_commit_in_the_epoch_of_its_transaction_shows_an_older_version(
    record: Recorded, running: Recorded, version: int
) -> None:
    record, running = Recorded(*map(np.array, record)), Recorded(*map(np.array, running))
    assert int(shown_version(record, running)) == version


@pytest.mark.parametrize(
    ("earlier", "record", "too_high"),
    [
        (step(EMPTY), step(EMPTY, pid=2), False),
        (step(EMPTY), step(EMPTY, pid=2, epoch=5), True),
        # The tombstone failed late.
        (step(EMPTY), step(EMPTY, epoch=1), False),
        (step(EMPTY), step(EMPTY, epoch=2), True),
        (step(COMPLETE_ABORT), step(ONGOING), False),
        (step(COMPLETE_ABORT), step(ONGOING, epoch=1), True),
        (step(EMPTY), step(PREPARE_ABORT, epoch=1, version=2), False),
        # The new producer id failed late, too, and the one before it is in memory.
        (step(EMPTY, pid=2), step(ONGOING, epoch=USED_UP), False),
        (step(EMPTY, pid=2), step(PREPARE_ABORT, epoch=LAST, version=2), False),
        (step(ONGOING), step(EMPTY, pid=2, epoch=5), False),
    ],
)
def test_behind_a_tombstone_an_id_begins_or_goes_on(
    earlier: Step, record: Step, too_high: bool
) -> None:
    assert holds(begins_too_high(record, earlier)) == too_high


@pytest.mark.parametrize(
    ("last", "record", "kept"),
    [
        (step(PREPARE_ABORT, 1, LAST, 0, 2, 2), step(COMPLETE_ABORT, epoch=LAST, version=2), True),
        (step(PREPARE_ABORT, 1, LAST, 0, 2, 2), step(COMPLETE_ABORT, pid=2, version=2), False),
        (step(PREPARE_ABORT, 1, LAST, 0, 2, 2), step(COMPLETE_ABORT, epoch=LAST), False),
        (
            step(PREPARE_ABORT, 1, LAST, version=2),
            step(COMPLETE_ABORT, epoch=LAST, version=2),
            False,
        ),
        (step(PREPARE_ABORT, 1, LAST, 0, 2, 2), step(PREPARE_ABORT, 1, LAST, 0, 2, 2), False),
    ],
)
def test_an_announced_producer_id_is_taken_over(last: Step, record: Step, kept: bool) -> None:
    assert holds(keeps_announced(record, last)) == kept


@pytest.mark.parametrize(
    ("before", "prepare", "running", "tried", "epoch"),
    [
        (Recorded(ONGOING, 1, 4, 0), Recorded(PREPARE_COMMIT, 1, 4, 0), True, False, 4),
        (Recorded(ONGOING, 1, 4, 2), Recorded(PREPARE_COMMIT, 1, 5, 2), True, False, 4),
        (Recorded(PREPARE_ABORT, 1, 5, 2), Recorded(PREPARE_COMMIT, 1, 5, 2), False, True, 4),
        (Recorded(ONGOING, 2, 4, 2), Recorded(PREPARE_COMMIT, 1, 5, 2), False, False, 4),
        (Recorded(EMPTY, 1, 4, 2), Recorded(PREPARE_ABORT, 1, 5, 0), False, False, 5),
    ],
)
def test_a_decision_is_about_the_data_of_the_record_before(
    before: Recorded, prepare: Recorded, running: bool, tried: bool, epoch: int
) -> None:
    before, prepare = Recorded(*map(np.array, before)), Recorded(*map(np.array, prepare))
    assert bool(ends_running(prepare, before)) == running
    assert bool(tried_before(prepare, before)) == tried
    assert int(data_epoch(prepare, before)) == epoch
    nothing = Recorded(*[np.array(NO_RECORD)] * 4)
    assert int(data_epoch(prepare, nothing)) == int(epoch_by_version(prepare))


@pytest.mark.parametrize(
    ("before", "record", "again", "no_more"),
    [
        (step(ONGOING), step(PREPARE_ABORT, epoch=1), False, True),
        (step(ONGOING, pid=2), step(PREPARE_ABORT, epoch=1), False, False),
        (step(PREPARE_ABORT, epoch=1), step(PREPARE_ABORT, epoch=1), True, True),
        (step(PREPARE_COMMIT), step(PREPARE_ABORT, epoch=1), True, True),
        # Of another transaction: what lay between is gone.
        (step(PREPARE_ABORT, epoch=1), step(PREPARE_ABORT, epoch=1, start=7), False, False),
        (step(PREPARE_COMMIT), step(ONGOING), True, False),
        (step(PREPARE_ABORT, epoch=1), step(COMPLETE_ABORT, epoch=1), False, False),
        (step(COMPLETE_COMMIT), step(PREPARE_ABORT, epoch=1, version=2), False, False),
    ],
)
def test_what_is_tried_again_tells_no_more_of_its_data(
    before: Step, record: Step, again: bool, no_more: bool
) -> None:
    assert holds(is_tried_again(record, before)) == again
    assert holds(tells_no_more(record, before)) == no_more


def test_what_raises_the_epoch_proves_only_the_one_before() -> None:
    state = [ONGOING, EMPTY, EMPTY, PREPARE_ABORT, PREPARE_ABORT]
    state += [PREPARE_ABORT, PREPARE_COMMIT, COMPLETE_ABORT]
    epoch, version = [4, 4, 0, 4, 4, 4, 4, 4], [2, 0, 0, 1, 2, -1, -1, 2]
    same = np.ones(len(state), dtype=np.int64)
    told = epoch_in_effect(Recorded(np.array(state), same, np.array(epoch), np.array(version)))
    assert told.tolist() == [4, 3, -1, 4, 3, 4, 3, 4]


OF_STEP = {
    "state": [NO_STATE, EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT],
    "pid": [1, 1, 1, 2],
    "epoch": [0, 1, 2, EXHAUSTED_EPOCH],
    "start": [5, 5, -1, None],
    "timeout": [60_000, 60_000, 60_000, 0],
    "following": [-1, -1, 2],
    "version": [-1, 0, 2, None],
}
OF_TWO_STEPS = {f"{name}{which}": values for name, values in OF_STEP.items() for which in (1, 2)}
# What the decoder gives where a record does not tell it.
UNTOLD = {"version1": 0, "version2": 0, "start1": -2, "start2": -3}


def steps(row: dict) -> tuple[Step, Step]:  # type: ignore[type-arg]
    one, other = (Step(*[row[f"{name}{which}"] for name in OF_STEP]) for which in (1, 2))
    return one, other


@pytest.mark.spark
@pytest.mark.parametrize(
    "rule",
    [
        lacks_raise,
        may_follow_step,
        begins_too_high,
        keeps_announced,
        takes_up,
        is_completed_by,
        may_share_past,
        goes_below,
        may_have_failed_raise,
        replaces_producer,
    ],
)
def test_columns_say_what_arrays_say_of_two_steps(
    spark: SparkSession, rule: Callable[..., Any]
) -> None:
    known = {**OF_TWO_STEPS, "start1": [5, 6], "start2": [5, 6]}
    check_in_both_engines(spark, lambda row: rule(*steps(row)), known, UNTOLD)


@pytest.mark.spark
def test_columns_say_what_arrays_say_of_an_older_version(spark: SparkSession) -> None:
    check_in_both_engines(
        spark, lambda row: is_of_older_version(steps(row)[0]), OF_TWO_STEPS, UNTOLD
    )


@pytest.mark.spark
@pytest.mark.parametrize(
    ("rule", "absent"),
    [
        (adds_any_fences, UNTOLD),
        (tells_older_version, {**UNTOLD, "version1": -1}),
        (lambda record: as_of_version_2(record).transaction_version, {}),
        (lambda record: unless_told(record.transaction_version), {}),
    ],
)
def test_columns_say_what_arrays_say_of_an_untold_version(
    spark: SparkSession, rule: Callable[..., Any], absent: Mapping[str, int]
) -> None:
    check_in_both_engines(spark, lambda row: rule(steps(row)[0]), OF_TWO_STEPS, absent)


@pytest.mark.spark
def test_columns_say_what_arrays_say_of_a_raise(spark: SparkSession) -> None:
    choices = {**OF_TWO_STEPS, "epoch1": [USED_UP, LAST], "epoch2": [USED_UP - 1, USED_UP]}
    absent = {**UNTOLD, "version1": -1}
    check_in_both_engines(spark, lambda row: most_raise(*steps(row)), choices, absent)
    # As a text counts that does not tell it: the raise of a fence of 4.0.0 is not refused.
    by_version_2 = {**UNTOLD, "version1": 2}
    check_in_both_engines(
        spark, lambda row: raised_by_failed_fences(*steps(row)), OF_TWO_STEPS, by_version_2
    )


@pytest.mark.spark
@pytest.mark.parametrize("rule", [gave_way, ended_otherwise, is_tried_again, tells_no_more])
def test_columns_say_what_arrays_say_of_what_gave_way(
    spark: SparkSession, rule: Callable[..., Any]
) -> None:
    check_in_both_engines(spark, lambda row: rule(*steps(row)), OF_TWO_STEPS, UNTOLD)


@pytest.mark.spark
def test_columns_say_what_arrays_say_of_what_a_step_keeps(spark: SparkSession) -> None:
    of_a_record = {
        "state": OF_STEP["state"], "timeout": [60_000, 60_000, 0, TWO_PHASE_COMMIT_TIMEOUT],
        "start": [5, 6, None], "update": [5, 6], "listed": [1, 1, 2], "number": [1, 2],
    }  # fmt: skip
    choices = {f"{name}{which}": values for name, values in of_a_record.items() for which in (1, 2)}

    def rule(row: Mapping[str, Any]) -> Any:
        one, other = (
            KeptFields(*[row[f"{name}{which}"] for name in of_a_record]) for which in (1, 2)
        )
        return keeps(one, other)

    # A start that is not told differs from nothing.
    for start in (5, 6):
        known = choices | {"update1": [start]}
        check_in_both_engines(spark, rule, known, {"start1": start, "start2": start})

    def of_one(row: Mapping[str, Any]) -> Any:
        return began_before(KeptFields(*[row[f"{name}1"] for name in of_a_record]))

    check_in_both_engines(spark, of_one, choices | {"start1": [5, 6]}, {})

    def of_one_past(row: Mapping[str, Any]) -> Any:
        one, other = (
            KeptFields(*[row[f"{name}{which}"] for name in of_a_record]) for which in (1, 2)
        )
        return may_keep_one_past(one, other)

    told = choices | {"start1": [5, 6], "start2": [5, 6]}
    check_in_both_engines(spark, of_one_past, told, {})


@pytest.mark.spark
def test_columns_say_what_arrays_say_of_two_states(spark: SparkSession) -> None:
    check_in_both_engines(
        spark,
        lambda row: may_follow(row["state1"], row["version1"], row["state2"]),
        OF_TWO_STEPS,
        UNTOLD,
    )


@pytest.mark.spark
def test_columns_say_what_arrays_say_of_a_plain_step(spark: SparkSession) -> None:
    flags = {name: [True, True, False] for name in Lists._fields}
    choices = {**OF_TWO_STEPS, **flags, "update1": [9, 10, 10], "update2": [9, 10]}
    told = {"version1": 0, "version2": 0}
    check_in_both_engines(
        spark,
        lambda row: is_plain(
            *steps(row), row["update1"], row["update2"], Lists(*[row[name] for name in flags])
        ),
        choices,
        told,
    )


@pytest.mark.spark
def test_columns_say_what_arrays_say_of_a_begin(spark: SparkSession) -> None:
    choices = {**OF_TWO_STEPS, "start1": [5, 6], "update": [5, 6]}
    check_in_both_engines(
        spark, lambda row: begins_elsewhen(*steps(row), row["update"]), choices, UNTOLD
    )


@pytest.mark.spark
def test_columns_say_what_arrays_say_of_a_decision(spark: SparkSession) -> None:
    def recorded(row: dict, which: int) -> Recorded:  # type: ignore[type-arg]
        return Recorded(*[row[f"{name}{which}"] for name in ("state", "pid", "epoch", "version")])

    choices = {
        **OF_TWO_STEPS,
        "state2": [*OF_STEP["state"], None],
        "pid2": [1, 2, None],
        "epoch1": [0, 1, None],
    }
    for rule in (ends_running, tried_before):
        check_in_both_engines(
            spark, lambda row, rule=rule: rule(recorded(row, 1), recorded(row, 2)), choices, UNTOLD
        )
    absent = {**UNTOLD, "state2": NO_RECORD, "pid2": NO_RECORD}
    for rule in (is_clients_version, shares_epoch):
        check_in_both_engines(
            spark,
            lambda row, rule=rule: rule(recorded(row, 1), recorded(row, 2)),
            choices | {"epoch1": [0, 1]},
            absent,
        )
    check_in_both_engines(
        spark,
        lambda row: may_have_raised(recorded(row, 1), recorded(row, 2)),
        choices | {"epoch1": [0, 1]},
        absent,
    )
    check_in_both_engines(
        spark,
        lambda row: shown_version(recorded(row, 1), recorded(row, 2)),
        choices | {"epoch1": [0, 1], "version1": [-1, 0, 2]},
        absent,
    )
    check_in_both_engines(
        spark, lambda row: data_epoch(recorded(row, 1), recorded(row, 2)), choices, absent
    )
    check_in_both_engines(spark, lambda row: epoch_by_version(recorded(row, 1)), choices, UNTOLD)
    check_in_both_engines(spark, lambda row: epoch_in_effect(recorded(row, 1)), choices, UNTOLD)


@pytest.mark.spark
def test_columns_say_what_arrays_say_of_two_phase_commit(spark: SparkSession) -> None:
    choices = {name: [0, 60_000, TWO_PHASE_COMMIT_TIMEOUT, None] for name in ("one", "other")}
    check_in_both_engines(
        spark,
        lambda row: is_two_phase(row["one"], row["other"]),
        choices,
        dict.fromkeys(choices, 0),
    )
