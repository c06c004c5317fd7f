"""Claims that a partition lacks the marker of a decision that lists it."""

from jobs.report.recheck.batches import ABORT, COMMIT
from jobs.report.recheck.cases import Case
from jobs.report.recheck.coordinator_records import COMMITTED, COMPLETE, PREPARE_COMMIT, PREPARED
from jobs.report.recheck.decisions import decisions, prepared, went_on_unseen
from jobs.report.recheck.internal_topics import TXN_LOG
from jobs.report.recheck.results import HoldsError
from jobs.report.recheck.transactional_ids import following, last_of_id


def lacks_marker(case: Case) -> bool | None:
    """A decision that was carried out lists the partition, and has no marker in this copy."""
    state = prepared(case)
    if state is None:
        return None
    if state.state not in PREPARED or case.place not in state.places:
        return False
    data, record = case.proofs[0], case.proofs[-1]
    kind = int(state.state == PREPARE_COMMIT)
    after, unseen = next(iter(following(case, record)), None), went_on_unseen(case, record)
    completed_by = after is not None and after.state and after.state.state in COMPLETE
    if after is None or not (completed_by or unseen):
        raise HoldsError("the decision is not followed by its Complete record in this copy")
    if TXN_LOG in data.path.parent.name:
        # Data and marker are both gone; that the copy held something older is the audit's word.
        folder = case.dump.folder(case.place, case.finding.get("broker"))
        copy, begin = case.dump.copy(folder), int(case.finding.get("offset_first") or 0)
    else:
        copy, begin = case.copy(data), data.batch.base
    # Offsets that are missing behind the data hold no marker in this copy, either.
    copy.require_readable(begin)
    if unseen:
        # Which attempt took effect is not known: a marker of either outcome and any epoch may be.
        begun, gone_on = record.batch.newest, unseen.moment_ms
        ends = [one.batch.newest for one in copy.of(state.producer) if one.ends]
        return not any(begun <= moment <= gone_on for moment in ends)
    found = [o for o in copy.of(state.producer) if o.kind == kind and o.batch.epoch == state.epoch]
    if state.client_version >= 2 and not found:
        return True
    # A fault may give a second id the producer id; then both ids' decisions need these markers.
    of_all = case.dump.entries(case.dump.logs_of_producer(state.producer), None)
    ids = {o.transactional_id for o in of_all if o.state and o.state.producer == state.producer}
    if state.client_version >= 2 and len(ids) == 1:
        return False
    behind = [one for one in found if one.batch.base > begin]
    completed = decisions(case, state.producer, state.epoch, kind, listing=True, entries=of_all)
    if len(found) < len(completed):
        return True
    if found and len(ids) > 1:
        raise HoldsError("two ids have the producer id: whose markers these are, is open")
    if behind:
        # One of another time may be that of a decision that this copy of the log has not.
        in_time = [o for o in behind if state.update_ms <= o.batch.newest <= after.moment_ms]
        if len(completed) > 1 or not in_time:
            raise HoldsError("several decisions share the epoch: whose markers these are, is open")
        return False
    # Markers before the data are of earlier transactions, if the data are not of a later one.
    if found and data.batch.newest > state.update_ms and data.path != record.path:
        raise HoldsError("the data may be of a transaction behind the decision")
    return True


def no_marker_yet(case: Case) -> bool | None:
    """A decision is the last record of its id, lists the partition, and has no marker there."""
    state = prepared(case)
    if state is None or state.state not in PREPARED or case.place not in state.places:
        return False
    if not last_of_id(case):
        return False
    copy = case.dump.copy(case.dump.folder(case.place, case.finding.get("broker")))
    copy.require_readable()
    raised = state.client_version >= 2
    kind = COMMIT if state.state in COMMITTED else ABORT
    heads = copy.of(state.producer)
    ends = [one for one in heads if one.kind == kind and one.batch.epoch == state.epoch]
    return not ends if raised else not ends or ends[-1].batch.newest < state.update_ms
