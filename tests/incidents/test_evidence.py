"""What the metadata log proves of a cause, and what looks like it and does not."""

from typing import Any

from jobs.incidents.evidence import NEAR_MS, evidence

AT = 1_795_240_000_000


def event(name: str, at_ms: int = AT, **values: Any) -> dict[str, Any]:
    return {"event": name, "at_ms": at_ms, "broker": 2, "topic": "u", "partition": 0} | values


COMPLETED = event("complete_abort", AT + 500)


def test_a_leader_that_was_not_in_sync_proves_an_unclean_election() -> None:
    told = evidence("unclean_election", [event("leader_elected_uncleanly")])
    assert told == (
        "The metadata log has it: broker 2 became leader of u-0 at 2026-11-21 05:46:40 UTC "
        "without being in sync."
    )
    assert evidence("unclean_election", [event("leader_elected")]) is None
    assert evidence("late_write", [event("leader_elected_uncleanly")]) is None


def test_such_a_leader_of_the_coordinators_log_may_concern_other_ids() -> None:
    of_decisions = event("leader_elected_uncleanly", topic="__transaction_state")
    assert evidence("coordinator_lost_state", [of_decisions]) is None
    assert evidence("unclean_election", [of_decisions]) is None


def test_a_fenced_broker_proves_skipped_markers_where_they_were_due() -> None:
    gone = [event("broker_fenced"), event("no_leader"), COMPLETED]
    told = evidence("skipped_markers", gone)
    assert told is not None and "broker 2 was fenced at 2026-11-21 05:46:40 UTC" in told


def test_near_the_data_where_the_log_of_the_coordinator_has_no_decision_any_more() -> None:
    gone, data = [event("broker_fenced"), event("no_leader")], event("last_affected", AT - 10_000)
    assert evidence("skipped_markers", [*gone, data]) is not None
    long_ago = event("last_affected", AT - NEAR_MS - 1)
    assert evidence("skipped_markers", [*gone, long_ago]) is None
    assert evidence("skipped_markers", [*gone, data, event("complete_abort", AT * 2)]) is None


def test_a_broker_that_was_fenced_at_another_time_or_without_effect_proves_nothing() -> None:
    early = AT - NEAR_MS
    at_another_time = [event("broker_fenced", early), event("no_leader", early), COMPLETED]
    assert evidence("skipped_markers", at_another_time) is None
    assert evidence("skipped_markers", [event("broker_fenced"), COMPLETED]) is None
    assert evidence("skipped_markers", [event("no_leader"), COMPLETED]) is None
    assert evidence("skipped_markers", [event("broker_fenced"), event("no_leader")]) is None


def test_a_moment_that_is_none_is_told_as_such() -> None:
    told = evidence("unclean_election", [event("leader_elected_uncleanly", 2**62)])
    assert told is not None and "at no date" in told
