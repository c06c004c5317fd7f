"""What an audit says of the parts of logs that are not in the dump."""

from jobs.audit.coverage import (
    A_LONG_COPY_MS,
    coordinator_partitions_missing,
    gone_from_logs,
    too_early,
)
from jobs.model.dump import Dump, DumpDirectory, DumpFile, DumpPartition, MissingPartition


def partition(
    topic: str, number: int, base: int = 0, start: int | None = None, cleaner: int | None = None
) -> DumpPartition:
    segment = DumpFile(
        0, "", "", "", 1, topic, number, 0, "segment", base, 1, "audited", None
    )  # fmt: skip
    return DumpPartition(
        0, 1, topic, number, None, start, None, cleaner, True, True, True, segments=[segment]
    )


def test_a_log_that_lost_nothing_needs_no_sentence() -> None:
    whole = [partition("orders", 0), partition("__transaction_state", 0, cleaner=9)]
    assert list(gone_from_logs(Dump(partitions=whole))) == []


def test_heads_that_are_gone_are_told() -> None:
    trimmed = [partition("orders", 0, base=7), partition("orders", 1, start=3), partition("x", 0)]
    (told,) = gone_from_logs(Dump(partitions=trimmed))
    assert told.startswith("2 partitions (orders-0, orders-1): records below the log start offset")


def test_a_head_that_no_retention_takes_is_told_as_lost() -> None:
    states = [partition("__transaction_state", 0, base=7), partition("__transaction_state", 1)]
    (told,) = gone_from_logs(Dump(partitions=states))
    assert told.startswith(
        "1 partition (__transaction_state-0): the log does not begin at offset 0"
    )
    (told,) = gone_from_logs(Dump(partitions=[partition("__share_group_state", 0, base=7)]))
    assert "deleted by retention or DeleteRecords" in told


def test_cleaned_logs_of_clients_are_told_once_for_all_copies() -> None:
    cleaned = [partition("kv", 0, cleaner=5), partition("kv", 0, cleaner=9)]
    (told,) = gone_from_logs(Dump(partitions=cleaned))
    assert told == "1 partition (kv-0): records that the cleaner removed cannot be checked."


def test_gaps_of_the_coordinators_log_are_told_once() -> None:
    states = [partition("__transaction_state", number) for number in (1, 4)]
    dump = Dump(partitions=states)
    assert list(coordinator_partitions_missing(dump, dump.missing, 5)) == [
        "3 partitions of __transaction_state are not in the dump: 0, 2, 3."
    ]
    dump.missing = [
        MissingPartition("__transaction_state", n, 1, "a checkpoint") for n in (0, 2, 3)
    ]
    assert list(coordinator_partitions_missing(dump, dump.missing, 5)) == []
    assert list(coordinator_partitions_missing(dump, dump.missing, 7)) == [
        "2 partitions of __transaction_state are not in the dump: 5, 6."
    ]


def test_where_nothing_tells_how_many_there_are_some_may_be_missing() -> None:
    states = [partition("__transaction_state", number) for number in range(2)]
    (told,) = coordinator_partitions_missing(Dump(partitions=states), [], None)
    assert told.endswith("some above 1 may be missing.")
    assert list(coordinator_partitions_missing(Dump(partitions=states), [], 2)) == []
    usual = [partition("__transaction_state", number) for number in range(50)]
    assert list(coordinator_partitions_missing(Dump(partitions=usual), [], None)) == []
    assert list(coordinator_partitions_missing(Dump(), [], None)) == []
    listing = DumpDirectory("", 0, 1, None, coordinator_partitions=frozenset({0, 1}))
    listed = Dump(partitions=states, directories=[listing])
    assert list(coordinator_partitions_missing(listed, [], None)) == []


def test_a_moment_that_the_dump_contradicts_is_told() -> None:
    newest = 1_795_240_070_221
    quiet = (newest, newest + 1, newest - A_LONG_COPY_MS, None)
    assert [list(too_early(one, newest)) for one in quiet] == [[], [], [], []]
    assert list(too_early(newest, None)) == []
    (told,) = too_early(newest - 2 * 3_600_000, newest)
    assert told.startswith("The audit's moment (--as-of) is 2 h 0 min before the newest broker")
    (told,) = too_early(newest - A_LONG_COPY_MS - 60_000, newest)
    assert "is 26 min before" in told
