"""Claims about a marker and the decision of the coordinator that it belongs to."""

from jobs.report.recheck.batches import ABORT, COMMIT, Batch
from jobs.report.recheck.cases import Case
from jobs.report.recheck.coordinator_logs import Entry
from jobs.report.recheck.coordinator_records import (
    COMMITTED,
    COMPLETE,
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    PREPARED,
)
from jobs.report.recheck.decisions import decisions, not_given_up, prepared, without_prepare
from jobs.report.recheck.ended_transactions import count_markers, ended_by, ended_data
from jobs.report.recheck.evidence import MARKERS, PREPARE_RECORD, Proof
from jobs.report.recheck.results import HoldsError
from jobs.report.recheck.transactional_ids import following

# By how much the clocks of two brokers may differ.
CLOCKS_APART_MS = 60_000


def marker_of(case: Case) -> tuple[Proof, int, int] | None:
    """The marker that is named, its control type and coordinator epoch."""
    for one in case.proofs:
        if one.role in MARKERS:
            return one, *one.batch.marker()
    return None


def other_outcome(case: Case) -> bool | None:
    """A marker of the other outcome than the decision of its epoch."""
    state, marker = prepared(case), marker_of(case)
    if marker is None:
        return None
    proof, kind, _ = marker
    if state is not None:
        other = (kind == COMMIT) != (state.state in COMMITTED)
        return other and state.epoch == proof.batch.epoch
    entries = case.of_id()
    decided = {
        one.state.state in COMMITTED
        for one in not_given_up(entries)
        if one.state
        and (one.state.producer, one.state.epoch) == (proof.batch.producer, proof.batch.epoch)
        and one.state.state in (*PREPARED, *COMPLETE)
    }
    if not decided:
        raise HoldsError("no record of the decision is left")
    if len(decided) > 1:
        raise HoldsError("the epoch was ended both ways: of which transaction it is, is open")
    return decided == {kind != COMMIT}


def torn(case: Case) -> bool | None:
    """An ABORT of the data's own epoch, of a transaction that was committed and lists it."""
    state, marker = prepared(case), marker_of(case)
    if state is None or marker is None:
        return None
    proof, kind, _ = marker
    raised = int(state.client_version >= 2)
    if kind != ABORT or state.state not in COMMITTED:
        return False
    if state.epoch != proof.batch.epoch + raised:
        return False
    if state.state in PREPARED and case.place not in state.places:
        return False
    if raised:
        # Late data of an older transaction of the epoch hang until an operator aborts them.
        owners = decisions(case, state.producer, proof.batch.epoch, None, listing=True)
        if any(one.state and one.state.client_version < 2 for one in owners):
            raise HoldsError("transactions of older versions have the epoch: whose data, is open")
        return True
    # Of transactions that share an epoch one has no COMMIT here.
    commits = count_markers(case, proof, state.epoch, COMMIT)
    return commits < len(decisions(case, state.producer, state.epoch, COMMIT, listing=True))


def begun(entry: Entry, marker: Batch) -> bool:
    """Whether the transaction of a record may have begun when a marker was written."""
    return entry.state is not None and entry.state.start_ms <= marker.newest + CLOCKS_APART_MS


def undecided(case: Case) -> bool | None:
    """The coordinator's records have no decision for the marker, of what had begun by then."""
    marker = marker_of(case)
    if marker is None:
        return None
    proof, kind, _ = marker
    batch = proof.batch
    entries = case.of_id()
    mine_ = [e for e in entries if e.state and e.state.producer == batch.producer]
    of_epoch = [e for e in mine_ if e.state and e.state.epoch == batch.epoch and begun(e, batch)]
    every = decisions(case, batch.producer, batch.epoch, kind, listing=False)
    decided = [one for one in every if begun(one, batch)]
    same = [COMPLETE_ABORT, COMPLETE_COMMIT][kind]
    raised = [e for e in of_epoch if e.state and e.state.client_version >= 2]
    if not decided:
        told = [e for e in raised if e.state and e.state.state == same]
        return all(without_prepare(case, one) for one in told)
    if any(e.state and e.state.client_version >= 2 for e in decided):
        return False
    # Transactions share the epoch. Decisions that do not list the partition are none of its own.
    listed = [e for e in every if e.state and case.place in e.state.places]
    copy = case.copy(proof)
    early = all(e.moment_ms > batch.newest for e in listed)
    surplus = early or ended_by(copy, batch, kind) > len(listed)
    if not surplus and copy.begin > 0:
        raise HoldsError(f"this copy begins at offset {copy.begin}: what was before it is gone")
    return surplus


def marker_not_listed(case: Case) -> bool | None:
    """The epoch was decided so, but no decision lists the partition."""
    state, marker = prepared(case), marker_of(case)
    if state is None or marker is None:
        return None
    proof, kind, _ = marker
    if (state.producer, state.epoch) != (proof.batch.producer, proof.batch.epoch):
        return False
    same = (state.state in COMMITTED) == (kind == COMMIT)
    if same and case.place in state.places:
        return False
    # The newest decision of an epoch is named, which may have another outcome.
    if not same and not decisions(case, state.producer, state.epoch, kind, listing=False):
        return False
    return not decisions(case, state.producer, state.epoch, kind, listing=True)


def ended_too_many(case: Case) -> bool | None:
    """At the marker more transactions of the epoch had been ended than were decided by then."""
    marker = marker_of(case)
    if marker is None:
        return None
    proof, kind, _ = marker
    batch = proof.batch
    ended = ended_by(case.copy(proof), batch, kind, batch.base)
    decided = decisions(case, batch.producer, batch.epoch, kind, listing=True)
    return ended > sum(one.moment_ms <= batch.newest for one in decided)


def other_protocol(case: Case) -> bool | None:
    """A COMMIT has the epoch of its data under version 2, or a higher one under version 0 and 1."""
    state, marker = prepared(case), marker_of(case)
    if state is None or marker is None:
        return None
    proof, kind, _ = marker
    data = ended_data(case.copy(proof), case.head(proof))
    if kind != COMMIT or not data:
        return False
    raised = proof.batch.epoch > max(one.batch.epoch for one in data)
    return raised != (state.client_version >= 2)


def other_coordinator(case: Case) -> bool | None:
    """A coordinator epoch below the leader epoch of the decision, or above that of its end."""
    marker = marker_of(case)
    record = next((one for one in case.proofs if one.role == PREPARE_RECORD), None)
    if marker is None or record is None:
        return None
    proof, _, epoch = marker
    told = case.text.strip()
    if told.isdigit() and int(told) != epoch:
        later = [o.coordinator for o in case.copy(proof).of(proof.batch.producer) if o.ends]
        if int(told) not in later:
            return False
        epoch = int(told)
    if epoch < record.batch.leader:
        return True
    end = next(iter(following(case, record)), None)
    if end is not None and epoch > end.leader:
        return True
    batch = proof.batch
    if len(decisions(case, batch.producer, batch.epoch, None, listing=True)) > 1:
        raise HoldsError("several decisions share the epoch: whose marker it is, is open")
    return False


def before_decision(case: Case) -> bool | None:
    """The marker is older than the record that decides it."""
    marker = marker_of(case)
    record = next((one for one in case.proofs if one.role == PREPARE_RECORD), None)
    if marker is None or record is None:
        return None
    return marker[0].batch.newest < record.batch.newest
