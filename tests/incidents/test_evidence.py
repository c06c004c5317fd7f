"""What the metadata log proves of a cause, and what looks like it and does not."""

import pyarrow as pa

from jobs.incidents.evidence import (
    AROUND_MS,
    NEAR_MS,
    Change,
    Found,
    Seen,
    evidence,
    kind_by,
    seen_at,
    survived,
)
from jobs.incidents.leaders import judged
from jobs.incidents.signature import LOST, MISSING_MARKER

AT = 1_795_240_000_000
PLACE = (1, 7, "u", 0)
# Broker 2 goes away; its decision was completed while it was away, at offset 9 its data end.
AWAY = {AT: {2}}
GONE = Change(AT, "no_leader")
BACK = Change(AT + 9_000, "leader_elected", 2)
UNCLEAN = Change(AT + 9_000, "leader_elected_uncleanly", 3)
SKIPPED = Found(MISSING_MARKER, AT + 400, AT + 500, 9)
# Decided before the leader was lost.
EARLIER = Found(MISSING_MARKER, AT - 600, AT - 500, 9)


def seen(found: list[Found], *changes: Change, left: dict[int, set[int]] = AWAY) -> Seen:
    return seen_at(PLACE, found, changes, left)


def test_a_partition_without_a_leader_proves_the_skipped_marker_of_a_decision_of_that_time() -> (
    None
):
    assert evidence("skipped_markers", [seen([SKIPPED], GONE, BACK)]) == (
        "The metadata log has it: u-0 lost its leader at 2026-11-21 05:46:40 UTC, and the decision "
        "was completed at 2026-11-21 05:46:40 UTC, while it had none (by the clocks of the "
        "controller and of the coordinator)."
    )
    assert evidence("skipped_markers", [seen([SKIPPED], GONE)]) is not None
    assert evidence("late_write", [seen([SKIPPED], GONE, BACK)]) is None


def test_a_decision_of_another_moment_proves_nothing() -> None:
    late = SKIPPED._replace(completed=BACK.at_ms + 1)
    for one in (EARLIER, late, SKIPPED._replace(completed=None)):
        assert evidence("skipped_markers", [seen([one], GONE, BACK)]) is None
    at_once = SKIPPED._replace(completed=BACK.at_ms)
    assert evidence("skipped_markers", [seen([at_once], GONE, BACK)]) is not None
    unknown = SKIPPED._replace(completed=AT + NEAR_MS + 1)
    assert evidence("skipped_markers", [seen([unknown], GONE)]) is None


def test_data_that_no_decision_is_known_of_are_no_proof_however_near() -> None:
    for label in ("hanging_transaction", "epoch_bump_inside_open_txn/version_2"):
        one = Found(label, AT - 1, AT + 500, 9)
        assert evidence("skipped_markers", [seen([one], GONE, BACK)]) is None


def test_a_leader_that_was_not_in_sync_behind_what_is_lost_proves_an_unclean_election() -> None:
    lost = Found(LOST, AT - 600, AT - 500)
    told = evidence("unclean_election", [seen([lost], GONE, UNCLEAN)])
    assert told == (
        "The metadata log has it: broker 3 became leader of u-0 at 2026-11-21 05:46:49 UTC "
        "without being in sync."
    )
    assert evidence("unclean_election", [seen([lost], GONE, BACK)]) is None
    assert evidence("late_write", [seen([lost], GONE, UNCLEAN)]) is None


def test_no_election_takes_what_is_written_after_it() -> None:
    for label in (LOST, MISSING_MARKER):
        behind = Found(label, UNCLEAN.at_ms - 5, UNCLEAN.at_ms + 1, 9)
        assert evidence("unclean_election", [seen([behind], GONE, UNCLEAN)]) is None
        long_ago = Found(label, 0, UNCLEAN.at_ms - AROUND_MS - 1, 9)
        assert evidence("unclean_election", [seen([long_ago], GONE, UNCLEAN)]) is None


def test_of_several_elections_the_first_behind_the_decision_is_told() -> None:
    first = Change(AT - 300_000, "leader_elected_uncleanly", 8)
    told = seen([Found(LOST, AT - 600, AT - 500)], first, GONE, UNCLEAN)
    assert (told.cut_ms, told.cut_broker) == (UNCLEAN.at_ms, 3)


def test_markers_may_be_lost_with_an_unclean_election_behind_their_decision() -> None:
    for kind, one in (
        ("skipped_markers", EARLIER),
        ("late_write", Found("hanging_transaction", AT - 600, None, 9)),
    ):
        cut = [seen([one], GONE, UNCLEAN)]
        assert evidence(kind, cut) is None
        assert kind_by(kind, False, cut) == "unclean_election"
        assert kind_by(kind, True, cut) == kind
        assert kind_by(kind, False, [seen([one], GONE, BACK)]) == kind
        assert kind_by(kind, False, []) == kind
    assert kind_by("stale_replica", False, cut) == "stale_replica"


def test_a_cut_in_another_partition_or_of_another_decision_is_no_reason_to_rename() -> None:
    cut, other = seen([EARLIER], GONE, UNCLEAN), seen([EARLIER])
    assert kind_by("skipped_markers", False, [cut, other]) == "skipped_markers"
    later = Found(MISSING_MARKER, AT + 99_000, AT + 99_000, 20)
    assert not seen([EARLIER, later], GONE, UNCLEAN).whole
    # Where the decision is named, what lies behind the open data is not asked.
    bump = Found("epoch_bump_inside_open_txn/version_2", AT + 99_000, AT + 99_500, 12)
    assert seen([EARLIER, bump], GONE, UNCLEAN).whole


def test_a_marker_that_nobody_could_take_was_never_written_whatever_was_cut_off_later() -> None:
    both = [seen([SKIPPED], GONE, UNCLEAN)]
    assert evidence("skipped_markers", both) is not None
    assert kind_by("skipped_markers", False, both) == "skipped_markers"


def test_a_marker_may_have_been_written_between_its_prepare_record_and_the_loss() -> None:
    """The Complete record waits for the slowest partition of the transaction."""
    before = SKIPPED._replace(at=GONE.at_ms - 1)
    assert evidence("skipped_markers", [seen([before], GONE, BACK)]) is None
    at_once = SKIPPED._replace(at=GONE.at_ms)
    assert evidence("skipped_markers", [seen([at_once], GONE, BACK)]) is not None
    assert evidence("skipped_markers", [seen([SKIPPED._replace(at=None)], GONE, BACK)]) is None


def test_a_broker_that_leads_again_without_being_in_sync_cuts_nothing_off() -> None:
    again = UNCLEAN._replace(broker=2)
    told = [seen([SKIPPED], GONE, again)]
    assert evidence("skipped_markers", told) is not None
    assert kind_by("skipped_markers", False, told) == "skipped_markers"
    lost = Found(LOST, AT - 600, AT - 500)
    assert evidence("unclean_election", [seen([lost], GONE, again)]) is None
    # From one leader to the next at once: nothing tells that it is the same broker.
    at_once = Change(AT + 99_000, "leader_elected_uncleanly", 2)
    assert evidence("unclean_election", [seen([lost], GONE, again, at_once)]) is not None
    assert evidence("unclean_election", [seen([lost], GONE, again, left={})]) is not None


def test_what_lies_behind_a_marker_and_is_older_than_the_election_was_not_cut_off() -> None:
    cut = seen([EARLIER], GONE, UNCLEAN)
    assert (cut.begin, cut.since_ms) == (10, AT - 500)
    assert survived(cut, AT)
    assert not survived(cut, UNCLEAN.at_ms + 1)
    # Between the data and their marker others may write.
    assert not survived(cut, AT - 550)
    assert not survived(cut._replace(since_ms=None), AT)
    # Of a transaction whose data are gone nothing tells what lay behind it.
    assert seen([Found(LOST, AT - 600, AT - 500, 9)], GONE, UNCLEAN).begin is None


def test_a_moment_that_is_none_is_told_as_such() -> None:
    lost = Found(LOST, 2**62 - 1, 2**62 - 1)
    told = evidence("unclean_election", [seen([lost], UNCLEAN._replace(at_ms=2**62))])
    assert told is not None and "at no date" in told


def row(**values: object) -> dict[str, object]:
    names = {"incident": pa.int32(), "partition_index": pa.int32(), "label": pa.string(),
             "at": pa.int64(), "completed": pa.int64(), "offset_first": pa.int64(),
             "offset_last": pa.int64(), "topic": pa.string(), "partition": pa.int32(),
             "event": pa.string(), "at_ms": pa.int64(), "broker": pa.int32()}  # fmt: skip
    return dict.fromkeys(names) | values


def test_each_place_is_judged_by_the_changes_of_its_own_partition() -> None:
    changes = [
        row(event=one.event, at_ms=one.at_ms, broker=one.broker, topic="u", partition=0)
        for one in (UNCLEAN, GONE)
    ]
    finding = {"incident": 1, "label": MISSING_MARKER, "at": AT - 600, "completed": AT - 500,
               "offset_first": 9, "topic": "u"}  # fmt: skip
    found = [row(**finding, partition=n, partition_index=n) for n in (0, 1)]
    undated = row(incident=2, label="hanging_transaction", topic="u", partition=0, at=None)
    dated = undated | {"partition": 5, "at": AT - 9}
    rows = [*changes, *found, row(event="broker_fenced", at_ms=AT, broker=2), undated, dated]
    told = [
        Seen(*one.values())
        for batch in judged(iter([pa.RecordBatch.from_pylist(rows)]))
        for one in batch.to_pylist()
    ]
    assert [(one.incident, one.partition, one.whole) for one in told] == [
        (1, 0, True), (1, 1, False), (2, 0, True), (2, 5, False),
    ]  # fmt: skip
    assert not list(judged(iter([])))
