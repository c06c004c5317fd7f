"""What the metadata log shows of a cause: who led what is affected, and when nobody did. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.model.moment import moment
from schemas.topics import TXN_LOG_TOPIC

UNCLEAN, NO_LEADER = "leader_elected_uncleanly", "no_leader"
OF_LEADERS = ("leader_elected", UNCLEAN, NO_LEADER)
# A broker of which one batch of the controller says that it is gone and what it led has no leader.
OF_LEAVING = ("broker_fenced", "broker_registered", "broker_stopping")
CUT, SKIPPED, LATE = "unclean_election", "skipped_markers", "late_write"
# What has no decision any more is about as old as the moment at which its leader was lost, ms.
NEAR_MS = 120_000
Event = Mapping[str, Any]


def kind_by(kind: str, proven: bool, events: Sequence[Event]) -> str:
    """The signature of an incident, as far as the controller's records contradict the findings.

    A marker that a cut took without any data leaves the traces of one that was never written, or of
    data that came late. The records of the controller tell them apart: a leader that was not in
    sync was elected behind the decision, or behind the data. `proven`: the findings prove the
    signature by themselves. `events`: rows of INCIDENT_EVENT of the incident, by time.
    """
    if kind not in (SKIPPED, LATE) or proven or evidence(kind, events) is not None:
        return kind
    affected = [one["at_ms"] for one in events if one["event"].endswith("_affected")]
    behind = any(one["at_ms"] >= at for one in _cuts(events) for at in affected)
    return CUT if behind else kind


def evidence(kind: str, events: Sequence[Event]) -> str | None:
    """A sentence, where the controller's records show what the signature of an incident says.

    `events`: see `kind_by`.
    """
    if kind == CUT:
        return _unclean(_cuts(events))
    if kind == SKIPPED:
        return _without_leader(events)
    return None


def _of_partitions(events: Sequence[Event]) -> dict[tuple[str, int], list[Event]]:
    """Changes of leaders by topic partition, in their order; without the coordinators' log.

    An election of that stands in the events of every incident.
    """
    changes: dict[tuple[str, int], list[Event]] = {}
    for one in sorted(events, key=lambda one: (one["at_ms"], one["event"] != NO_LEADER)):
        if one["event"] in OF_LEADERS and one["topic"] != TXN_LOG_TOPIC:
            changes.setdefault((one["topic"], one["partition"]), []).append(one)
    return changes


def _cuts(events: Sequence[Event]) -> list[Event]:
    """Elections of leaders that may lack what the one before them had, by time.

    Brokers of 4.x drop a broker that was killed from the replicas in sync, and elect it uncleanly
    when it is back, also where it is the only replica: it has its own log still.
    """
    found = []
    for changes in _of_partitions(events).values():
        left: set[int] = set()
        for one in changes:
            if one["event"] == UNCLEAN and left != {one["broker"]}:
                found.append(one)
            left = _left(events, one["at_ms"]) if one["event"] == NO_LEADER else set()
    return sorted(found, key=lambda one: one["at_ms"])


def _left(events: Sequence[Event], at_ms: int) -> set[int]:
    """The brokers that the controller took leaders from at a moment."""
    return {one["broker"] for one in events if one["event"] in OF_LEAVING and one["at_ms"] == at_ms}


def _unclean(elections: Sequence[Event]) -> str | None:
    """The first leader that was not in sync."""
    if not elections:
        return None
    first = elections[0]
    return (
        f"The metadata log has it: broker {first['broker']} became leader of {first['topic']}-"
        f"{first['partition']} at {moment(first['at_ms'])} without being in sync."
    )


def _without_leader(events: Sequence[Event]) -> str | None:
    """A partition concerned that had no leader when a decision was completed, and was not cut.

    Where the coordinator's log no longer has them: that lost it soon after the data concerned.
    """
    completed = [one["at_ms"] for one in events if one["event"].startswith("complete_")]
    cuts = _cuts(events)
    for (topic, partition), changes in _of_partitions(events).items():
        of_it = [one for one in cuts if (one["topic"], one["partition"]) == (topic, partition)]
        for gone, following in zip(changes, [*changes[1:], None], strict=True):
            at_ms = gone["at_ms"]
            if gone["event"] != NO_LEADER or any(one["at_ms"] >= at_ms for one in of_it):
                continue
            until = at_ms + NEAR_MS
            until = until if following is None else min(until, following["at_ms"])
            told = f"The metadata log has it: {topic}-{partition} lost its leader at "
            if any(at_ms <= one <= until for one in completed):
                return f"{told}{moment(at_ms)}, and decisions were completed while it had none."
            here = _affected(events, topic, partition)
            if not completed and any(at_ms - NEAR_MS <= one <= at_ms for one in here):
                return f"{told}{moment(at_ms)}, soon after the data that no marker followed."
    return None


def _affected(events: Sequence[Event], topic: str, partition: int) -> list[int]:
    return [
        one["at_ms"]
        for one in events
        if one["event"].endswith("_affected")
        and (one["topic"], one["partition"]) == (topic, partition)
    ]
