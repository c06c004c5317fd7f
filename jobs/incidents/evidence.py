"""What the metadata log shows of a cause: elections and fencing beside what is affected. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.model.moment import moment
from schemas.topics import TXN_LOG_TOPIC

UNCLEAN, FENCED, NO_LEADER = "leader_elected_uncleanly", "broker_fenced", "no_leader"
# Elections and fencing are about as old as what they led to, ms.
NEAR_MS = 120_000
Event = Mapping[str, Any]


def evidence(kind: str, events: Sequence[Event]) -> str | None:
    """A sentence, where the controller's records prove the signature of an incident.

    `events`: rows of INCIDENT_EVENT of the incident, by time.
    """
    if kind == "unclean_election":
        # An election of the coordinators' log stands in the events of every incident.
        elected = [one for one in events if one["event"] == UNCLEAN]
        return _unclean([one for one in elected if one["topic"] != TXN_LOG_TOPIC])
    if kind == "skipped_markers":
        return _without_leader(events)
    return None


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
    """A partition concerned without a leader and a fenced broker, when decisions were completed.

    Where the coordinator's log no longer has them, near the data concerned.
    """
    completed = [one["at_ms"] for one in events if one["event"].startswith("complete_")]
    affected = [one["at_ms"] for one in events if one["event"].endswith("_affected")]
    decided = completed or affected
    gone = [
        one
        for one in events
        if one["event"] in (NO_LEADER, FENCED)
        and any(abs(at - one["at_ms"]) <= NEAR_MS for at in decided)
    ]
    fenced = next((one for one in gone if one["event"] == FENCED), None)
    if fenced is None or not any(one["event"] == NO_LEADER for one in gone):
        return None
    return (
        f"The metadata log has it: broker {fenced['broker']} was fenced at "
        f"{moment(fenced['at_ms'])}, and partitions of these transactions had no leader."
    )
