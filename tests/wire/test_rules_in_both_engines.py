"""Rules over a few numbers and flags: columns say what arrays say, nulls included."""

import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from engines import check_in_both_engines
from pyspark.sql import SparkSession

from udfs.rules import (
    absence,
    attribution,
    clock,
    ending,
    extent,
    memory,
    producer_ids,
)

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = [-1, 0, 1, 2, 3, 5, 8, 59_999, 60_001, 300_002, None]
FLAGS = [True, False, None]
# What each parameter is: a number or a flag.
NUMBER, FLAG = "n", "f"


def overlaps(first_missing: Any, end: Any, first: Any, last: Any) -> Any:
    return absence.overlaps(absence.Range(first_missing, end), first, last)


def none_between(offset: Any, ordinal: Any, later_offset: Any, later_ordinal: Any) -> Any:
    earlier = absence.Counted(offset, ordinal)
    return absence.none_between(earlier, absence.Counted(later_offset, later_ordinal))


def none_before(offset: Any, ordinal: Any) -> Any:
    return absence.none_before(absence.Counted(offset, ordinal))


def in_order_up_to_5(*moments_and_epochs: Any) -> Any:
    return attribution.marked_in_order(*moments_and_epochs, 5)


RULES: tuple[tuple[Callable[..., Any], str], ...] = (
    (absence.lacks_records, "nn"),
    (absence.is_emptied_marker, "fn"),
    (absence.within_reach, "nn"),
    (overlaps, "nnnn"),
    (none_between, "nnnn"),
    (none_before, "nn"),
    (absence.reaches_behind, "nn"),
    (absence.step_between, "nn"),
    (absence.most_missing, "nn"),
    (absence.first_pass_possible, "ffff"),
    (absence.passed_by_cleaner, "nnnn"),
    (absence.ids_fit, "nn"),
    (absence.partitions_proven, "nffff"),
    (attribution.took_effect, "nn"),
    (attribution.carried_out_unseen, "nnnff"),
    (attribution.is_copied_later, "nnf"),
    (attribution.one_transaction_an_epoch, "n"),
    (attribution.is_unended, "nn"),
    (attribution.surely_before, "nnn"),
    (attribution.epoch_given_again, "nnn"),
    (attribution.ended_before, "nn"),
    (attribution.marked_before, "nnnff"),
    (attribution.has_had_no_other_head, "nfn"),
    (attribution.clock_went_on, "nn"),
    (attribution.format_may_refuse, "nnf"),
    (attribution.has_leader_epoch, "n"),
    (attribution.was_loaded, "nn"),
    (attribution.would_be_sent_again, "nn"),
    (in_order_up_to_5, "nnnnn"),
    (attribution.may_be_operators, "ff"),
    (attribution.contradicts, "fff"),
    (attribution.owns_what_is_there, "nnf"),
    (attribution.room_before, "nn"),
    (attribution.lacks_marker, "nnn"),
    (attribution.ended_too_many, "nn"),
    (clock.within_clocks, "n"),
    (clock.clocks_apart, "fn"),
    (clock.is_broker_clock, "fff"),
    (clock.covers, "nnn"),
    (clock.complete_to, "nnn"),
    (clock.comes_twice, "nnnn"),
    (clock.comes_twice_within, "nnnnn"),
    (clock.keeps_order, "nnf"),
    (clock.counted_pause, "n"),
    (ending.is_decided_abort, "ffffff"),
    (ending.ended_by, "fff"),
    (extent.is_replicated, "nn"),
    (extent.is_outlasted, "nnnn"),
    (extent.goes_on_with, "nn"),
    (extent.is_cut_off, "nn"),
    (extent.is_told_by_another, "fff"),
    (extent.manifest_counts, "ffnn"),
    (extent.reaches_copying, "fff"),
    (extent.is_one_moment, "fffff"),
    (extent.outlived, "nnn"),
    (producer_ids.overlaps_block_before, "nn"),
    (memory.may_be_gone_with_the_head, "nn"),
    (memory.explains_first_offset, "nnnnn"),
    (memory.explains_stable_offset, "nnn"),
    (lambda state, latest, is_open: memory.may_have_expired(state, latest, is_open, 5), "nnf"),
    (lambda earlier, later: memory.at_least_later(earlier, later, 5), "nn"),
)
# Of batches and splits only: no column asks them.
OF_ARRAYS = {
    "widest_apart", "running", "is_remembered_from", "sequence_at", "marker_gap",
    "contrary_markers",
}  # fmt: skip


@pytest.mark.spark
@pytest.mark.parametrize(("rule", "kinds"), RULES)
def test_columns_say_what_arrays_say(
    spark: SparkSession, rule: Callable[..., Any], kinds: str
) -> None:
    choices = {
        f"value_{number}": NUMBERS if kind == NUMBER else FLAGS for number, kind in enumerate(kinds)
    }
    check_in_both_engines(spark, lambda row: rule(*row.values()), choices)


def test_every_rule_is_asked_in_both_engines() -> None:
    tests = [path.read_text("utf-8") for path in sorted(Path(__file__).parent.glob("test_rules_*"))]
    asked = "\n".join(text for text in tests if "check_in_both_engines" in text)
    for path in sorted((ROOT / "udfs" / "rules").glob("[a-z]*.py")):
        module = import_module(f"udfs.rules.{path.stem}")
        for name, value in vars(module).items():
            own = inspect.isfunction(value) and value.__module__ == module.__name__
            if path.stem == "logic" or not own or name.startswith("_") or name in OF_ARRAYS:
                continue
            assert re.search(rf"\b{name}\b", asked), f"{module.__name__}.{name}"
