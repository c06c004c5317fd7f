"""Claims about a record of the coordinator, and about the step to it from the one before."""

from jobs.report.recheck.batches import LAST_EPOCH, Record
from jobs.report.recheck.cases import Case
from jobs.report.recheck.coordinator_records import (
    AT_REST,
    COMPLETE,
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    PREPARED,
    State,
    identity,
    state_of,
)
from jobs.report.recheck.internal_topics import placed
from jobs.report.recheck.results import HoldsError
from jobs.report.recheck.transactional_ids import mine, named_states, states


def may_follow(a: State, b: State) -> bool:
    """Whether a coordinator makes that step."""
    before = {
        EMPTY: AT_REST,
        ONGOING: (ONGOING, *AT_REST),
        PREPARE_COMMIT: (ONGOING,),
        # From transaction.version 2 on a client may abort what it has not begun.
        PREPARE_ABORT: (ONGOING, *(AT_REST if b.client_version >= 2 else ())),
        COMPLETE_COMMIT: (PREPARE_COMMIT,),
        COMPLETE_ABORT: (PREPARE_ABORT,),
    }
    return a.state in before.get(b.state, ())


def invalid_step(case: Case) -> bool | None:
    """No coordinator makes that step, or begins so."""
    told = states(case)
    if len(told) == 1:
        return None if told[0] is None else told[0].state != EMPTY
    before, state = told[0], told[-1]
    if state is None:
        return None
    return state.state != EMPTY if before is None else not may_follow(before, state)


def wrong_places(a: State, b: State) -> bool:
    """Whether the partitions of b do not fit those of a."""
    mine, before = set(b.places), set(a.places)
    if b.state in AT_REST:
        return bool(mine)
    if a.state == ONGOING and b.state == ONGOING:
        return bool(before - mine)
    if b.state in PREPARED and a.state in (ONGOING, b.state):
        return mine != before
    return b.state == PREPARE_ABORT and a.state in AT_REST and bool(mine)


def places_invalid(case: Case) -> bool | None:
    """The partitions of a record do not fit its state, or the record before."""
    told = states(case)
    before, state = told[0], told[-1]
    if state is None or len(told) < 2:
        return None
    # After a tombstone an id is at rest.
    return bool(state.places) if before is None else wrong_places(before, state)


def wrong_start(a: State | None, b: State) -> bool:
    """Whether the start of a transaction does not fit its state."""
    if (b.state == EMPTY) != (b.start_ms < 0):
        return True
    if b.state != EMPTY and b.start_ms > b.update_ms:
        return True
    aborts_nothing = b.state == PREPARE_ABORT and b.client_version >= 2
    begins = a is not None and a.state in AT_REST and (b.state == ONGOING or aborts_nothing)
    if begins and b.start_ms != b.update_ms:
        return True
    runs = a is not None and a.state in (ONGOING, *PREPARED) and b.state != EMPTY
    return a is not None and runs and a.start_ms != b.start_ms


def start_invalid(case: Case) -> bool | None:
    """The start of a transaction does not fit its state, or the record before."""
    told = states(case)
    state = told[-1]
    return None if state is None else wrong_start(told[0] if len(told) > 1 else None, state)


def epoch_jump(a: State, b: State) -> bool:
    """Whether the epoch rises by more, or less, than the step allows."""
    rise = b.epoch - a.epoch
    if a.producer != b.producer:
        return False
    keeps = b.state == ONGOING or b.state in COMPLETE
    keeps |= b.state == PREPARE_COMMIT and b.client_version < 2
    lazy = b.state in PREPARED and b.client_version >= 2 and rise == 0
    used_up = b.state == EMPTY and a.epoch >= LAST_EPOCH - 1
    return rise > 1 or (rise == 1 and (keeps or used_up)) or lazy


def before_tombstone(case: Case) -> State:
    """The record of the id before that of the finding; behind a tombstone, the one before that."""
    before, proof = states(case)[0], case.proofs[-1]
    if before is None:
        behind = [e for e in mine(case, [proof.path.parent]) if e.offset < proof.batch.base]
        before = next((one.state for one in reversed(behind) if one.state), None)
    if before is None:
        raise HoldsError("no record of the id with a producer epoch lies before the tombstone")
    return before


def jumps(case: Case) -> bool | None:
    """The epoch rises too far; behind a tombstone a new producer id does not begin at 0."""
    told = states(case)
    state = told[-1]
    if state is None or len(told) < 2:
        return None
    before = before_tombstone(case)
    anew = told[0] is None and before.producer != state.producer and state.epoch > 0
    return anew or epoch_jump(before, state)


def lower_epoch(case: Case) -> bool | None:
    """The producer epoch goes down; behind a tombstone, against the record before that."""
    told = states(case)
    state = told[-1]
    if state is None or len(told) < 2:
        return None
    before = before_tombstone(case)
    return before.producer == state.producer and state.epoch < before.epoch


def timeout_out_of_range(case: Case) -> bool | None:
    """A timeout that no coordinator accepts; its upper limit is that of the finding."""
    state = states(case)[-1]
    limits = [int(word) for word in str(case.finding.get("expected")).split() if word.isdigit()]
    return None if state is None else not 0 < state.timeout_ms <= max(limits, default=1 << 31)


def forgotten_inside(case: Case) -> bool | None:
    """A tombstone follows a running transaction."""
    before, state = states(case)[0], states(case)[-1]
    return state is None and before is not None and before.state in (ONGOING, *PREPARED)


def read_state(record: Record) -> None:
    """Reads a record of `__transaction_state`; raises ValueError where it is none."""
    identity(record.key)
    state_of(record.value)


def odd_batch(case: Case) -> bool | None:
    """A batch of `__transaction_state` that no coordinator writes."""
    batch = case.proofs[-1].batch
    if batch.codec or batch.transactional or batch.producer >= 0:
        return True
    return batch.count > 1 and any(one.value is not None for one in batch.records())


def misplaced(case: Case) -> bool | None:
    """The id of a record belongs to another partition; how many there are the finding tells."""
    name, number = named_states(case)[-1][0], case.place[1]
    told = [int(one) for one in str(case.finding.get("expected")).split() if one.isdigit()]
    return placed(name, told[-1]) != number if told else None
