"""What is said about a partition, from rows made by hand: one case a thing that may hold it."""

from dataclasses import replace
from typing import Any

import pytest

from jobs.explain import situation as it
from jobs.explain.advice import ADVICE
from jobs.explain.situation import Row, Situation, what_holds
from jobs.explain.text import explanation
from jobs.explain.words import duration, moment, printable
from jobs.model.found import AFTER_THE_END, ALL_ABORTED

NOON = 1_795_262_400_000
MINUTE = 60_000

STATE: Row = {
    "broker": 0, "topic": "orders", "partition": 3, "log_start_offset": 0, "log_end_offset": 90,
    "high_watermark": 90, "last_stable_offset": 60, "open_transactions": 1, "lso_producer_id": 5,
    "lso_producer_epoch": 2, "lso_transactional_id": "pay-1", "lso_since_ms": NOON - 40 * MINUTE,
}  # fmt: skip
HOLDER: Row = {
    "broker": 0, "topic": "orders", "partition": 3, "producer_id": 5, "producer_epoch": 2,
    "first_offset": 60, "last_offset": 64, "outcome": "open", "marker_offset": None,
    "records": 5, "batches": 2, "head_known": True,
}  # fmt: skip
OWNER: Row = {
    "broker": 0, "partition": 12, "transactional_id": "pay-1", "producer_id": 5,
    "producer_epoch": 2, "state": "Ongoing", "partitions": ["orders-3", "stock-0"],
    "timeout_ms": 10 * MINUTE, "start_ms": NOON - 5 * MINUTE, "last_update_ms": NOON - 5 * MINUTE,
    "record_offset": 7, "client_transaction_version": 0,
}  # fmt: skip
MERELY_OPEN = Situation("a1", NOON, STATE, holder=HOLDER, owner=OWNER, waiting=(4, 17, 0))


def finding(code: str, verdict: str = "violation", **columns: Any) -> Row:
    reason = None if verdict == "violation" else "dump_before_event"
    return {
        "code": code, "verdict": verdict, "reason": reason, "broker": 0, "topic": "orders",
        "partition": 3, "offset_first": 60, "offset_last": 64, "producer_id": 5,
        "expected": "ABORT marker of epoch 2", "message": f"It is {code}.",
    } | columns  # fmt: skip


def found(*rows: Row, **changes: Any) -> Situation:
    return replace(MERELY_OPEN, here=rows, here_in_all=len(rows), **changes)


COMPLETED = OWNER | {"state": "CompleteAbort", "partitions": None}
UNHELD = STATE | {"lso_producer_id": None, "lso_since_ms": None, "open_transactions": 0}
UNMARKED_COMMIT = finding("missing_marker_in_listed_partition", expected="COMMIT marker of epoch 2")
SITUATIONS = [
    (MERELY_OPEN, it.OPEN),
    (replace(MERELY_OPEN, state=UNHELD | {"last_stable_offset": 90}, holder=None), it.NOTHING),
    (
        replace(MERELY_OPEN, holder=None,
                state=UNHELD | {"last_stable_offset": 70, "high_watermark": 70}),
        it.HIGH_WATERMARK,
    ),
    (
        replace(MERELY_OPEN, holder=HOLDER | {"outcome": "commit", "marker_offset": 89}),
        it.MARKER_NOT_REPLICATED,
    ),
    (found(finding("hanging_transaction"), owner=COMPLETED), it.HANGING),
    (found(finding("late_write_after_marker"), owner=COMPLETED), it.LATE_WRITE),
    (found(finding("hanging_transaction"), UNMARKED_COMMIT, owner=COMPLETED), it.UNMARKED),
    (found(finding("hanging_transaction", "inconclusive"), owner=COMPLETED), it.MAY_HANG),
    (found(finding("hanging_transaction", producer_id=6), owner=COMPLETED), it.NOT_LISTED),
    (found(finding("hanging_transaction", offset_first=3, offset_last=9)), it.OPEN),
    (found(finding("open_transaction_overdue", "suspect")), it.OVERDUE),
    (replace(MERELY_OPEN, owner=OWNER | {"timeout_ms": 2147483647}), it.TWO_PHASE_COMMIT),
    (replace(MERELY_OPEN, owner=OWNER | {"state": "PrepareCommit"}), it.PREPARE_PENDING),
    (
        found(finding("hanging_transaction"), UNMARKED_COMMIT,
              owner=OWNER | {"state": "PrepareAbort", "timeout_ms": 2147483647}),
        it.PREPARE_PENDING,
    ),
    (found(finding("late_write_after_marker")), it.JOINED),
    (found(UNMARKED_COMMIT), it.JOINED),
    (found(finding("data_in_unlisted_partition"), owner=COMPLETED), it.FOREIGN_DATA),
    (found(finding("data_in_unlisted_partition")), it.JOINED),
    (found(finding("offset_commit_unlisted", "inconclusive"), owner=COMPLETED), it.MAY_HANG),
    (found(finding("cleaned_data_without_marker"), owner=None), it.CLEANED),
    (found(finding("late_write_after_marker", "suspect")), it.MAY_HANG),
    (replace(MERELY_OPEN, owner=OWNER | {"partitions": ["stock-0"]}), it.NOT_LISTED),
    (replace(MERELY_OPEN, owner=None), it.UNKNOWN_OWNER),
    # By a producer snapshot alone: its batches are gone.
    (replace(MERELY_OPEN, holder=it.remembered(STATE)), it.OPEN),
    (replace(MERELY_OPEN, holder=it.remembered(STATE), owner=COMPLETED), it.NOT_LISTED),
]  # fmt: skip


@pytest.mark.parametrize(("given", "holds"), SITUATIONS, ids=[name for _, name in SITUATIONS])
def test_what_holds_a_partition_is_told_apart(given: Situation, holds: str) -> None:
    assert what_holds(given) == holds
    assert f"What it is: {holds}" in explanation(given)


def test_every_thing_that_may_hold_a_partition_has_advice_and_a_case() -> None:
    assert set(ADVICE) == {holds for _, holds in SITUATIONS}


def test_only_what_is_proven_to_have_no_end_is_to_be_aborted() -> None:
    aborted = {holds for given, holds in SITUATIONS if " abort --topic" in explanation(given)}
    assert aborted == {it.HANGING, it.LATE_WRITE, it.UNMARKED, it.FOREIGN_DATA, it.CLEANED}


def test_an_open_transaction_is_described_in_full() -> None:
    two_open = replace(MERELY_OPEN, state=STATE | {"open_transactions": 2})
    told = explanation(replace(two_open, behind=({"first_offset": 70, "producer_id": 8},)))
    for part in (
        "orders-3 on broker 0: the last stable offset is 60; 30 offsets wait after it",
        "log start offset 0, last stable offset 60, high watermark 90, log end offset 90",
        "17 records of 4 transactions",
        "producer 5, epoch 2, id pay-1",
        "offsets 60 to 64, 5 records in 2 batches",
        "since 2026-11-21 11:20:00 UTC, 40 min before the audit's moment",
        "1 more open transaction after it, from offset 70 (producer 8)",
        "pay-1: Ongoing, producer 5, epoch 2",
        "timeout 10 min, last update 2026-11-21 11:55:00 UTC",
        "it lists orders-3, stock-0: this one among them",
        "(record 7 of __transaction_state-12 on broker 0)",
        "Findings in this partition: none",
        "Audit a1, as of 2026-11-21 12:00:00 UTC.",
    ):
        assert part in told, told


NEWEST = STATE | {"lso_first_offset": 60, "lso_coordinator_epoch": 4}
HANGS = found(finding("hanging_transaction"), owner=COMPLETED, state=NEWEST)
BY_START = "abort --topic orders --partition 3 --start-offset 60"
BY_PRODUCER = (
    "abort --topic orders --partition 3 --producer-id 5 --producer-epoch 2 --coordinator-epoch 4"
)


@pytest.mark.parametrize(
    ("given", "commands"),
    [
        (HANGS, [BY_PRODUCER, BY_START]),
        (replace(HANGS, knows_topic_ids=True), [BY_START, BY_PRODUCER]),
        (replace(HANGS, owner=COMPLETED | {"client_transaction_version": 2}), [BY_START]),
        (
            replace(HANGS, state=NEWEST | {"lso_coordinator_epoch": None}),
            [BY_PRODUCER.replace("epoch 4", "epoch 0"), BY_START],
        ),
    ],
)
def test_the_abort_command_is_that_of_the_brokers_version(
    given: Situation, commands: list[str]
) -> None:
    lines = [line.split(" HOST:PORT ")[1] for line in explanation(given).splitlines()
             if "HOST:PORT abort" in line]  # fmt: skip
    assert lines == commands


OPEN_DATA = finding("open_data_of_completed_transaction", expected="a marker: it is completed")
LATER = {"state": "CompleteAbort", "producer_epoch": 4}


VERSION_2 = {"client_transaction_version": 2}
LATE = {"found": f"no marker{AFTER_THE_END}"}
ABORTED = {"found": f"no marker{ALL_ABORTED}"}


@pytest.mark.parametrize(
    ("given", "saved"),
    [
        (found(UNMARKED_COMMIT, owner=COMPLETED), True),
        (found(UNMARKED_COMMIT, OPEN_DATA, owner=COMPLETED | {"producer_epoch": 3}), True),
        (found(OPEN_DATA, owner=COMPLETED | {"state": "CompleteCommit"}), True),
        # The newest record may be of another transaction in the epoch of the data.
        (found(OPEN_DATA, owner=COMPLETED | {"producer_epoch": 3} | VERSION_2), True),
        (found(OPEN_DATA | ABORTED, owner=COMPLETED | {"producer_epoch": 3} | VERSION_2), False),
        (found(OPEN_DATA, owner=COMPLETED | LATER), True),
        (found(finding("hanging_transaction"), owner=COMPLETED | {"state": "Empty"}), True),
        (found(finding("hanging_transaction"), owner=COMPLETED), True),
        (found(finding("hanging_transaction") | LATE, owner=COMPLETED), True),
        (found(finding("hanging_transaction") | ABORTED, owner=COMPLETED), False),
        (found(finding("missing_marker_in_listed_partition"), owner=COMPLETED | LATER), True),
        (found(finding("missing_marker_in_listed_partition") | ABORTED, owner=COMPLETED), False),
    ],
)
def test_a_decided_commit_is_not_thrown_away_unseen(given: Situation, saved: bool) -> None:
    told = explanation(given)
    assert " abort --topic" in told
    found_at = told.find("isolation.level=read_uncommitted")
    assert (0 <= found_at < told.index(" abort --topic")) == saved, told


def test_copies_of_two_topics_are_told() -> None:
    given = replace(MERELY_OPEN, replicas=(STATE | {"broker": 4},))
    assert "topic_id_mismatch" not in explanation(given)
    told = explanation(replace(given, of_several_topics=True))
    assert told.index("topic_id_mismatch") < told.index("the copy on broker 4")


@pytest.mark.parametrize(
    ("epoch", "version", "told"), [(32766, 2, True), (32765, 2, False), (32766, 0, False)]
)
def test_a_used_up_epoch_is_told_which_one_release_cannot_abort(
    epoch: int, version: int, told: bool
) -> None:
    owner = OWNER | {"producer_epoch": epoch, "client_transaction_version": version}
    for given in (
        MERELY_OPEN,
        replace(MERELY_OPEN, as_of_ms=NOON + 60 * MINUTE),
        found(finding("open_transaction_overdue", "suspect")),
    ):
        assert ("KAFKA-19367" in explanation(replace(given, owner=owner))) == told


def test_the_abort_names_the_start_that_the_broker_remembers() -> None:
    trimmed = NEWEST | {"lso_first_offset": 41, "log_start_offset": 60}
    assert "--start-offset 41" in explanation(replace(HANGS, state=trimmed))
    of_older_tables = explanation(replace(HANGS, state=STATE))
    assert BY_START in of_older_tables and "--coordinator-epoch 0" in of_older_tables


def test_of_a_holder_whose_batches_are_gone_no_number_is_told() -> None:
    state = STATE | {"lso_first_offset": 41, "lso_since_ms": None, "log_start_offset": 60}
    told = explanation(replace(MERELY_OPEN, state=state, holder=it.remembered(state)))
    assert "from offset 41, by the newest producer snapshot" in told
    assert "since an unknown moment" in told
    assert "None" not in told
    assert it.remembered(UNHELD) is None


def test_what_is_not_of_the_running_transaction_is_named() -> None:
    told = " ".join(explanation(found(UNMARKED_COMMIT)).split())
    assert "Not of that transaction: offsets 60 to 64" in told
    assert "COMMIT marker of epoch 2" in told
    assert " abort --topic" not in told


def test_of_a_transaction_that_began_before_only_the_rest_waits() -> None:
    told = explanation(replace(MERELY_OPEN, waiting=(1, 5, 2)))
    assert "5 records of 1 transaction, the rest of 2 transactions that began before, and" in told


def test_findings_elsewhere_name_their_places() -> None:
    other = finding("hanging_transaction", topic="stock", partition=0, broker=2)
    told = explanation(replace(HANGS, elsewhere=(other,), elsewhere_in_all=31))
    assert "about producer 5 in other partitions: 31, the first 1" in told
    assert "stock-0 on broker 2, offsets 60 to 64: It is hanging_transaction." in told


def test_no_copy_is_said_to_be_without_findings_for_another() -> None:
    other = {"broker": 4, "findings": 2, "proven": 1, "has_state": True}
    unnamed = {"broker": None, "findings": 1, "proven": 0, "has_state": False}
    told = explanation(replace(MERELY_OPEN, in_other_copies=(other, unnamed))).splitlines()
    first = told.index("Findings in this copy: none")
    assert told[first + 1 : first + 4] == [
        "Further findings in other copies of this partition",
        "  on broker 4: 2, 1 proven (see --broker 4)",
        "  on a broker that is unknown: 1 (see report.html)",
    ]
    assert "Findings in this partition" not in "".join(told)
    assert "Further findings" not in explanation(MERELY_OPEN)


def test_a_finding_that_is_told_above_is_counted_elsewhere() -> None:
    title = "Findings about producer 5 in other partitions: "
    assert f"{title}none" in explanation(HANGS)
    told = explanation(replace(HANGS, also_elsewhere=1))
    assert f"{title}1 of those in this partition; others: none" in told


def test_nothing_that_a_log_holds_commands_the_terminal_or_the_shell() -> None:
    hostile = "x'; rm -rf ~\n\x1b[2J\u202e"
    told = explanation(
        replace(
            MERELY_OPEN,
            state=STATE | {"lso_transactional_id": hostile},
            owner=OWNER | {"transactional_id": hostile, "partitions": [hostile, "orders-3"]},
            here=(finding("lso_stuck", "suspect", message=hostile),),
        )
    )
    assert "\x1b" not in told and "\u202e" not in told
    assert "describe --transactional-id=ID" in told
    quoted = explanation(replace(MERELY_OPEN, owner=OWNER | {"transactional_id": "x'; rm -rf ~"}))
    assert """describe --transactional-id='x'"'"'; rm -rf ~'""" in quoted


def test_moments_and_durations_read_well_and_never_fail() -> None:
    assert [duration(ms) for ms in (0, 999, 61_000, 90_061_000, 86_400_000 * 400)] == [
        "0 s", "0 s", "1 min 1 s", "1 d 1 h", "400 d",
    ]  # fmt: skip
    assert moment(1 << 62) == f"{1 << 62} ms since 1970"
    assert moment(None) == "an unknown moment"
    assert printable("päy ment-1/ü") == "päy ment-1/ü"


def test_a_beginning_that_a_text_does_not_tell_is_said_so() -> None:
    untold = explanation(replace(MERELY_OPEN, owner=OWNER | {"start_ms": None}))
    assert "the text of kafka-dump-log does not show when it began" in untold
