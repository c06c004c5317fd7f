"""The Prepare records that decide a transaction: those named, those of an epoch, those given up."""

from pathlib import Path

from jobs.report.recheck.cases import Case
from jobs.report.recheck.coordinator_logs import Entry, entries_of
from jobs.report.recheck.coordinator_records import (
    COMMITTED,
    COMPLETE,
    ONGOING,
    PREPARE_COMMIT,
    PREPARED,
    State,
    state_of,
)
from jobs.report.recheck.evidence import PREPARE_RECORD, Proof
from jobs.report.recheck.results import HoldsError, RefutedError
from jobs.report.recheck.transactional_ids import following, mine


def prepared(case: Case) -> State | None:
    """The decision that is named, of the finding's producer; None where none is."""
    producer = case.finding.get("producer_id")
    for one in case.proofs:
        if one.role == PREPARE_RECORD:
            found = [state_of(record.value) for record in one.batch.records()]
            mine_ = [state for state in found if state and state.producer == producer]
            decided = [state for state in mine_ if state.state in (*PREPARED, *COMPLETE)]
            if not decided:
                raise RefutedError("the batch has no Prepare record of the producer")
            return decided[-1]
    return None


def gave_way(prepare: Entry, behind: Entry | None) -> bool:
    """Whether the next record of its id shows that a Prepare record was never in effect.

    It goes on with the transaction, or completes it the other way: then the record to which the
    decision gave way is missing between.
    """
    if not (prepare.state and behind and behind.state and prepare.state.state in PREPARED):
        return False
    one, other = prepare.state, behind.state
    if (one.producer, one.start_ms) != (other.producer, other.start_ms):
        return False
    if other.state in COMPLETE:
        otherwise = (one.state in COMMITTED) != (other.state in COMMITTED)
        return otherwise and lacks_records(prepare.folder, prepare.offset, behind.offset)
    return other.state in (ONGOING, *PREPARED)


def lacks_records(folder: Path, first: int, last: int) -> bool:
    """Whether records of the coordinator between two offsets may be missing."""
    try:
        entries_of(folder)[1].require_complete(first, last)
    except HoldsError:
        return True
    return False


def not_given_up(entries: list[Entry]) -> list[Entry]:
    """Records of the coordinator, without the Prepare records that gave way."""
    logs: dict[tuple[Path, str], list[Entry]] = {}
    for one in entries:
        logs.setdefault((one.folder, one.transactional_id), []).append(one)
    return [
        one
        for log in logs.values()
        for one, behind in zip(log, [*log[1:], None], strict=True)
        if not gave_way(one, behind)
    ]


def decisions(
    case: Case, producer: int, epoch: int, kind: int | None, listing: bool,
    entries: list[Entry] | None = None,
) -> list[Entry]:  # fmt: skip
    """Prepare records of a producer's epoch; `kind`: of this outcome, `listing`: the partition.

    Of the finding's transactional id, or of `entries`. None that gave way: it was never in the
    coordinator's memory.
    """
    found = {
        (one.folder.name, one.offset): one
        for one in not_given_up(case.of_id() if entries is None else entries)
        if one.state
        and (one.state.producer, one.state.epoch) == (producer, epoch)
        and one.state.state in PREPARED
        and kind in (None, int(one.state.state == PREPARE_COMMIT))
        and (not listing or case.place in one.state.places)
    }
    return list(found.values())


def went_on_unseen(case: Case, record: Proof) -> Entry | None:
    """The record with which an id went on behind a decision whose Complete record is lost."""
    behind = next((one for one in following(case, record) if one.readable), None)
    inside = range(record.batch.base, record.batch.last + 1)
    of_log = case.dump.entries([record.path.parent], behind.transactional_id) if behind else []
    prepare = next((one for one in of_log if one.offset in inside), None)
    if behind is None or prepare is None or prepare.state is None or gave_way(prepare, behind):
        return None
    if behind.state is None or behind.state.state not in COMPLETE:
        return behind
    return None if behind.state.start_ms == prepare.state.start_ms else behind


def without_prepare(case: Case, complete: Entry) -> bool:
    """A Complete record has no Prepare record in front of it, and none can be missing there."""
    copy = entries_of(complete.folder)[1]
    name = complete.transactional_id
    earlier = [
        one.offset
        for one in mine(case, [complete.folder])
        if one.transactional_id == name and one.offset < complete.offset
    ]
    if not earlier:
        raise HoldsError("only the Complete record of the decision is left")
    copy.require_complete(earlier[-1], complete.offset)
    return True
