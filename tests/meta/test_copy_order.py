"""A claim that something is absent needs a copy that is late enough, and a case that shows it.

Copies of a live cluster are of different moments: what one lacks may have been written after it was
taken. So each check that claims an absence turns inconclusive where only the moments of the copies
differ, and one of its cases tells the same log with such copies.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobs.verify.catalogue import CHECKS
from jobs.verify.verdict import DUMP_BEFORE_EVENT
from schemas.verdicts import INCONCLUSIVE

CASES = Path(__file__).resolve().parents[1] / "checks"
CLAIM_AN_ABSENCE = {
    "conflicting_markers": "no transaction of a lowered version",
    "data_in_unlisted_partition": "no record lists the partition",
    "hanging_transaction": "no marker, and no coordinator that runs it",
    "late_write_after_marker": "no transaction that the write belongs to",
    "marker_coordinator_epoch_mismatch": "no later transaction of the epoch",
    "marker_in_unlisted_partition": "no Prepare record lists the partition",
    "marker_outcome_mismatch": "no Prepare record of this outcome",
    "marker_protocol_mixed": "no Prepare record of the other protocol",
    "marker_stale": "no Prepare record for the marker",
    "marker_without_prepare": "no Prepare record",
    "missing_marker_in_listed_partition": "no marker",
    "offset_commit_outcome_mismatch": "no second transaction of the epoch",
    "offset_commit_unlisted": "no record lists the partition",
    "open_data_of_completed_transaction": "no marker",
    "pending_offsets_stuck": "no marker",
    "prepare_never_completed": "no Complete record",
}
OF_SEVERAL_COPIES = {"coordinator_step", "decided_partition", "offset_transaction", "transaction"}
# They compare the log with the checkpoints of its own folder.
OF_ONE_FOLDER = {
    "aborted_data_below_cleaned_bound",
    "cleaned_data_without_marker",
    "coordinator_epoch_regression",
    "marker_epoch_regression",
}
# What a copy may have been taken before, and how its moment is told.
MOMENTS = re.compile(r" (at|again|every)=-?\d+")
OF_THE_COPY = {"name", "finds", "broker", "copied_at"}


def excused_by_copy_order(check: Any) -> bool:
    """Whether the check has an excuse for copies that are too old."""
    return any(
        (excuse.verdict, excuse.reason) == (INCONCLUSIVE, DUMP_BEFORE_EVENT)
        for excuse in check.excuses
    )


def verdicts(case: dict[str, Any], code: str) -> set[tuple[str, str | None]]:
    """Verdict and reason of what the case expects of a check."""
    return {
        (one.get("verdict", "violation"), one.get("reason"))
        for one in case["finds"]
        if one["code"] == code
    }


def without_moments(case: dict[str, Any]) -> str:
    """The case without what tells the moments of its copies."""
    rest = {name: value for name, value in case.items() if name not in OF_THE_COPY}
    return MOMENTS.sub("", yaml.safe_dump(rest, width=1000))


@pytest.mark.parametrize("code", CLAIM_AN_ABSENCE)
def test_a_claim_of_absence_has_a_twin_in_which_only_the_copies_are_of_other_moments(
    code: str,
) -> None:
    (path,) = CASES.glob(f"*/{code}.yaml")
    cases = yaml.safe_load(path.read_text("utf-8"))
    proven = {
        without_moments(case)
        for case in cases
        if {verdict for verdict, _ in verdicts(case, code)} & {"violation", "suspect"}
    }
    undecided = [
        case for case in cases if (INCONCLUSIVE, DUMP_BEFORE_EVENT) in verdicts(case, code)
    ]
    assert [case["name"] for case in undecided if without_moments(case) in proven]


def test_every_check_beside_the_coordinators_log_that_has_the_excuse_is_listed() -> None:
    excused = {
        check.code
        for check in CHECKS
        if check.context in OF_SEVERAL_COPIES and excused_by_copy_order(check)
    }
    assert excused - OF_ONE_FOLDER == set(CLAIM_AN_ABSENCE)
