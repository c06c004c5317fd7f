"""The coordinator's records of a finding's transactional id, and claims about first and last."""

from collections.abc import Callable
from pathlib import Path

from jobs.report.recheck.cases import Case, Claim
from jobs.report.recheck.coordinator_logs import Entry, entries_of
from jobs.report.recheck.coordinator_records import ONGOING, PREPARED, State, identity, state_of
from jobs.report.recheck.evidence import Proof
from jobs.report.recheck.results import HoldsError, RefutedError


def named_states(case: Case) -> list[tuple[str, State | None]]:
    """Transactional id and state of the coordinator's records in the batches that are named."""
    wanted, first = case.finding.get("transactional_id"), case.finding.get("offset_first")
    found = []
    for number, proof in enumerate(case.proofs):
        last = number == len(case.proofs) - 1
        of_id = [
            one
            for one in proof.batch.records()
            if (wanted is None or not last or identity(one.key) == wanted)
            and (not last or first in (None, one.offset))
        ]
        same_id = [one for one in of_id if wanted is None or identity(one.key) == wanted]
        if not of_id:
            raise RefutedError("the batch has no record of the transactional id at that offset")
        record = (same_id or of_id)[-1]
        found.append((identity(record.key), state_of(record.value)))
    return found


def states(case: Case) -> list[State | None]:
    """The coordinator's records of one id in the batches named, None for a tombstone."""
    told = named_states(case)
    if len({one for one, _ in told}) > 1:
        raise RefutedError("the batches have records of different transactional ids")
    return [state for _, state in told]


def of_state(says: Callable[[State], bool]) -> Claim:
    """A claim about a record of the coordinator."""

    def claim(case: Case) -> bool | None:
        state = states(case)[-1]
        return None if state is None else says(state)

    return claim


def of_states(says: Callable[[State, State], bool]) -> Claim:
    """A claim about a record of the coordinator and the one before it."""

    def claim(case: Case) -> bool | None:
        before, state, *_ = [*states(case), None]
        return None if before is None or state is None else says(before, state)

    return claim


def mine(case: Case, folders: list[Path]) -> list[Entry]:
    """Records of the finding's transactional id in the order of the log; of one copy a number."""
    wanted = case.finding.get("transactional_id")
    found = case.dump.entries(folders, wanted)
    return sorted({(e.folder.name, e.offset): e for e in found}.values(), key=lambda e: e.offset)


def following(case: Case, proof: Proof) -> list[Entry]:
    """Records behind one that is named, in its copy, of the id of that one.

    That is another one than the finding's where a fault gave two ids one producer id.
    """
    folder, batch = proof.path.parent, proof.batch
    inside = [one for one in entries_of(folder)[0] if batch.base <= one.offset <= batch.last]
    names = {one.transactional_id for one in inside if one.readable}
    ours = case.finding.get("transactional_id")
    if ours is None or ours in names or len(names) != 1:
        behind = mine(case, [folder])
    else:
        behind = case.dump.entries([folder], names.pop())
    return [one for one in behind if one.offset > batch.last]


def newest_of_id(case: Case) -> Entry | None:
    """The last record of the finding's transactional id; None without an id, or without one."""
    name = case.finding.get("transactional_id")
    return None if name is None else case.dump.newest(name)


def newest_state(case: Case) -> tuple[Entry, State]:
    """The last record of the finding's transactional id, and its state. Raises HoldsError."""
    newest = newest_of_id(case)
    if newest is None or newest.state is None:
        raise HoldsError("no record of the transactional id is in the dump")
    return newest, newest.state


def last_of_id(case: Case) -> bool | None:
    """The record is the last one of its id in every copy."""
    proof = case.proofs[-1]
    copies = [one for one in case.dump.txn_logs if one.name == proof.path.parent.name]
    behind = (one for one in mine(case, copies) if one.offset > proof.batch.last)
    return all(case.dump.told_by_another(one) for one in behind)


def outlived_timeout(case: Case) -> bool | None:
    """The copy of the log goes on for longer than the timeout of the record."""
    state = states(case)[-1]
    if state is None or state.state not in (ONGOING, *PREPARED):
        return False
    until = max(case.dump.as_of or -1, case.copy(case.proofs[-1]).newest_ms)
    # A start of -1 is added as it is, as the coordinator does.
    if until <= state.start_ms + state.timeout_ms:
        raise HoldsError("it is the last record of the id; its age needs the moment of the audit")
    return True


def first_of_id(case: Case) -> bool | None:
    """No record of the id lies before, in a log that is whole from its begin on."""
    proof = case.proofs[-1]
    copy = case.copy(proof)
    copy.require_complete(-1, proof.batch.base)
    if copy.begin > 0:
        raise HoldsError(f"this copy begins at offset {copy.begin}")
    return not any(one.offset < proof.batch.base for one in mine(case, [proof.path.parent]))
