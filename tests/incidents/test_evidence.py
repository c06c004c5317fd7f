"""What the metadata log proves of a cause, and what looks like it and does not."""

from typing import Any

from jobs.incidents.evidence import NEAR_MS, evidence, kind_by

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


def test_a_partition_without_a_leader_proves_skipped_markers_where_decisions_were_completed() -> (
    None
):
    gone = [event("broker_fenced"), event("no_leader"), COMPLETED]
    assert evidence("skipped_markers", gone) == (
        "The metadata log has it: u-0 lost its leader at 2026-11-21 05:46:40 UTC, and decisions "
        "were completed while it had none."
    )
    back = event("leader_elected", AT + 499)
    assert evidence("skipped_markers", [*gone, back]) is None
    assert evidence("skipped_markers", [*gone, back | {"at_ms": AT + 500}]) is not None


def test_near_the_data_where_the_log_of_the_coordinator_has_no_decision_any_more() -> None:
    gone, data = [event("broker_fenced"), event("no_leader")], event("last_affected", AT - 10_000)
    assert evidence("skipped_markers", [*gone, data]) is not None
    long_ago = event("last_affected", AT - NEAR_MS - 1)
    assert evidence("skipped_markers", [*gone, long_ago]) is None
    assert evidence("skipped_markers", [*gone, event("last_affected", AT + 1)]) is None
    assert evidence("skipped_markers", [*gone, data | {"partition": 1}]) is None
    assert evidence("skipped_markers", [*gone, data, event("complete_abort", AT * 2)]) is None


def test_a_leader_that_was_lost_at_another_time_or_of_another_log_proves_nothing() -> None:
    for at_ms in (AT - NEAR_MS, AT + 501):
        at_another_time = [event("broker_fenced", at_ms), event("no_leader", at_ms), COMPLETED]
        assert evidence("skipped_markers", at_another_time) is None
    assert evidence("skipped_markers", [event("broker_fenced"), COMPLETED]) is None
    assert evidence("skipped_markers", [event("broker_fenced"), event("no_leader")]) is None
    of_decisions = event("no_leader", topic="__transaction_state")
    assert evidence("skipped_markers", [of_decisions, COMPLETED]) is None


# Broker 2 stops behind the decision, and broker 3 becomes leader, which was not in sync.
CUT = [
    event("first_affected", AT - 600),
    event("complete_commit", AT - 500),
    event("broker_stopping"),
    event("no_leader"),
    event("leader_elected_uncleanly", AT + 9_000, broker=3),
]


def test_markers_may_be_lost_with_an_unclean_election_behind_their_decision() -> None:
    for kind in ("skipped_markers", "late_write"):
        assert kind_by(kind, False, CUT) == "unclean_election"
        assert kind_by(kind, True, CUT) == kind
        assert kind_by(kind, False, CUT[:-1]) == kind
        assert kind_by(kind, False, [CUT[-1], event("first_affected", AT + 9_001)]) == kind
    assert evidence("skipped_markers", CUT) is None
    assert kind_by("stale_replica", False, CUT) == "stale_replica"


def test_a_cut_behind_a_time_without_a_leader_leaves_both_causes_open() -> None:
    between = [*CUT, event("complete_abort", AT + 1_000)]
    assert evidence("skipped_markers", between) is None
    assert kind_by("skipped_markers", False, between) == "unclean_election"


def test_a_broker_that_leads_again_without_being_in_sync_cuts_nothing_off() -> None:
    again = [*CUT[:-1], CUT[-1] | {"broker": 2}, event("complete_commit", AT + 1_000)]
    told = evidence("skipped_markers", again)
    assert told is not None and "u-0 lost its leader" in told
    assert kind_by("skipped_markers", False, again) == "skipped_markers"
    assert evidence("unclean_election", again) is None
    # From one leader to the next at once: nothing tells that it is the same broker.
    at_once = [*again, event("leader_elected_uncleanly", AT + 99_000)]
    assert evidence("unclean_election", at_once) is not None


def test_a_moment_that_is_none_is_told_as_such() -> None:
    told = evidence("unclean_election", [event("leader_elected_uncleanly", 2**62)])
    assert told is not None and "at no date" in told
