"""report.junit.xml: a test suite a family of checks, a test case a check, for CI servers.

A proven violation of severity error is a failure, a crashed check an error, a check that did not
run is skipped; suspect and inconclusive findings are in the output of the case. A suite of its own
has what makes the exit code of an audit without violations: it is an error if the audit is
incomplete, and a failure if the acceptance policy is not met.
"""

from collections.abc import Iterator
from xml.etree import ElementTree as ET

from jobs.report.facts import CheckRun, Facts
from jobs.report.verdict import Verdict
from jobs.report.visible import visible
from schemas.verdicts import INCONCLUSIVE, SUSPECT, VIOLATION

# The suite of the audit as a whole; no family of checks has the name.
AUDIT = "audit"


def render(facts: Facts) -> str:
    """The document; every check is a case, whether it found something or not."""
    root = ET.Element("testsuites", {"name": f"eosaudit {facts.verdict.audit_id}"})
    families = dict.fromkeys(manual.family for manual in facts.manuals.values())
    for family in families:
        runs = [run for run in facts.checks if facts.manuals[run.code].family == family]
        suite = ET.SubElement(root, "testsuite", {"name": family})
        _count(suite, [_case(suite, facts, run) for run in runs])
    suite = ET.SubElement(root, "testsuite", {"name": AUDIT})
    _count(suite, list(_of_audit(suite, facts.verdict)))
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _count(suite: ET.Element, outcomes: list[str]) -> None:
    """`outcomes`: of the cases of the suite."""
    numbers = {"tests": len(outcomes), "failures": outcomes.count("failure"),
               "errors": outcomes.count("error"), "skipped": outcomes.count("skipped")}  # fmt: skip
    for name, number in numbers.items():
        suite.set(name, str(number))


def _of_audit(suite: ET.Element, verdict: Verdict) -> Iterator[str]:
    """Adds the cases of the audit as a whole, and yields what each is."""
    yield _outcome(suite, "complete", "error", verdict.missing)
    if policy := verdict.policy:
        failed = [one["message"] for one in policy.failed if one["severity"] == "error"]
        yield _outcome(suite, "acceptance_policy", "failure", failed)


def _outcome(suite: ET.Element, name: str, kind: str, sentences: list[str]) -> str:
    """Adds a case of the audit as a whole: of that kind where there is a sentence, else passed."""
    case = ET.SubElement(suite, "testcase", {"name": name, "classname": f"eosaudit.{AUDIT}"})
    if not sentences:
        return "passed"
    ET.SubElement(case, kind, {"message": visible(sentences[0])}).text = "\n".join(
        visible(one) for one in sentences
    )
    return kind


def _case(suite: ET.Element, facts: Facts, run: CheckRun) -> str:
    """Adds a case and returns what it is: failure, error, skipped or passed."""
    name = {"name": run.code, "classname": f"eosaudit.{facts.manuals[run.code].family}"}
    case = ET.SubElement(suite, "testcase", name)
    if run.status == "crashed":
        ET.SubElement(case, "error", {"message": visible(run.detail or "crashed")})
        return "error"
    if run.status != "ran":
        ET.SubElement(case, "skipped", {"message": visible(run.detail or run.status)})
        return "skipped"
    proven = facts.verdict.counts.get((run.code, "error", VIOLATION), 0)
    if proven:
        cause = _causes(facts, run.code)
        failure = ET.SubElement(case, "failure", {"message": f"{proven:,} violations{cause}"})
        failure.text = _messages(facts, run.code, (VIOLATION,))
    if other := _messages(facts, run.code, (SUSPECT, INCONCLUSIVE)):
        ET.SubElement(case, "system-out").text = other
    return "failure" if proven else "passed"


def _causes(facts: Facts, code: str) -> str:
    """The incidents of the shown violations of a check, in brackets."""
    shown = {finding.incident for finding in facts.examples(code, VIOLATION)}
    named = [f"{one.incident}: {one.kind}" for one in facts.verdict.incidents
             if one.incident in shown]  # fmt: skip
    return f" (incident {', '.join(named)})" if named else ""


def _messages(facts: Facts, code: str, verdicts: tuple[str, ...]) -> str:
    examples = [finding for verdict in verdicts for finding in facts.examples(code, verdict)]
    return "\n".join(visible(f"{f.verdict}: {f.where}: {f.message}") for f in examples)
