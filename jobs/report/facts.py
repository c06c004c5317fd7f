"""The content of a report, as plain data: every list is bounded, numbers are exact, no Spark.

`jobs/report/gather.py` fills it from the tables; the page, report.json, SARIF and JUnit XML are
made of it alone.
"""

from dataclasses import asdict, dataclass, fields
from typing import Any

from jobs.report.verdict import Verdict
from schemas.dump_file import IN_TEXT


@dataclass(frozen=True)
class Field:
    """One field of dumped bytes: where it starts in its file, its name, its bytes, its meaning."""

    byte_position: int
    name: str
    hex: str
    value: str


@dataclass(frozen=True)
class Evidence:
    """A batch or entry that proves a finding; see `schemas.violation.EVIDENCE`.

    `fields`: its bytes, taken apart; `unread`: why that was not possible.
    """

    file: str
    byte_position: int
    byte_length: int
    role: str
    fields: tuple[Field, ...] = ()
    unread: str | None = None

    @property
    def units(self) -> tuple[str, str]:
        """What position and length count: bytes, or lines of a text of kafka-dump-log."""
        return ("line", "lines") if IN_TEXT in self.file else ("byte", "bytes")


@dataclass(frozen=True)
class FindingPlace:
    """One of several places of a finding, as in the table `violation`; offsets inclusive."""

    topic: str | None
    partition: int | None
    broker: int | None
    offset_first: int | None
    offset_last: int | None
    file: str | None
    byte_position: int | None


@dataclass(frozen=True)
class Finding:
    """An example of a finding: the columns of the table `violation`.

    `places`: the first of its places if it has several, else none; `place_count`: of all.
    `new`: whether the audit before this one did not have it, or not as a violation, which it is now
    (`proven_anew`); None where there was none before.
    `incident`: number of the incident that explains it; None for none. `beside`: where there is
    neither evidence nor `file`, a file of the same copy, else of the same broker; None for none.
    """

    code: str
    severity: str
    verdict: str
    reason: str | None
    topic: str | None
    partition: int | None
    broker: int | None
    offset_first: int | None
    offset_last: int | None
    producer_id: int | None
    producer_epoch: int | None
    transactional_id: str | None
    file: str | None
    byte_position: int | None
    expected: str
    found: str
    evidence: tuple[Evidence, ...]
    message: str
    remedy: str | None
    cause_id: str | None = None
    new: bool | None = None
    incident: int | None = None
    proven_anew: bool | None = None
    places: tuple[FindingPlace, ...] = ()
    place_count: int = 1
    beside: str | None = None

    @property
    def partition_name(self) -> str:
        """topic-partition."""
        return f"{self.topic}-{self.partition}"

    @property
    def where(self) -> str:
        """Place of the finding: topic-partition, broker, offsets."""
        place = self.partition_name
        if self.broker is not None:
            place += f" on broker {self.broker}"
        first, last = self.offset_first, self.offset_last
        if first is not None and last is not None and last != first:
            return f"{place}, offsets {first} to {last}"
        offset = last if first is None else first
        return place if offset is None else f"{place}, offset {offset}"


@dataclass(frozen=True)
class CheckManual:
    """What the catalogue says of a check; `sections`: (heading, text) of its manual in order."""

    code: str
    family: str
    severity: str
    source: str
    title: str
    sections: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class CheckRun:
    """A row of the table `check_run`."""

    code: str
    context: str
    status: str
    detail: str | None
    rows_examined: int | None
    violations: int
    suspects: int
    inconclusive: int


@dataclass(frozen=True)
class TopicCount:
    """Findings of one check in one topic; topic None gathers those beyond the first topics."""

    topic: str | None
    code: str
    verdict: str
    number: int


@dataclass(frozen=True)
class Cause:
    """Findings that one cause explains together: how many, of which checks, the first place."""

    cause_id: str
    number: int
    codes: tuple[str, ...]
    topic: str | None
    partition: int | None


@dataclass(frozen=True)
class PartitionState:
    """The columns of the table `partition_state` that a report shows."""

    broker: int | None
    topic: str
    partition: int
    log_start_offset: int
    log_end_offset: int
    high_watermark: int | None
    last_stable_offset: int
    open_transactions: int
    lso_producer_id: int | None
    lso_producer_epoch: int | None
    lso_transactional_id: str | None
    lso_since_ms: int | None

    @property
    def name(self) -> str:
        """topic-partition and broker."""
        place = f"{self.topic}-{self.partition}"
        return place if self.broker is None else f"{place} on broker {self.broker}"

    @property
    def readable_end(self) -> int:
        """Where read_uncommitted consumers stop: the high watermark, else the log end."""
        return self.log_end_offset if self.high_watermark is None else self.high_watermark

    @property
    def lag(self) -> int:
        """Offsets that read_committed consumers have to wait for."""
        return max(0, self.readable_end - self.last_stable_offset)


@dataclass(frozen=True)
class Transaction:
    """A row of the table `txn`; `outcome`: commit, abort, open or hanging."""

    producer_id: int
    producer_epoch: int | None
    first_offset: int
    last_offset: int
    outcome: str
    marker_offset: int | None


@dataclass(frozen=True)
class Timeline:
    """Transactions of a partition with findings, those nearest to `around`, in log order."""

    state: PartitionState
    around: int
    transactions: tuple[Transaction, ...]


@dataclass(frozen=True)
class RepairStep:
    """A step of a repair plan, see `schemas.incident.STEP`."""

    what: str
    command: str | None
    before: str | None
    check: str | None
    cannot: str | None
    reversible: bool


@dataclass(frozen=True)
class Consequence:
    """A row of the table `consequence`."""

    broker: int | None
    topic: str
    partition: int
    kind: str
    first_offset: int | None
    last_offset: int | None
    transactions: int | None
    records: int | None
    since_ms: int | None
    provable: bool


@dataclass(frozen=True)
class AffectedGroup:
    """A row of the table `affected_group`."""

    group: str
    topic: str
    partition: int
    kind: str
    first_offset: int
    last_offset: int | None
    committed_offset: int
    position: str


@dataclass(frozen=True)
class Derived:
    """A row of the table `affected`."""

    topic: str
    partition: int
    state: str
    application: str
    first_offset: int | None
    last_offset: int | None
    transactions: int | None
    records: int | None
    path: str


@dataclass(frozen=True)
class Event:
    """A row of the table `incident_event`."""

    at_ms: int
    event: str
    broker: int | None
    topic: str | None
    partition: int | None
    offset: int | None
    producer_id: int | None
    producer_epoch: int | None
    detail: str | None

    @property
    def where(self) -> str:
        """Place and producer in words."""
        parts = [] if self.topic is None else [f"{self.topic}-{self.partition}"]
        if self.broker is not None:
            parts.append(f"broker {self.broker}")
        if self.offset is not None:
            parts.append(f"offset {self.offset:,}")
        if self.producer_id is not None:
            parts.append(f"producer {self.producer_id}, epoch {self.producer_epoch}")
        return ", ".join([*parts, *([self.detail] if self.detail else [])])


@dataclass(frozen=True)
class Incident:
    """A row of the table `incident` with some rows of its other tables; numbers are exact."""

    incident: int
    kind: str
    grade: str
    title: str
    why: str
    known_bug: str | None
    broker: int | None
    findings: int
    violations: int
    places: int
    topics: tuple[str, ...]
    since_ms: int | None
    steps: tuple[RepairStep, ...]
    consequences: tuple[Consequence, ...] = ()
    consequence_count: int = 0
    groups: tuple[AffectedGroup, ...] = ()
    group_count: int = 0
    derived: tuple[Derived, ...] = ()
    derived_count: int = 0
    events: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Coverage:
    """Files of one broker and status (audited, digest_only, skipped, failed), and their bytes."""

    broker: int | None
    status: str
    files: int
    bytes: int


@dataclass(frozen=True)
class Damage:
    """A byte range without a valid batch; `end_byte` is exclusive."""

    file: str
    first_byte: int
    end_byte: int
    reason: str


@dataclass(frozen=True)
class PastAudit:
    """A row of the table `audit`, for the trend."""

    audit_number: int
    audit_id: str
    as_of_ms: int | None
    verdict: str
    violations: int
    suspects: int
    inconclusive: int
    new_findings: int | None
    open_transactions: int
    oldest_open_since_ms: int | None


@dataclass(frozen=True)
class Facts:
    """All that the reports of one audit are made of."""

    verdict: Verdict
    depth: str
    configuration: str
    findings: tuple[Finding, ...]
    by_topic: tuple[TopicCount, ...]
    causes: tuple[Cause, ...]
    cause_count: int
    lagging: tuple[PartitionState, ...]
    lagging_count: int
    timelines: tuple[Timeline, ...]
    coverage: tuple[Coverage, ...]
    damages: tuple[Damage, ...]
    damage_count: int
    damage_bytes: int
    checks: tuple[CheckRun, ...]
    history: tuple[PastAudit, ...]
    manuals: dict[str, CheckManual]
    incidents: tuple[Incident, ...] = ()

    def examples(self, code: str, verdict: str) -> list[Finding]:
        """The shown findings of a check and verdict."""
        return [f for f in self.findings if (f.code, f.verdict) == (code, verdict)]

    def as_dict(self) -> dict[str, Any]:
        """Everything but the manuals, which are those of the version."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        del values["manuals"]
        plain = {name: _plain(value) for name, value in values.items() if name != "verdict"}
        return plain | {"verdict": self.verdict.as_dict()}


def _plain(value: Any) -> Any:
    """Dataclasses and tuples of them as dictionaries and lists."""
    return [asdict(item) for item in value] if isinstance(value, tuple) else value
