"""What is folded away of the coordinator's log, and beside what the rest still stands."""

import random

import numpy as np

from schemas.coordinator_states import (
    COMPLETE_COMMIT,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
)
from udfs.rules.coordinator_step import TRANSACTION_VERSION_2
from udfs.wire.coordinator.txn_log_chain import States, chain, fold_states, plain_steps, told_by

T0 = 1_700_000_000_000
LISTS = [(), ("orders-0",), ("orders-0", "orders-1")]
NONE, ONE, TWO = range(3)


def of_rows(rows: list[tuple[int, ...]]) -> States:
    columns = np.array(rows, dtype=np.int64).reshape(-1, 8).T
    return States(*columns, transaction_version=np.full(len(rows), TRANSACTION_VERSION_2))


def transaction(identity: int, epoch: int, number: int) -> list[tuple[int, ...]]:
    """A commit under transaction.version 2: its epoch is raised by the Prepare record."""
    began = T0 + 10 * number
    return [
        (identity, 7 + identity, epoch, 60_000, ONGOING, ONE, began, began),
        (identity, 7 + identity, epoch, 60_000, ONGOING, TWO, began + 1, began),
        (identity, 7 + identity, epoch + 1, 60_000, PREPARE_COMMIT, TWO, began + 2, began),
        (identity, 7 + identity, epoch + 1, 60_000, COMPLETE_COMMIT, NONE, began + 3, began),
    ]


def log(transactions: int, ids: int = 1) -> list[tuple[int, ...]]:
    return [
        row
        for number in range(transactions)
        for identity in range(ids)
        for row in transaction(identity, number, number)
    ]


def folding(rows: list[tuple[int, ...]], whole: bool = True):  # type: ignore[no-untyped-def]
    states = of_rows(rows)
    chained = chain(states.identity)
    return fold_states(states, chained, np.full(len(rows), whole), LISTS)


def test_a_chain_takes_the_records_of_each_id_together() -> None:
    chained = chain(np.array([4, 9, 4, 4, 9], dtype=np.int64))
    assert chained.previous.tolist() == [-1, -1, 0, 2, 1]
    assert chained.following.tolist() == [2, 4, 3, -1, -1]
    assert chained.place.tolist() == [0, 0, 1, 2, 1]
    assert chained.size.tolist() == [3, 2, 3, 3, 2]
    assert chain(np.empty(0, dtype=np.int64)).place.size == 0


def test_tries_of_a_decision_are_told_by_what_stands_in_front_of_them() -> None:
    first, anew = (3, 10, 5, 60_000, ONGOING, ONE, T0, T0), (3, 10, 8, 60_000, EMPTY, NONE, T0, -1)
    tries = [(3, 10, 6, 60_000, PREPARE_ABORT, ONE, T0 + n, T0) for n in range(1, 4)]
    other = (4, 11, 0, 60_000, ONGOING, ONE, T0, T0)
    rows = [first, other, tries[0], tries[1], other, tries[2], anew]
    states = of_rows(rows)
    assert told_by(states, chain(states.identity)).tolist() == [-1, -1, 0, 0, 1, 0, 5]
    assert folding(rows).decided.tolist() == [False, False, True, True, False, True, False]


def test_tries_whose_first_record_may_lie_in_another_split_are_not_decided_in_it() -> None:
    tries = [(3, 10, 6, 60_000, PREPARE_ABORT, ONE, T0 + n, T0) for n in range(1, 4)]
    anew = (3, 10, 8, 60_000, EMPTY, NONE, T0, -1)
    states = of_rows([*tries, anew])
    assert told_by(states, chain(states.identity)).tolist() == [-1, 0, 0, 2]
    found = folding([*tries, anew])
    assert not found.decided.any()
    assert not found.folded.any()


def test_of_plain_transactions_only_the_ends_are_kept() -> None:
    found = folding(log(transactions=5, ids=3))
    assert (~found.folded).sum() == 3 * 5
    assert found.decided.sum() == 3 * 5


def test_a_step_that_is_not_plain_keeps_the_records_that_it_may_be_taken_from() -> None:
    rows = log(transactions=5)
    rows[10] = (*rows[10][:2], 9, *rows[10][3:])
    found = folding(rows)
    assert np.flatnonzero(~found.folded).tolist() == [0, 1, 7, 8, 9, 10, 11, 17, 18, 19]
    assert not found.judged[[10, 11]].any()


def test_an_id_with_records_of_another_kind_is_kept_whole() -> None:
    found = folding(log(transactions=5), whole=False)
    assert not (found.folded.any() or found.judged.any() or found.decided.any())


def test_the_last_record_of_an_id_is_never_judged_alone() -> None:
    found = folding(log(transactions=2))
    assert found.judged.tolist() == [False] + [True] * 6 + [False]


def test_steps_that_no_healthy_coordinator_makes_are_not_plain() -> None:
    good = log(transactions=2)
    assert plain_steps(of_rows(good), chain(of_rows(good).identity).previous, LISTS)[1:].all()
    names = States._fields
    changes = [
        (2, "producer_epoch", 5),
        (2, "producer_id", 99),
        (2, "listed", ONE),
        (1, "listed", NONE),
        (3, "listed", ONE),
        (3, "status", EMPTY),
        (2, "status", PREPARE_ABORT),
        (4, "status", PREPARE_ABORT),
        (1, "start_ms", T0 + 1),
        (4, "start_ms", -1),
        (2, "timeout_ms", 1),
        (2, "last_update_ms", T0 - 1),
    ]
    for at, name, value in changes:
        rows = [list(row) for row in good]
        rows[at][names.index(name)] = value
        states = of_rows([tuple(row) for row in rows])
        plain = plain_steps(states, chain(states.identity).previous, LISTS)
        judged_alike = (at, name, value) == (2, "status", PREPARE_ABORT)
        assert plain[at] == judged_alike, (at, name)
        assert not plain[1:].all(), (at, name)


def test_what_remains_stands_beside_the_same_records() -> None:
    """Of every record that is still judged, the two before it are those of the whole log."""
    chance = random.Random(20)
    for _ in range(50):
        rows = [list(row) for row in log(transactions=8, ids=2)]
        for _ in range(chance.randrange(4)):
            rows[chance.randrange(len(rows))][chance.choice((1, 2, 4, 5))] = chance.randrange(3)
        states = of_rows([tuple(row) for row in rows])
        whole = chain(states.identity)
        found = fold_states(states, whole, np.full(len(rows), True), LISTS)
        left = np.flatnonzero(~found.folded)
        remaining = chain(states.identity[left])
        for here in range(left.size):
            if found.judged[left[here]]:
                continue
            one, other = here, int(left[here])
            for _ in range(2):
                one, other = int(remaining.previous[one]), int(whole.previous[other])
                assert (left[one] if one >= 0 else -1) == other
                if one < 0:
                    break


def test_all_back_to_the_last_complete_record_is_kept_of_what_is_judged_later() -> None:
    """Of each step that is not plain, and of the end of the split, where the next may be one."""
    chance = random.Random(21)
    for _ in range(50):
        rows = [list(row) for row in log(transactions=8, ids=2)]
        for _ in range(chance.randrange(9)):
            rows[chance.randrange(len(rows))][4] = chance.randrange(6)
        states = of_rows([tuple(row) for row in rows])
        whole = chain(states.identity)
        found = fold_states(states, whole, np.full(len(rows), True), LISTS)
        plain = plain_steps(states, whole.previous, LISTS)
        ends = np.flatnonzero((whole.following < 0) & (states.status < COMPLETE_COMMIT))
        for at in [*np.flatnonzero(~plain), *ends]:
            older = int(whole.previous[at])
            while older >= 0:
                assert not found.folded[older]
                if states.status[older] >= COMPLETE_COMMIT:
                    break
                older = int(whole.previous[older])
