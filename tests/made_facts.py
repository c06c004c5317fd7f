"""Facts for the reports, made by hand: what no small dump holds, and what attackers send."""

from dataclasses import replace

from jobs.cli.commands.checks import described
from jobs.model.incident import Effect, IncidentLine
from jobs.report.facts import (
    AffectedGroup,
    Cause,
    CheckRun,
    Consequence,
    Coverage,
    Damage,
    Derived,
    Event,
    Evidence,
    Facts,
    Finding,
    Incident,
    PartitionState,
    PastAudit,
    RepairStep,
    Timeline,
    TopicCount,
    Transaction,
)
from jobs.report.verdict import OpenTransactions, Since, Verdict
from jobs.verify.catalogue import CHECKS

MANUALS = {check.code: described(check) for check in CHECKS}
AN_EVENING = 1_795_240_070_221
# Markup, quotes, a dollar, an ampersand, an escape sequence, a bidirectional override, a NUL.
HOSTILE = "<script>alert('\"$x$&amp;\x1b[2J\u202e\x00</script>"
TOTALS = {
    "files": 43,
    "bytes": 1_234_567,
    "partitions": 7,
    "batches": 321,
    "records": 4_321,
    "transactions": 99,
}


def verdict(**changes: object) -> Verdict:
    """A clean verdict, but for `changes`."""
    clean = Verdict(
        audit_id="0123456789abcdef0123456789abcdef",
        version="0.1.0",
        as_of_ms=AN_EVENING,
        counts={},
        totals=TOTALS,
        not_looked_at=["4 files of kind time_index: digest only, content not judged."],
        incomplete=[],
    )
    return replace(clean, **changes)  # type: ignore[arg-type]


def clean() -> Facts:
    """A healthy dump."""
    return Facts(
        verdict=verdict(),
        depth="records",
        configuration='{"as_of": null}',
        findings=(),
        by_topic=(),
        causes=(),
        cause_count=0,
        lagging=(),
        lagging_count=0,
        timelines=(),
        coverage=(Coverage(0, "audited", 40, 1_000_000), Coverage(0, "digest_only", 3, 234_567)),
        damages=(),
        damage_count=0,
        damage_bytes=0,
        checks=tuple(CheckRun(c.code, c.context, "ran", None, 12, 0, 0, 0) for c in CHECKS),
        history=(),
        manuals=MANUALS,
    )


def finding(number: int = 0, **changes: object) -> Finding:
    """A hanging transaction, but for `changes`."""
    file = "broker-0/h-0/00000000000000000000.log"
    made = Finding(
        code="hanging_transaction",
        severity="error",
        verdict="violation",
        reason=None,
        topic="h",
        partition=0,
        broker=0,
        offset_first=59 + 10 * number,
        offset_last=64 + 10 * number,
        producer_id=5,
        producer_epoch=0,
        transactional_id=None,
        file=file,
        byte_position=4976,
        expected="a COMMIT or ABORT marker, or a coordinator that lists the partition",
        found="no marker; coordinator: CompleteAbort",
        evidence=(Evidence(file, 4976, 91, "first batch of the transaction"),),
        message="The transaction of producer 5 hangs.",
        remedy="kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic h",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def state(topic: str = "h", lag: int = 67) -> PartitionState:
    """A partition whose last stable offset is held back by `lag` offsets."""
    since = AN_EVENING - 3_600_000
    return PartitionState(0, topic, 0, 0, 59 + lag, 59 + lag, 59, 1, 5, 0, "app-1", since)


def timeline(topic: str = "h") -> Timeline:
    """Transactions of every outcome."""
    return Timeline(
        state(topic),
        59,
        (
            Transaction(3, 0, 10, 20, "commit", 21),
            Transaction(4, 0, 22, 30, "abort", 35),
            Transaction(5, 0, 59, 64, "hanging", None),
            Transaction(3, 1, 70, 80, "commit", 84),
            Transaction(6, 0, 90, 95, "open", None),
        ),
    )


def incident(text: str = "m") -> tuple[Incident, IncidentLine]:
    """Skipped markers in a topic, with a plan; `text` is what somebody else has chosen."""
    title = "The coordinator completed transactions without writing their markers"
    since = AN_EVENING - 3_600_000
    command = "\n".join(
        f"kafka-transactions.sh abort --topic {text} --partition {n}" for n in (0, 1)
    )
    effects = (
        Effect("aborted_records_visible", 2, 41, 5, since),
        Effect("records_blocked", 2, 250, None, since),
    )
    names = (f"{text}-billing", "audit-trail")
    whole = Incident(
        incident=1,
        kind="skipped_markers",
        grade="proven",
        title=title,
        why="While a broker was fenced its partitions had no leader.",
        known_bug="KAFKA-20734, seen in 4.3.0",
        broker=None,
        findings=18,
        violations=18,
        places=76,
        topics=(text, "n"),
        since_ms=since,
        steps=(
            RepairStep(
                "Abort what hangs", command, "it is open", "the offset moves on", None, False
            ),
            RepairStep("Stop brokers cleanly", None, None, None, "what happened already", True),
        ),
        consequences=(
            Consequence(1, text, 0, "aborted_records_visible", 104, 112, 3, 20, since, True),
            Consequence(None, text, 1, "records_lost", None, None, 4, None, None, False),
        ),
        consequence_count=40,
        groups=(
            AffectedGroup(names[0], text, 0, "aborted_records_visible", 104, 112, 400, "read"),
        ),
        group_count=1,
        derived=(
            Derived(f"{text}-out", 0, "suspect", names[0], 7, 90, 12, 60, f"{text}-0 > b > c-0"),
            Derived("untouched", 0, "clean", names[0], None, None, None, 0, "m-0 > b > d-0"),
        ),
        derived_count=2,
        events=(
            Event(since - 4_000, "broker_fenced", 1, None, None, None, None, None, None),
            Event(since, "first_affected", 1, text, 0, 104, 7, 3, None),
            Event(since + 9_000, "complete_abort", None, None, None, 55, 7, 3, f"tx-{text}"),
            Event(since + 60_000, "read_by_group", None, text, 0, None, 8, 4, names[0]),
        ),
    )
    line = IncidentLine(1, "skipped_markers", "proven", title, 18, 18, effects, names, 2,
                        "Abort what hangs", suspect_topics=(f"{text}-out",),
                        clean_topics=("untouched",))  # fmt: skip
    return whole, line


def with_incident(facts: Facts, text: str = "m") -> Facts:
    """The facts with that incident, which explains their first finding."""
    whole, line = incident(text)
    first, *others = facts.findings
    return replace(
        facts,
        verdict=replace(facts.verdict, incidents=(line,)),
        findings=(replace(first, incident=1), *others),
        incidents=(whole,),
    )


def hanging() -> Facts:
    """One hanging transaction, a suspect and an observation, and the audits before."""
    suspect = finding(1, code="sequence_gap", verdict="suspect", reason="also_legal", remedy=None)
    seen = finding(2, code="active_tail_torn", severity="info", verdict="suspect")
    counts = {
        ("hanging_transaction", "error", "violation"): 1,
        ("sequence_gap", "error", "suspect"): 12_345,
        ("active_tail_torn", "info", "suspect"): 1,
    }
    return replace(
        clean(),
        verdict=verdict(
            counts=counts,
            audit_number=3,
            since=Since("fedcba98" * 4, {"violation": 1}, {"suspect": 2}),
            open_transactions=OpenTransactions(2, AN_EVENING - 3_600_000, 67),
        ),
        findings=(finding(new=True, cause_id="txn-5-59"), replace(suspect, new=False), seen),
        by_topic=(
            TopicCount("h", "hanging_transaction", "violation", 1),
            TopicCount("h", "active_tail_torn", "suspect", 1),
            TopicCount("orders", "sequence_gap", "suspect", 12_000),
            TopicCount(None, "sequence_gap", "suspect", 345),
        ),
        causes=(Cause("txn-5-59", 2, ("hanging_transaction", "lso_stuck"), "h", 0),),
        cause_count=1,
        lagging=(state(), state("orders", 3)),
        lagging_count=2,
        timelines=(timeline(),),
        damages=(Damage("broker-0/h-0/00000000000000000000.log", 12, 512, "crc_mismatch"),),
        damage_count=1,
        damage_bytes=500,
        history=tuple(
            PastAudit(n, f"{n:032x}", AN_EVENING + n * 86_400_000, "violations", n, 2 * n, 0,
                      None if n == 1 else 1, n, AN_EVENING - 3_600_000)
            for n in (1, 2, 3)
        ),
    )  # fmt: skip


def hostile() -> Facts:
    """`hanging`, with markup and control characters wherever someone else chooses a text."""
    bad = HOSTILE
    proof = Evidence(bad, 0, 91, bad, unread=bad)
    told = finding(
        topic=bad, transactional_id=bad, file=bad, expected=bad, found=bad, evidence=(proof,),
        message=bad, remedy=bad, cause_id=bad, reason=bad, incident=1,
    )  # fmt: skip
    made = hanging()
    whole, line = incident(bad)
    return replace(
        made,
        incidents=(whole,),
        verdict=replace(made.verdict, not_looked_at=[bad], incomplete=[bad], incidents=(line,)),
        configuration=bad,
        findings=(told,),
        by_topic=(TopicCount(bad, "hanging_transaction", "violation", 1),),
        causes=(Cause(bad, 1, ("hanging_transaction",), bad, 0),),
        lagging=(replace(state(bad), lso_transactional_id=bad),),
        timelines=(timeline(bad),),
        damages=(Damage(bad, 0, 1, bad),),
        checks=(replace(made.checks[0], status="crashed", detail=bad), *made.checks[1:]),
    )


def large() -> Facts:
    """What is left of 100,000 findings: as much of everything as a report ever shows."""
    codes = [check.code for check in CHECKS]
    counts = {(code, "error", kind): 500 for code in codes for kind in ("violation", "suspect")}
    told = [
        finding(n, code=code, verdict=kind, evidence=finding().evidence * 5)
        for code, _, kind in counts
        for n in range(5)
    ]
    transactions = tuple(
        Transaction(n % 25, 0, 10 * n, 10 * n + 5, "commit", 10 * n + 6) for n in range(80)
    )
    return replace(
        hanging(),
        verdict=verdict(counts=counts),
        findings=tuple(told),
        by_topic=tuple(TopicCount(f"topic-{n}", code, "violation", 40)
                       for n in range(10) for code in codes),
        lagging=tuple(state(f"topic-{n}", 1000 - n) for n in range(20)),
        lagging_count=100_000,
        timelines=tuple(Timeline(state(f"topic-{n}"), 0, transactions) for n in range(6)),
        damages=hanging().damages * 20,
        damage_count=100_000,
    )  # fmt: skip
