"""When nothing is missing, over arrays: offsets, the reach of the cleaner, partitions of a log."""

import random

import numpy as np
import pytest

from udfs.rules.absence import (
    MANY,
    RANGES_OF_SPLIT,
    Range,
    first_pass_possible,
    ids_fit,
    is_emptied_marker,
    is_gap,
    lacks_records,
    most_missing,
    overlaps,
    partitions_proven,
    passed_by_cleaner,
    running,
    widest_apart,
    within_reach,
)


def test_offsets_that_follow_leave_nothing_out() -> None:
    last_before, base = np.array([4, 4, 4, 4]), np.array([5, 6, 4, 100])
    assert is_gap(last_before, base).tolist() == [False, True, False, True]


def test_a_batch_that_the_cleaner_emptied_lacks_records() -> None:
    records, last_offset_delta = np.array([1, 0, 2, 3]), np.array([0, 0, 2, 1])
    assert lacks_records(records, last_offset_delta).tolist() == [False, True, True, False]


def test_a_marker_without_a_record_is_none_that_is_known() -> None:
    control, records = np.array([True, True, False]), np.array([0, 1, 0])
    assert is_emptied_marker(control, records).tolist() == [True, False, False]


def test_a_range_is_missing_up_to_the_offset_that_is_there_behind_it() -> None:
    missing = Range(np.int64(5), np.int64(8))
    first, last = np.array([0, 0, 7, 8, 5, 6]), np.array([4, 5, 7, 9, 5, 4])
    assert overlaps(missing, first, last).tolist() == [False, True, True, False, True, False]


def test_what_begins_below_its_reach_the_cleaner_took() -> None:
    assert within_reach(np.array([0, 6, 7]), 7).tolist() == [True, True, False]


def test_between_neighbours_lies_nothing_that_could_be_missing() -> None:
    missing = Range(np.int64(5), np.int64(8))
    assert not overlaps(missing, np.array([6, 7, 5]), np.array([5, 5, 4])).any()


def test_ranges_of_a_split_become_one_where_the_fewest_offsets_lie_between_them() -> None:
    number = RANGES_OF_SPLIT + 2
    first = np.arange(number) * 10 + 3
    # Nearer to the range before it than all others: the third, and the last.
    first[2], first[-1] = first[2] - 5, first[-1] - 4
    apart, starts = widest_apart(first, first + 2)
    assert len(apart) == starts.size == RANGES_OF_SPLIT
    assert apart[:3] == [Range(3, 5), Range(13, 20), Range(33, 35)]
    assert apart[-1] == Range(int(first[-2]), int(first[-1]) + 2)
    assert starts.tolist() == [0, 1, *range(3, number - 1)]


def test_of_ranges_at_equal_distances_the_newest_are_kept_apart() -> None:
    number = RANGES_OF_SPLIT + 20
    first = np.arange(number) * 10 + 3
    apart, starts = widest_apart(first, first + 2)
    assert apart[:2] == [Range(3, 205), Range(213, 215)]
    assert starts.tolist() == [0, *range(21, number)]


def test_a_few_ranges_of_a_split_are_kept_apart() -> None:
    first = np.array([3, 13])
    apart, starts = widest_apart(first, first + 2)
    assert apart == [Range(3, 5), Range(13, 15)]
    assert starts.tolist() == [0, 1]
    apart, starts = widest_apart(first[:0], first[:0])
    assert apart == []
    assert starts.size == 0


def _log(chance: random.Random, rising: bool) -> list[tuple[int, int, bool]]:
    """Batches in file order: base offset, last offset, and whether it lacks its own offsets."""
    batches, at = [], chance.randrange(5)
    for _ in range(chance.randrange(2, 12)):
        step = chance.choice([0, 0, 0, 1, 3]) if rising else chance.randrange(-6, 5)
        at = max(at + step, 0)
        size = chance.randrange(1, 5) if rising or chance.random() < 0.9 else -2
        batches.append((at, at + size - 1, chance.random() < 0.15))
        at += size
    return batches


def _present(batches: list[tuple[int, int, bool]]) -> set[int]:
    return {at for base, last, lacks in batches if not lacks for at in range(base, last + 1)}


@pytest.mark.parametrize("rising", [True, False], ids=["a log that rises", "one that goes back"])
def test_running_numbers_count_what_is_missing_between_any_two_batches(rising: bool) -> None:
    chance = random.Random(5)
    for _ in range(2000):
        batches = _log(chance, rising)
        base, last, lacking = (np.array(column) for column in zip(*batches, strict=True))
        told, there = running(base, last, lacking), _present(batches)
        readable = [i for i, one in enumerate(batches) if not one[2] and one[1] >= one[0]]
        for earlier in readable:
            for later in readable:
                if base[later] <= last[earlier]:
                    continue
                missing = set(range(last[earlier] + 1, base[later])) - there
                most = most_missing(told.behind[earlier], told.before[later])
                assert most >= len(missing)
                assert not rising or most == len(missing)


def test_running_numbers_go_on_from_split_to_split() -> None:
    chance = random.Random(6)
    for rising in (True, False) * 500:
        batches = _log(chance, rising)
        base, last, lacking = (np.array(column) for column in zip(*batches, strict=True))
        cut = chance.randrange(1, len(batches))
        whole = running(base, last, lacking)
        head = running(base[:cut], last[:cut], lacking[:cut])
        rest = running(base[cut:], last[cut:], lacking[cut:])
        to_rest = head.total + abs(int(base[cut] - last[cut - 1] - 1))
        assert head.before.tolist() == whole.before[:cut].tolist()
        # Behind a batch that ends before it begins, the step may count twice.
        both = zip(to_rest + rest.before, whole.before[cut:], strict=True)
        assert all(here == there if rising else here >= there for here, there in both)


def test_a_log_without_a_gap_has_running_numbers_of_nothing() -> None:
    told = running(np.array([0, 3, 4]), np.array([2, 3, 9]), np.zeros(3, dtype=np.bool_))
    assert [told.before.tolist(), told.behind.tolist(), told.total] == [[0, 0, 0], [0, 0, 0], 0]
    nothing = np.zeros(0, dtype=np.int64)
    assert running(nothing, nothing, nothing > 0).total == 0


def test_running_numbers_of_offsets_of_any_size_do_not_overflow() -> None:
    base = np.array([0, 1 << 61, 0, 1 << 61])
    told = running(base, base, np.zeros(4, dtype=np.bool_))
    assert told.before.tolist() == [0, MANY, 2 * MANY, 3 * MANY]


@pytest.mark.parametrize(
    ("file", "listed", "clean", "never", "possible"),
    [
        (True, False, False, False, True),
        (True, False, True, False, False),
        (True, True, False, False, False),
        (True, False, False, True, False),
        (False, False, False, False, False),
    ],
)
def test_a_first_pass_leaves_no_line_in_the_checkpoint(
    file: bool, listed: bool, clean: bool, never: bool, possible: bool
) -> None:
    told = first_pass_possible(*[np.array([one]) for one in (file, listed, clean, never)])
    assert told.tolist() == [possible]


@pytest.mark.parametrize(
    ("first", "last", "log_start", "checkpoint", "passed"),
    [
        (0, 3, 0, 1, True),
        (4, 7, 0, 4, False),
        # The log start lies inside, and the checkpoint has been moved to it.
        (0, 7, 4, 4, False),
        (0, 7, 4, 8, True),
        # All of it lies below the log start.
        (0, 3, 4, 100, False),
    ],
)
def test_no_cleaner_passes_open_data(
    first: int, last: int, log_start: int, checkpoint: int, passed: bool
) -> None:
    given = [np.array([one]) for one in (first, last, log_start, checkpoint)]
    assert passed_by_cleaner(*given).tolist() == [passed]


@pytest.mark.parametrize(
    ("number", "told", "listed", "fits", "sole", "proven"),
    [
        (1, True, False, False, False, True),
        (1, False, True, True, False, False),
        (1, False, False, True, True, True),
        (2, False, True, True, False, False),
        (2, False, False, True, True, True),
        (2, False, True, False, True, False),
        (50, False, True, True, False, True),
        (50, False, False, True, False, False),
        (50, False, True, False, True, False),
    ],
    ids=[
        "the cluster tells",
        "one partition, of which its ids tell nothing",
        "one partition, and with no other number do its ids lie there",
        "a broker lists these and no others, as may be of four",
        "with no multiple do the ids lie there",
        "ids lie elsewhere",
        "the default, which a broker lists",
        "the default, by folders alone",
        "the default, and ids lie elsewhere",
    ],
)
def test_when_all_partitions_are_there(
    number: int, told: bool, listed: bool, fits: bool, sole: bool, proven: bool
) -> None:
    given = (np.array([one]) for one in (number, told, listed, fits, sole))
    assert partitions_proven(*given).tolist() == [proven]


def test_few_ids_that_lie_elsewhere_are_the_fault_and_not_the_number() -> None:
    assert ids_fit(np.array([0, 17, 9, 10]), np.array([0, 3, 1, 1])).tolist() == [
        True, False, False, True,
    ]  # fmt: skip
