"""What a policy makes of a verdict: exit code, verdict.json, summary."""

import json
from dataclasses import replace

import pytest

from jobs.model.expectation_results import Outcome
from jobs.report.summary import summary
from jobs.report.verdict import Verdict

TOTALS = dict.fromkeys(("files", "bytes", "partitions", "batches", "records", "transactions"), 1)
CLEAN = Verdict("id", "0", None, {}, TOTALS, [], [])
BROKEN = replace(CLEAN, counts={("sequence_gap", "error", "violation"): 1})
INCOMPLETE = replace(CLEAN, incomplete=["a file vanished."])
MET = Outcome("d", 3, [], [])


def failed(severity: str) -> Outcome:
    told = {"suite": "s", "number": 1, "expectation": "e", "severity": severity, "message": "No."}
    return Outcome("d", 3, [told], [])


UNKNOWN = replace(failed("error"), not_evaluated=["s.json: no valid JSON."])


@pytest.mark.parametrize(
    ("verdict", "policy", "told", "code"),
    [
        (CLEAN, None, "clean", 0),
        (CLEAN, MET, "clean", 0),
        (CLEAN, failed("warning"), "clean", 0),
        (CLEAN, failed("error"), "not_accepted", 1),
        (CLEAN, UNKNOWN, "incomplete", 3),
        (INCOMPLETE, MET, "incomplete", 3),
        (INCOMPLETE, failed("error"), "incomplete", 3),
        (BROKEN, MET, "violations", 1),
        (BROKEN, UNKNOWN, "violations", 1),
    ],
)
def test_a_policy_decides_where_nothing_worse_does(
    verdict: Verdict, policy: Outcome | None, told: str, code: int
) -> None:
    judged = replace(verdict, policy=policy)
    assert (judged.verdict, judged.exit_code) == (told, code)
    assert Verdict.from_json(judged.as_json()) == judged
    assert json.loads(judged.as_json())["exit_code"] == code


def test_the_summary_tells_what_failed_and_what_could_not_be_evaluated() -> None:
    assert "policy" not in summary(CLEAN, [], "out")
    assert "Acceptance policy: all 3 expectations met." in summary(
        replace(CLEAN, policy=MET), [], "out"
    )
    text = summary(replace(CLEAN, policy=UNKNOWN), [], "out")
    assert text.startswith("INCOMPLETE: ")
    assert "Acceptance policy: 1 of 3 not met; not all could be evaluated" in text
    assert "\n  s (error): No.\n" in text
    assert text.count("s.json: no valid JSON.") == 1
