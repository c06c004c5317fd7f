"""Signatures over plain findings: each cause beside what looks like it and is another."""

import importlib
import re

import pytest
from plain_traits import kind_of

from jobs.incidents.catalogue import ORDER, SIGNATURES, manual
from jobs.incidents.signature import CONSISTENT, LOST, MISSING_MARKER, PROVEN
from jobs.model.incident import CONSEQUENCES
from jobs.verify.catalogue import CHECKS

CODES = {check.code for check in CHECKS}
HANGS, OPEN_DATA = "hanging_transaction", "open_data_of_completed_transaction"
BUMP, TORN, DIVERGED = "epoch_bump_inside_open_txn", "torn_transaction", "replica_divergence"
TWINS = [
    # A marker without data is lost with them; with its data it was skipped.
    ("unclean_election", LOST, {LOST}, {LOST}),
    ("skipped_markers", MISSING_MARKER, {MISSING_MARKER}, {MISSING_MARKER}),
    # In a partition that was cut, a single skipped one is part of the cut.
    ("unclean_election", MISSING_MARKER, {MISSING_MARKER, LOST}, {MISSING_MARKER}),
    # What hangs: by its marker, by a cut, or because nobody knows of it.
    ("skipped_markers", HANGS, {HANGS, MISSING_MARKER}, {HANGS, MISSING_MARKER}),
    ("skipped_markers", HANGS, {HANGS, OPEN_DATA}, {HANGS, OPEN_DATA}),
    ("unclean_election", HANGS, {HANGS, DIVERGED}, {HANGS}),
    ("late_write", HANGS, {HANGS}, {HANGS}),
    # Another producer's skipped marker in the same partition says nothing about this one.
    ("late_write", HANGS, {HANGS, MISSING_MARKER}, {HANGS}),
    ("skipped_markers", BUMP, {BUMP}, {BUMP, MISSING_MARKER}),
    ("late_write", BUMP, {BUMP}, {BUMP}),
    # Committed here and aborted there: by hand, or because markers were skipped.
    ("operator_abort", TORN, {TORN}, {TORN}),
    ("skipped_markers", TORN, {TORN}, {TORN, MISSING_MARKER}),
    ("operator_abort", "offset_commit_outcome_mismatch", set(), {TORN}),
    ("offset_commits", "offset_commit_outcome_mismatch", set(), set()),
    # Copies that differ: of two histories, or of two clusters.
    ("unclean_election", DIVERGED, {DIVERGED}, set()),
    ("two_clusters", DIVERGED, {DIVERGED, "topic_id_mismatch"}, set()),
    # Two instances of one id, or two ids with one producer id.
    ("zombie_write", "zombie_write_after_fence", set(), {"zombie_write_after_fence"}),
    ("shared_producer_id", "zombie_write_after_fence", set(), {"txnlog_pid_shared"}),
    ("expired_state", "duplicate_batch", {"duplicate_batch"}, {"duplicate_batch"}),
    ("shared_producer_id", "duplicate_batch", set(), {"txnlog_pid_shared"}),
    ("damaged_disk", "batch_crc_mismatch", {"batch_crc_mismatch"}, set()),
    ("stale_replica", "replica_range_hole", {"replica_range_hole"}, set()),
    ("coordinator_lost_state", "prepare_never_completed", set(), set()),
    # A transaction that is merely slow is nobody's fault.
    ("unexplained", "lso_stuck", {"lso_stuck"}, {"lso_stuck"}),
    ("late_write", "lso_stuck", {"lso_stuck"}, {"lso_stuck", HANGS}),
]


@pytest.mark.parametrize(
    ("kind", "code", "here", "producer"), TWINS, ids=[f"{t[0]}-{n}" for n, t in enumerate(TWINS)]
)
def test_a_finding_and_its_look_alikes(
    kind: str, code: str, here: set[str], producer: set[str]
) -> None:
    assert kind_of(code, here, producer) == kind


def test_every_signature_takes_a_finding_of_the_twins() -> None:
    assert {kind for kind, *_ in TWINS} - {"unexplained"} == set(ORDER)


def test_signatures_name_checks_and_consequences_that_exist() -> None:
    for signature in SIGNATURES:
        module = importlib.import_module(f"jobs.incidents.signatures.{signature.name}")
        for value in vars(module).values():
            names = isinstance(value, tuple) and all(isinstance(one, str) for one in value)
            if names and not set(value) <= set(CONSEQUENCES):
                assert {one for one in value if one != LOST} <= CODES, signature.name
        assert set(signature.proven_by) <= CODES | {LOST}
        assert {one for step in signature.steps for one in step.of} <= set(CONSEQUENCES)


def test_manuals_have_all_parts() -> None:
    for signature in SIGNATURES:
        parts = re.findall(r"\n\n([A-Z][a-z -]+):", manual(signature))
        assert parts == ["What it looks like", "Why", "Evidence", "Look-alikes", "Known bug"]
        assert signature.steps


def test_a_grade_needs_a_violation_of_a_code_that_proves() -> None:
    skipped = next(one for one in SIGNATURES if one.name == "skipped_markers")
    assert skipped.grade(frozenset({MISSING_MARKER})) == PROVEN
    assert skipped.grade(frozenset({HANGS})) == CONSISTENT
