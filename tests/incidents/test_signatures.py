"""Signatures over plain findings: what cases cannot have, and what every signature must have."""

import importlib
import re

import pytest
from plain_traits import kind_of

from jobs.incidents.catalogue import SIGNATURES, manual
from jobs.incidents.signature import (
    AGAIN,
    BUMPED_BY_2,
    CAME_LATE,
    CONSISTENT,
    DECISION_LOST,
    DIVERGED_ALIKE,
    DIVERGED_CLEANED,
    DIVERGED_WITHIN,
    FORGOTTEN,
    IN_NONE,
    LOST,
    MISSING_MARKER,
    OPEN_DATA,
    PROVEN,
    UNLISTED,
)
from jobs.model.incident import CONSEQUENCES
from jobs.verify.catalogue import CHECKS

CODES = {check.code for check in CHECKS}
LABELS = {*AGAIN, BUMPED_BY_2, DECISION_LOST, LOST, FORGOTTEN, IN_NONE, DIVERGED_CLEANED,
          DIVERGED_ALIKE, DIVERGED_WITHIN}  # fmt: skip
HANGS, TORN, DIVERGED = "hanging_transaction", "torn_transaction", "replica_divergence"
# What no case has in `cases/*.yaml`, where all others are real logs.
TWINS = [
    # A transaction that was torn by hand in one partition and skipped in another: two causes in one
    # case, of which that of its producer takes both.
    ("skipped_markers", TORN, {TORN}, {TORN, MISSING_MARKER}),
    # Copies with different topic ids are not compared, so this needs a third copy; a case has two.
    ("two_clusters", DIVERGED, {DIVERGED, "topic_id_mismatch"}, set()),
    # Never more than suspect, so it makes no incident alone: a slow transaction is nobody's fault.
    ("unexplained", "lso_stuck", {"lso_stuck"}, {"lso_stuck"}),
    # It is told where the moments of copies leave open whether the transaction hangs.
    ("late_write", "lso_stuck", {"lso_stuck"}, {"lso_stuck", HANGS}),
    # The coordinator's log has to be whole, and the cases share theirs with some that lose records.
    ("coordinator_lost_state", FORGOTTEN, {FORGOTTEN}, {FORGOTTEN}),
    ("coordinator_lost_state", "pending_offsets_stuck", set(), {FORGOTTEN}),
    ("late_write", HANGS, {HANGS}, {HANGS}),
    ("late_write", "pending_offsets_stuck", set(), {HANGS}),
    # A producer of transaction.version 2 whose coordinator's log is gone, or with late data.
    ("coordinator_lost_state", BUMPED_BY_2, {BUMPED_BY_2}, {BUMPED_BY_2, DECISION_LOST}),
    ("late_write", BUMPED_BY_2, {UNLISTED[0]}, {UNLISTED[0]}),
    ("skipped_markers", "pending_offsets_stuck", set(), {BUMPED_BY_2}),
    ("unclean_election", FORGOTTEN, {FORGOTTEN, DIVERGED}, {FORGOTTEN}),
]


@pytest.mark.parametrize(
    ("kind", "code", "here", "producer"), TWINS, ids=[f"{t[0]}-{n}" for n, t in enumerate(TWINS)]
)
def test_a_finding_and_its_look_alikes(
    kind: str, code: str, here: set[str], producer: set[str]
) -> None:
    assert kind_of(code, here, producer) == kind


def test_signatures_name_checks_and_consequences_that_exist() -> None:
    for signature in SIGNATURES:
        module = importlib.import_module(f"jobs.incidents.signatures.{signature.name}")
        for value in vars(module).values():
            names = isinstance(value, tuple) and all(isinstance(one, str) for one in value)
            if names and not set(value) <= set(CONSEQUENCES):
                assert set(value) - LABELS <= CODES, signature.name
        assert set(signature.proven_by) <= CODES | LABELS | {CAME_LATE}
        assert {one for step in signature.steps for one in step.of} <= set(CONSEQUENCES)


def test_manuals_have_all_parts() -> None:
    for signature in SIGNATURES:
        parts = re.findall(r"\n\n([A-Z][a-z -]+):", manual(signature))
        assert parts == ["What it looks like", "Why", "Evidence", "Look-alikes", "Known bug"]
        assert signature.steps


def test_a_grade_needs_a_violation_of_a_code_that_proves() -> None:
    cut = next(one for one in SIGNATURES if one.name == "unclean_election")
    assert cut.grade(frozenset({DIVERGED})) == PROVEN
    assert cut.grade(frozenset({HANGS})) == CONSISTENT


def test_no_finding_alone_proves_that_a_marker_was_never_written() -> None:
    skipped = next(one for one in SIGNATURES if one.name == "skipped_markers")
    assert skipped.grade(frozenset({MISSING_MARKER, OPEN_DATA})) == CONSISTENT
