"""The result of an audit, and verdict.json."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from jobs.model.expectation_results import Outcome
from jobs.model.incident import IncidentLine
from schemas.verdicts import VIOLATION

CLEAN, VIOLATIONS, INCOMPLETE = "clean", "violations", "incomplete"
NOT_ACCEPTED = "not_accepted"
EXIT_CODES = {CLEAN: 0, VIOLATIONS: 1, NOT_ACCEPTED: 1, INCOMPLETE: 3}


@dataclass(frozen=True)
class Since:
    """What changed since the audit that was finished before this one in the same folder.

    Findings are the same where code, topic, partition, first offset and producer id are, at one of
    their places. `new` and `gone`: verdict -> findings that only this audit has, that only the one
    before it had. What was no violation there and is one now is new, too. `unseen`: those of the
    one before it in copies of partitions that this audit does not have, or could not read.
    `differs`: in what the two audits differ besides: files, moment, code, configuration.
    """

    previous_audit_id: str
    new: dict[str, int]
    gone: dict[str, int]
    differs: tuple[str, ...] = ("files",)
    unseen: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, stored: dict[str, Any]) -> "Since":
        """From `dataclasses.asdict`, also through JSON."""
        return cls(**stored | {"differs": tuple(stored.get("differs", cls.differs))})


@dataclass(frozen=True)
class OpenTransactions:
    """Transactions without a marker, over all partitions; each replica has its own.

    `oldest_since_ms`: timestamp of the first batch of the oldest that holds back a last stable
    offset, null where there is none. `largest_lag`: offsets between the last stable offset and the
    high watermark (the log end where none is known) of the partition where that is most.
    """

    number: int
    oldest_since_ms: int | None
    largest_lag: int


@dataclass(frozen=True)
class Verdict:
    """The result of an audit. `not_looked_at`: sentences, one a thing left out and why.

    `incomplete` sentences are those because of which the audit counts as incomplete. `counts`:
    (code, severity, verdict) -> findings. `number`: the how-manieth audit of its folder, from 1.
    `since`: None for the first. Both are known when the audit is written. `policy`: what became of
    the acceptance policy; None where none was asked for. `incidents`: by number.
    """

    audit_id: str
    version: str
    as_of_ms: int | None
    counts: dict[tuple[str, str, str], int]
    totals: dict[str, int]
    not_looked_at: list[str]
    incomplete: list[str]
    open_transactions: OpenTransactions = field(default=OpenTransactions(0, None, 0))
    audit_number: int = 1
    since: Since | None = None
    policy: Outcome | None = None
    incidents: tuple[IncidentLine, ...] = ()

    def number(self, verdict: str) -> int:
        """Findings of one verdict."""
        return sum(n for (_, _, kind), n in self.counts.items() if kind == verdict)

    @property
    def broken(self) -> int:
        """Findings that make the exit code 1: violations of severity error."""
        return sum(
            n
            for (_, severity, kind), n in self.counts.items()
            if kind == VIOLATION and severity == "error"
        )

    @property
    def verdict(self) -> str:
        """Clean, violations, incomplete or not accepted.

        A proven violation outweighs what is missing. What is missing outweighs a policy that is
        not met, since it may be the reason.
        """
        if self.broken:
            return VIOLATIONS
        if self.missing:
            return INCOMPLETE
        return NOT_ACCEPTED if self.policy and self.policy.rejecting else CLEAN

    @property
    def missing(self) -> list[str]:
        """Why the audit is incomplete: what was not looked at, and what no policy could judge."""
        return self.incomplete + (self.policy.not_evaluated if self.policy else [])

    @property
    def exit_code(self) -> int:
        """0 clean, 1 violations or not accepted, 3 incomplete."""
        return EXIT_CODES[self.verdict]

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        words = {
            CLEAN: "CLEAN: no violation found in what was looked at",
            VIOLATIONS: f"VIOLATIONS: {self.broken:,} proven",
            INCOMPLETE: "INCOMPLETE: no violation found, but not everything could be looked at",
            NOT_ACCEPTED: "NOT ACCEPTED: no violation found, but the acceptance policy is not met",
        }
        return words[self.verdict]

    def as_dict(self) -> dict[str, Any]:
        """Content of verdict.json."""
        findings = [
            {"code": code, "severity": severity, "verdict": kind, "count": number}
            for (code, severity, kind), number in sorted(self.counts.items())
        ]
        return {
            "audit_id": self.audit_id,
            "audit_number": self.audit_number,
            "version": self.version,
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "as_of_ms": self.as_of_ms,
            "incidents": [asdict(one) for one in self.incidents],
            "findings": findings,
            "since": asdict(self.since) if self.since else None,
            "open_transactions": asdict(self.open_transactions),
            "totals": self.totals,
            "not_looked_at": self.not_looked_at,
            "incomplete": self.incomplete,
            "policy": self.policy and self.policy.as_dict(),
        }

    def as_json(self) -> str:
        """verdict.json: the same for the same audit, byte for byte."""
        return json.dumps(self.as_dict(), indent=2, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, content: str) -> "Verdict":
        """The verdict that `as_json` wrote."""
        stored = json.loads(content)
        counts = {(f["code"], f["severity"], f["verdict"]): f["count"] for f in stored["findings"]}
        names = ("audit_id", "audit_number", "version", "as_of_ms", "totals", "not_looked_at")
        judged = stored.get("policy")
        return cls(
            counts=counts,
            incidents=tuple(IncidentLine.of(one) for one in stored.get("incidents", [])),
            policy=Outcome(**judged) if judged else None,
            since=Since.of(stored["since"]) if stored["since"] else None,
            open_transactions=OpenTransactions(**stored["open_transactions"]),
            incomplete=stored["incomplete"],
            **{name: stored[name] for name in names},
        )
