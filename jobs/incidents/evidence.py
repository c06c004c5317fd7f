"""What the metadata log shows of a cause: who led what is affected, and when nobody did. Pure.

A moment of a decision has the coordinator's clock, one of a leader the controller's.
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from jobs.incidents.signature import LOST, MISSING_MARKER
from jobs.model.moment import moment

UNCLEAN, NO_LEADER = "leader_elected_uncleanly", "no_leader"
OF_LEADERS = ("leader_elected", UNCLEAN, NO_LEADER)
# A broker of which one batch of the controller says that it is gone and what it led has no leader.
OF_LEAVING = ("broker_fenced", "broker_registered", "broker_stopping")
CUT, SKIPPED, LATE = "unclean_election", "skipped_markers", "late_write"
# The kinds of which the metadata log may have evidence.
CONCERNED = (CUT, SKIPPED, LATE)
# How far around what is affected changes of brokers and leaders are told to belong to it, ms.
AROUND_MS = 600_000
# How long nobody leads a partition of which the log has no further change, ms.
NEAR_MS = 120_000


class Change(NamedTuple):
    """A partition has another leader (`broker`), or none; `event`: one of OF_LEADERS."""

    at_ms: int
    event: str
    broker: int | None = None


class Found(NamedTuple):
    """A violation at one place.

    `at`: when its transaction was decided or its data began, ms; `completed`: when its decision
    was, None where that is not known; `last`: its last offset, None for none.
    """

    label: str
    at: int | None
    completed: int | None
    last: int | None = None


class Seen(NamedTuple):
    """What the metadata log has of one place of an incident.

    `whole`: behind each of the violations a leader was elected that was not in sync; `cut_ms` and
    `cut_broker` are the first one behind the first violation, with data in the log from `begin` on,
    and `since_ms` the moment of the decision that it may have cut off. `gone_ms`: when the leader
    was lost, where the decision of a violation was completed (`completed_ms`) before there was
    another. All None where there is none.
    """

    incident: int
    partition_index: int | None
    topic: str
    partition: int
    whole: bool = False
    cut_ms: int | None = None
    cut_broker: int | None = None
    begin: int | None = None
    since_ms: int | None = None
    gone_ms: int | None = None
    completed_ms: int | None = None


def kind_by(kind: str, proven: bool, seen: Sequence[Seen]) -> str:
    """The signature of an incident, as far as the controller's records contradict the findings.

    A marker that a cut took without any data leaves the traces of one that was never written, or of
    data that came late. The records of the controller tell them apart: in each partition a leader
    that was not in sync was elected behind the decision, or behind the data. `proven`: the findings
    prove the signature by themselves. `seen`: of each place of the incident.
    """
    if kind not in (SKIPPED, LATE) or proven or evidence(kind, seen) is not None:
        return kind
    return CUT if seen and all(one.whole for one in seen) else kind


def evidence(kind: str, seen: Sequence[Seen]) -> str | None:
    """A sentence, where the controller's records show what the signature of an incident says.

    `seen`: see `kind_by`.
    """
    if kind == CUT:
        return _unclean([one for one in seen if one.cut_ms is not None])
    if kind == SKIPPED:
        return _without_leader([one for one in seen if one.gone_ms is not None])
    return None


def _unclean(seen: Sequence[Seen]) -> str | None:
    if not seen:
        return None
    first = min(seen, key=lambda one: (one.cut_ms or 0, one.topic, one.partition))
    return (
        f"The metadata log has it: broker {first.cut_broker} became leader of {first.topic}-"
        f"{first.partition} at {moment(first.cut_ms or 0)} without being in sync."
    )


def _without_leader(seen: Sequence[Seen]) -> str | None:
    if not seen:
        return None
    first = min(seen, key=lambda one: (one.gone_ms or 0, one.topic, one.partition))
    gone, completed = moment(first.gone_ms or 0), moment(first.completed_ms or 0)
    return (
        f"The metadata log has it: {first.topic}-{first.partition} lost its leader at {gone}, and "
        f"the decision was completed at {completed}, "
        "while it had none (by the clocks of the controller and of the coordinator)."
    )


def seen_at(
    place: tuple[int, int | None, str, int],
    found: Sequence[Found],
    changes: Sequence[Change],
    left: Mapping[int, Collection[int]],
) -> Seen:
    """What changes of the leaders of one partition tell of the violations at one place.

    `place`: the first fields of `Seen`; `changes`: all of the partition, and `left`: the brokers
    that went away, by moment. Findings that name the decision are asked before what lies behind.
    """
    decided = [one for one in found if one.label in (LOST, MISSING_MARKER)]
    asked = sorted(decided or found, key=lambda one: -1 if one.last is None else one.last)
    ordered = sorted(changes, key=lambda one: (one.at_ms, one.event != NO_LEADER))
    cuts = _cuts(ordered, left)
    behind = [_behind(one, cuts) for one in asked]
    told = Seen(*place, whole=bool(behind) and None not in behind)
    hit = next(((one, cut) for one, cut in zip(asked, behind, strict=True) if cut), None)
    if hit is not None:
        one, cut = hit
        begin = None if one.last is None or one.label == LOST else one.last + 1
        told = told._replace(
            cut_ms=cut.at_ms, cut_broker=cut.broker, begin=begin, since_ms=one.completed
        )
    for one in asked:
        gone = _gone(one, ordered) if one.label == MISSING_MARKER else None
        if gone is not None:
            return told._replace(gone_ms=gone.at_ms, completed_ms=one.completed)
    return told


def survived(seen: Seen, first_ms: int) -> bool:
    """Whether data behind a finding are older than the election: a cut takes all from an offset on.

    `first_ms`: timestamp of a batch from `begin` on. What was written before the decision was
    completed may lie in front of its marker.
    """
    return (
        seen.since_ms is not None
        and seen.cut_ms is not None
        and seen.since_ms < first_ms < seen.cut_ms
    )


def _cuts(changes: Sequence[Change], left: Mapping[int, Collection[int]]) -> list[Change]:
    """Elections of leaders that may lack what the one before them had, by time.

    Brokers of 4.x drop a broker that was killed from the replicas in sync, and elect it uncleanly
    when it is back, also where it is the only replica: it has its own log still.
    """
    found = []
    before: set[int] = set()
    for one in changes:
        if one.event == UNCLEAN and before != {one.broker}:
            found.append(one)
        before = set(left.get(one.at_ms, ())) if one.event == NO_LEADER else set()
    return found


def _behind(found: Found, cuts: Sequence[Change]) -> Change | None:
    """The first cut behind a decision, or behind the data: none takes what is written after it."""
    since = found.at if found.completed is None else found.completed
    if since is None:
        return None
    return next((one for one in cuts if since <= one.at_ms <= since + AROUND_MS), None)


def _gone(found: Found, changes: Sequence[Change]) -> Change | None:
    """The loss of the leader, if the marker cannot have been written.

    Nobody led the partition from before the Prepare record until behind the Complete record. A
    marker is sent no earlier than the first. The second is written when the last partition of the
    transaction has answered (`TransactionMarkerChannelManager.maybeWriteTxnCompletion`), so by
    itself it tells nothing about this one.
    """
    if found.at is None or found.completed is None:
        return None
    # A new leader of the very moment may have come behind the decision.
    turn = bisect_left(changes, found.completed, key=lambda one: one.at_ms)
    while turn < len(changes) and (changes[turn].at_ms, changes[turn].event) == (
        found.completed,
        NO_LEADER,
    ):
        turn += 1
    last = changes[turn - 1] if turn else None
    if last is None or last.event != NO_LEADER or found.completed > last.at_ms + NEAR_MS:
        return None
    return last if found.at >= last.at_ms else None
