"""Writes the generated pages of docs/ from the code: `python -m jobs.cli.docs [--check]`."""

import sys
import textwrap
from pathlib import Path

from pyspark.sql.types import StructType

from jobs.cli.commands.checks import family, manual
from jobs.incidents.catalogue import SIGNATURES
from jobs.incidents.catalogue import manual as signature_manual
from jobs.incidents.signature import Step
from jobs.verify.catalogue import CHECKS
from jobs.verify.verdict import MEANINGS
from schemas.contexts import CONTEXTS
from schemas.policy_views import PARTITION_AGES, POLICY_VIEWS
from schemas.record import RECORD
from schemas.tables import TABLES

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXPORT_ABOUT = "Written by `export` under its `--out`. The audit id is that of the export."
VIEWS_ABOUT = "Not stored: further subjects of the suites of `--policy` (policy.md)."
INCIDENTS_ABOUT = (
    "An incident is a cause with the findings that it explains. A signature says how a cause is",
    "recognised. Signatures are tried in the order below; the first that explains a finding takes",
    "it. An incident needs at least one proven violation, and changes the verdict of none.",
    "Violations that no signature explains are the incident `unexplained`. Suspect and",
    "inconclusive findings that fit no proven cause belong to no incident (`incident` is null in",
    "the table `incident_finding`).",
    "",
    "`proven`: what the finding shows has no other cause. `consistent`: the signature fits, but",
    "another cause would leave the same traces.",
    "",
    "Consequences are counted exactly where the decision of the coordinator is about one producer",
    "epoch alone (transaction.version 2). Before that version several transactions share an",
    "epoch. Then a transaction is counted if no decision of the epoch has its outcome. If a",
    "transaction only took the outcome of a later marker, the row has its range of offsets, but",
    "no number of records (`provable` is false).",
    "",
    "A row of the table `consequence` is a range of neighbouring offsets without good records of",
    "others between them, except where all that waits is blocked. Transactions count where they",
    "begin. Of each kind the table `affected_group` has the last range that a group read of, and",
    "the first that it did not. If a range is one of `__consumer_offsets`, it also has the groups",
    "whose own commits lie in it, with the offsets to which the plan sets them; what a producer",
    "writes there is no commit of a group. After more than 10,000 transactions with records of",
    "others between their batches, the rest have one range each.",
    "",
    "After an unclean leader election the lost records are counted from the copy of the old",
    "leader. Records outside of transactions are counted separately: only those below the high",
    "watermark of that copy were certainly acknowledged.",
    "",
    "Incidents of one signature are separated by its key. For most signatures the key is the",
    "moment: what was decided or began within five minutes of each other has one cause, in",
    "however many partitions it shows. A finding without a date belongs to the nearest incident",
    "of its partition, or of its producer. Transactions that are lost from one offset of a",
    "partition on have one cause, whenever they were decided. Other signatures have one incident",
    "for each broker or producer. After forty incidents of a signature, the rest is one more.",
    "",
    "The table `affected` has the output computed from affected records. A transaction that",
    "committed an input offset beyond the first affected record has read it. Its output, and that",
    "of later transactions of its producer, is suspect. So is the output of transactions that",
    "read suspect output, and so on to the end. Topics downstream without suspect records are",
    "named as unaffected. A consumer that commits outside of transactions leaves no trace of its",
    "output; it is in the table `affected_group`.",
    "",
    "If the dump has `__cluster_metadata`, elections, fenced brokers and registrations around",
    "an incident are in the table `incident_event`, some of each kind. What is concluded",
    "rests on all of them, for each partition of the newest topic of its name by itself, and",
    "each must show it: where only some do, the incident is `consistent`.",
    "",
    "- *The marker was skipped* (`skipped_markers`): the partition had no leader when the",
    "  transaction was completed, by the clocks of controller and coordinator. And it had",
    "  lost it before the Prepare record, or no partition of the transaction had one: the",
    "  Complete record waits for the last of them. It proves the same of an aborted",
    "  transaction that has nothing in the partition. An election that may have cut off",
    "  the marker (next point) makes it `consistent`.",
    "- *A log was cut off* (`unclean_election`): at most ten minutes behind the decision a",
    "  leader was elected that may lack what the one before it had. It was neither in sync",
    "  nor an eligible leader replica by the records before, whatever its own record says;",
    "  one without any record before it shows nothing. A cut takes all from an offset on. So",
    "  none is told where a batch behind the missing marker, or anywhere in the log if no",
    "  data are there, is newer than the decision and older than the election.",
    "- If only markers were cut off, their incident is told as `unclean_election`,",
    "  `consistent`: where the election lies behind the decision, or behind data that hang,",
    "  and nothing refutes it.",
    "",
    "`./spark-submit.sh explain --out DIR --incident N` shows one incident with its plan.",
    "`repair.json` has all plans. The tables `incident`, `consequence`, `affected`,",
    "`affected_group` and `incident_event` ([tables.md](tables.md)) have all rows. Nothing is",
    "ever executed. A plan that has no step of its own for consumers that are blocked begins",
    "with those of `late_write`. `make test-brokers` applies the plans of `late_write` and",
    "`skipped_markers` (of an abort) to a real broker; the audit after them finds nothing. After a",
    "skipped COMMIT the log keeps the contradiction, because Kafka's tool only writes ABORT",
    "markers.",
)
GENERATED = "<!-- generated by `make generate`; edit the code instead -->"


def checks_page() -> str:
    """All checks with their manuals, by family."""
    lines = [
        "# Checks",
        "",
        GENERATED,
        "",
        f"{len(CHECKS)} checks. `severity` is that of a proven violation; a check of severity",
        "`warning` or `info` reports at most `suspect`, as a legal explanation always remains.",
        "A suspect or inconclusive finding has a reason:",
        "",
        "| reason | meaning |",
        "|---|---|",
        *[f"| `{reason}` | {meaning} |" for reason, meaning in MEANINGS.items()],
        "",
        "| check | severity | context | source |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| [{check.code}](#{check.code}) | {check.severity} | {check.context} | {check.source} |"
        for check in CHECKS
    ]
    for name in dict.fromkeys(family(check) for check in CHECKS):
        lines += ["", f"## Family {name}"]
        for check in CHECKS:
            if family(check) == name:
                lines += ["", f"### {check.code}", "", manual(check)]
    return "\n".join(lines) + "\n"


def tables_page() -> str:
    """All tables with the comment of every column."""
    lines = ["# Tables", "", GENERATED, "", "Delta tables under `--out`, in the order of writing."]
    for name, schema in TABLES.items():
        lines += ["", f"## {name}", "", *_columns(schema)]
    lines += ["", "# The table of an export", "", EXPORT_ABOUT, "", "## record", ""]
    lines += _columns(RECORD)
    lines += ["", "# Views for acceptance policies", "", VIEWS_ABOUT]
    for name, schema in POLICY_VIEWS.items():
        lines += ["", f"## {name}", "", *_columns(schema)]
    lines += ["", "## partition_state, besides its columns", "", *_columns(PARTITION_AGES)]
    return "\n".join(lines) + "\n"


def contexts_page() -> str:
    """All contexts with their columns and the checks that read them."""
    lines = [
        "# Contexts",
        "",
        GENERATED,
        "",
        "A check reads one context (`jobs/verify/contexts`). These are the columns that its rule,",
        "its excuses and its texts may name, as `schemas/contexts` declares them.",
    ]
    for name, context in CONTEXTS.items():
        read_by = ", ".join(f"`{check.code}`" for check in CHECKS if check.context == name)
        columns = textwrap.fill(" ".join(context.COLUMNS.split()), 96, break_on_hyphens=False)
        lines += ["", f"## {name}", "", f"One row is {context.ROW}.", "", f"Read by {read_by}."]
        lines += ["", "```text", columns, "```"]
    return "\n".join(lines) + "\n"


def incidents_page() -> str:
    """All signatures with their manuals, in the order in which they are tried."""
    lines = ["# Incidents", "", GENERATED, "", *INCIDENTS_ABOUT]
    for signature in SIGNATURES:
        lines += ["", f"## {signature.name}", "", signature_manual(signature)]
        if signature.known_bug:
            lines += ["", f"Named in reports as: {signature.known_bug}."]
        lines += ["", "What to do:", ""]
        lines += [f"{n}. {_what(step)}." for n, step in enumerate(signature.steps, 1)]
    return "\n".join(lines) + "\n"


def _what(step: Step) -> str:
    if not step.ended_by:
        return step.what
    ways = " or ".join(f"`{way}`" for way in step.ended_by)
    return f"Where `ended_by` of the consequence is {ways}: {step.what}"


def _columns(schema: StructType) -> list[str]:
    return ["| column | type | meaning |", "|---|---|---|"] + [
        f"| {field.name} | {field.dataType.simpleString()} | {field.metadata['comment']} |"
        for field in schema
    ]


PAGES = {
    "checks.md": checks_page,
    "contexts.md": contexts_page,
    "incidents.md": incidents_page,
    "tables.md": tables_page,
}


def stale_pages() -> list[str]:
    """Names of pages in docs/ that differ from what the code says."""
    return [
        name
        for name, page in PAGES.items()
        if not (DOCS / name).exists() or (DOCS / name).read_text("utf-8") != page()
    ]


def main(argv: list[str]) -> int:
    """Writes the pages; with --check only says which are stale and returns 1 for any."""
    if "--check" in argv:
        stale = stale_pages()
        for name in stale:
            sys.stderr.write(f"docs/{name} is stale: run `make generate` and commit it.\n")
        return 1 if stale else 0
    DOCS.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
