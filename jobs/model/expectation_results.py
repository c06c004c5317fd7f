"""What became of an acceptance policy: one result an expectation, and the outcome of all."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

MET, FAILED, NOT_EVALUATED = "met", "failed", "not_evaluated"


@dataclass(frozen=True)
class Result:
    """A row of `schemas/expectation_result.py`, without the audit id."""

    suite: str
    number: int
    subject: str
    expectation: str
    arguments: str
    severity: str
    status: str
    rows_examined: int | None
    rows_failed: int | None
    observed: str | None
    examples: list[str]
    message: str


@dataclass(frozen=True)
class Outcome:
    """What of a policy goes into verdict.json. `expectations`: how many there are.

    `failed`: suite, number, expectation, severity and message of each that is not met.
    `not_evaluated`: sentences; any of them makes the audit incomplete.
    """

    digest: str
    expectations: int
    failed: list[dict[str, Any]]
    not_evaluated: list[str]

    @property
    def rejecting(self) -> int:
        """Failed expectations of severity error: those that make the exit code 1."""
        return sum(failed["severity"] == "error" for failed in self.failed)

    def as_dict(self) -> dict[str, Any]:
        """For verdict.json; `Outcome(**…)` reads it back."""
        return asdict(self)

    def lines(self) -> Iterator[str]:
        """Of the summary on the terminal, a blank line first."""
        yield ""
        if not self.failed and not self.not_evaluated:
            yield f"Acceptance policy: all {self.expectations:,} expectations met."
            return
        rest = "; not all could be evaluated" if self.not_evaluated else ""
        yield f"Acceptance policy: {len(self.failed):,} of {self.expectations:,} not met{rest}"
        for failed in self.failed:
            yield f"  {failed['suite']} ({failed['severity']}): {failed['message']}"


@dataclass(frozen=True)
class Judged:
    """`results`: one an expectation, in the order of the files; `outcome`: what they come to."""

    results: list[Result]
    outcome: Outcome


def outcome(digest: str, results: list[Result], problems: list[str]) -> Outcome:
    """The outcome of all results; `problems`: sentences about what could not even be begun."""
    failed = [
        {
            "suite": result.suite,
            "number": result.number,
            "expectation": result.expectation,
            "severity": result.severity,
            "message": result.message,
        }
        for result in results
        if result.status == FAILED
    ]
    broken = [result.message for result in results if result.status == NOT_EVALUATED]
    return Outcome(digest, len(results), failed, problems + broken)
