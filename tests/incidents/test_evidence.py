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
    unled_spans,
)
from jobs.incidents.leaders import judged
from jobs.incidents.signature import DIVERGED, LOST, MISSING_MARKER

AT = 1_795_240_000_000
PLACE = (1, 7, "u", 0)
# Broker 2 goes away; its decision was prepared and completed while it was away.
GONE = Change(AT, "no_leader")
BACK = Change(AT + 9_000, "leader_elected", 2)
UNCLEAN = Change(AT + 9_000, "leader_elected_uncleanly", 3, cut=True)
# The data end at offset 9.
SKIPPED = Found(MISSING_MARKER, AT + 400, AT + 500, 9)
# Decided before the leader was lost.
EARLIER = Found(MISSING_MARKER, AT - 600, AT - 500, 9)
KINDS = {LOST: "unclean_election", MISSING_MARKER: "skipped_markers"}


def asked(kind: str, found: list[Found], **changes: list[Change]) -> Seen | None:
    """`changes`: of the partition u-0, and of others by name."""
    named = {name.replace("_", "-"): those for name, those in changes.items()}
    unled = {name: unled_spans(those) for name, those in named.items()}
    return seen_at(PLACE, kind, found, named, unled)


def seen(found: list[Found], *changes: Change, **others: list[Change]) -> Seen:
    told = asked(KINDS.get(found[0].label, "late_write"), found, u_0=list(changes), **others)
    assert told is not None
    return told


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
    assert seen([EARLIER, later], GONE, UNCLEAN).cut_ms is None
    # Where the decision is named, what lies behind the open data is not asked.
    bump = Found("epoch_bump_inside_open_txn/version_2", AT + 99_000, AT + 99_500, 12)
    assert seen([EARLIER, bump], GONE, UNCLEAN).cut_ms is not None


def test_what_is_shown_at_one_place_only_proves_nothing_of_the_incident() -> None:
    lost, skipped = Found(LOST, AT - 600, AT - 500), seen([SKIPPED], GONE, BACK)
    cut = seen([lost], GONE, UNCLEAN)
    assert evidence("unclean_election", [cut, cut]) is not None
    assert evidence("unclean_election", [cut, seen([lost], GONE, BACK)]) is None
    assert evidence("skipped_markers", [skipped, skipped]) is not None
    assert evidence("skipped_markers", [skipped, seen([EARLIER], GONE, BACK)]) is None
    assert evidence("skipped_markers", [skipped, seen([EARLIER], GONE, UNCLEAN)]) is None
    assert evidence("skipped_markers", [seen([SKIPPED, EARLIER], GONE, BACK)]) is None
    assert evidence("unclean_election", []) is None


def test_a_marker_of_a_transaction_without_data_may_never_have_been_written() -> None:
    """Of an aborted one: a committed one had data, and these are gone."""
    aborted = Found(LOST, AT + 400, AT + 500, 9)
    never = [seen([aborted], GONE, BACK)]
    assert kind_by("unclean_election", False, never) == "skipped_markers"
    assert kind_by("unclean_election", True, never) == "unclean_election"
    for one in (aborted._replace(committed=True), aborted._replace(at=AT - 1)):
        assert kind_by("unclean_election", False, [seen([one], GONE, BACK)]) == "unclean_election"


def test_what_follows_from_a_cut_is_not_asked_of_its_cause() -> None:
    gap = Found("sequence_gap", AT + 99_000, None, 9)
    assert asked("unclean_election", [gap], u_0=[GONE, UNCLEAN]) is None
    copies = Found(DIVERGED, AT - 600, None, 9)
    told = asked("unclean_election", [copies, gap], u_0=[GONE, UNCLEAN])
    # What only one copy has needs no other witness.
    assert told is not None and told.cut_ms == UNCLEAN.at_ms and not told.asked


def test_a_leader_that_is_fenced_may_write_a_marker_that_the_next_one_cuts_off() -> None:
    both = [seen([SKIPPED], GONE, UNCLEAN)]
    for kind in ("skipped_markers", "unclean_election"):
        assert evidence(kind, both) is None
        assert kind_by(kind, False, both) == kind
    long_after = UNCLEAN._replace(at_ms=SKIPPED.completed + AROUND_MS + 1)
    assert evidence("skipped_markers", [seen([SKIPPED], GONE, long_after)]) is not None


def test_a_marker_may_have_been_written_between_its_prepare_record_and_the_loss() -> None:
    """The Complete record waits for the slowest partition of the transaction."""
    before = SKIPPED._replace(at=GONE.at_ms - 1)
    assert evidence("skipped_markers", [seen([before], GONE, BACK)]) is None
    at_once = SKIPPED._replace(at=GONE.at_ms)
    assert evidence("skipped_markers", [seen([at_once], GONE, BACK)]) is not None
    assert evidence("skipped_markers", [seen([SKIPPED._replace(at=None)], GONE, BACK)]) is None


def test_the_last_partition_did_not_answer_where_none_of_the_transaction_had_a_leader() -> None:
    """Whenever it was decided: where a coordinator is loaded, it sends all markers again."""
    before = SKIPPED._replace(at=GONE.at_ms - 1, listed=["u-0", "v-1"])
    skipped = seen([before], GONE, BACK, v_1=[GONE, BACK])
    assert evidence("skipped_markers", [skipped]) is not None
    alone = before._replace(listed=["u-0"])
    assert evidence("skipped_markers", [seen([alone], GONE, BACK)]) is not None
    for changes in ([], [BACK], [GONE, BACK._replace(at_ms=before.completed - 1)]):
        had_one = seen([before], GONE, BACK, v_1=changes)
        assert evidence("skipped_markers", [had_one]) is None


def test_an_election_that_cuts_nothing_off_is_not_told() -> None:
    again = UNCLEAN._replace(broker=2, cut=False)
    told = [seen([SKIPPED], GONE, again)]
    assert evidence("skipped_markers", told) is not None
    assert kind_by("skipped_markers", False, told) == "skipped_markers"
    lost = Found(LOST, AT - 600, AT - 500)
    assert evidence("unclean_election", [seen([lost], GONE, again)]) is None
    at_once = Change(AT + 99_000, "leader_elected_uncleanly", 2, cut=True)
    assert evidence("unclean_election", [seen([lost], GONE, again, at_once)]) is not None


def test_what_would_show_that_nothing_was_cut_off() -> None:
    """What lies behind the data, and is newer than the decision and older than the election."""
    cut = UNCLEAN.at_ms
    assert seen([EARLIER], GONE, UNCLEAN).asked == [(10, AT - 500, cut)]
    # Of a transaction that has nothing in the log all that is newer lay behind it.
    lost = Found(LOST, AT - 600, AT - 500, 9)
    assert seen([lost], GONE, UNCLEAN).asked == [(0, AT - 500, cut)]
    # Data that nobody decided about have their own moment.
    hangs = Found("hanging_transaction", AT - 600, None, 9)
    assert seen([hangs], GONE, UNCLEAN).asked == [(10, AT - 600, cut)]


def test_each_violation_is_asked_and_those_that_the_same_batches_refute_once() -> None:
    cut, second = UNCLEAN.at_ms, UNCLEAN._replace(at_ms=UNCLEAN.at_ms + 90_000)
    later = EARLIER._replace(completed=AT - 400, last=20)
    assert seen([EARLIER, later], UNCLEAN).asked == [(10, AT - 500, cut)]
    earlier = EARLIER._replace(completed=AT - 600, last=20)
    assert seen([EARLIER, earlier], UNCLEAN).asked == [(10, AT - 500, cut), (21, AT - 600, cut)]
    between = EARLIER._replace(completed=cut + 1, last=20)
    told = seen([EARLIER, between], UNCLEAN, second)
    assert told.asked == [(10, AT - 500, cut), (21, cut + 1, second.at_ms)]
    assert told.cut_ms == cut


def test_a_moment_that_is_none_is_told_as_such() -> None:
    lost = Found(LOST, 2**62 - 1, 2**62 - 1)
    told = evidence("unclean_election", [seen([lost], UNCLEAN._replace(at_ms=2**62))])
    assert told is not None and "at no date" in told


def row(**values: object) -> dict[str, object]:
    names = {"incident": pa.int32(), "kind": pa.string(), "partition_index": pa.int32(),
             "label": pa.string(), "at": pa.int64(), "completed": pa.int64(),
             "decided_commit": pa.bool_(), "offset_first": pa.int64(), "offset_last": pa.int64(),
             "topic": pa.string(), "partition": pa.int32(), "event": pa.string(),
             "at_ms": pa.int64(), "offset": pa.int64(), "broker": pa.int32(),
             "cut": pa.bool_(), "name": pa.string(), "listed": pa.list_(pa.string())}  # fmt: skip
    return dict.fromkeys(names) | values


def test_each_place_is_judged_by_the_changes_of_its_own_partition() -> None:
    changes = [row(offset=n, name="u-0", **one._asdict()) for n, one in ((9, UNCLEAN), (8, GONE))]
    finding = {"incident": 1, "kind": "skipped_markers", "label": MISSING_MARKER, "at": AT - 600,
               "completed": AT - 500, "offset_first": 9, "topic": "u"}  # fmt: skip
    found = [row(**finding, partition=n, partition_index=n) for n in (0, 1)]
    undated = row(incident=2, kind="late_write", label="hanging_transaction", topic="u",
                  partition=0, at=None)  # fmt: skip
    dated = undated | {"partition": 5, "at": AT - 9}
    follows = row(incident=3, kind="unclean_election", label="sequence_gap", topic="u", partition=0)
    rows = [*changes, *found, undated, dated, follows]
    told = [
        Seen(*one.values())
        for batch in judged(iter([pa.RecordBatch.from_pylist(rows)]))
        for one in batch.to_pylist()
    ]
    assert [(one.incident, one.partition, one.cut_ms) for one in told] == [
        (1, 0, UNCLEAN.at_ms), (1, 1, None), (2, 0, UNCLEAN.at_ms), (2, 5, None),
    ]  # fmt: skip
    assert not list(judged(iter([])))
