"""report.junit.xml: a test suite a family of checks, a test case a check, for CI servers.

A proven violation of severity error is a failure, a crashed check an error, a check that did not
run is skipped; suspect and inconclusive findings are in the output of the case.
"""

from collections import Counter
from xml.etree import ElementTree as ET

from jobs.report.facts import CheckRun, Facts
from jobs.report.visible import visible
from schemas.verdicts import INCONCLUSIVE, SUSPECT, VIOLATION


def render(facts: Facts) -> str:
    """The document; every check is a case, whether it found something or not."""
    root = ET.Element("testsuites", {"name": f"eosaudit {facts.verdict.audit_id}"})
    families = dict.fromkeys(manual.family for manual in facts.manuals.values())
    for family in families:
        runs = [run for run in facts.checks if facts.manuals[run.code].family == family]
        suite = ET.SubElement(root, "testsuite", {"name": family})
        outcomes = Counter(_case(suite, facts, run) for run in runs)
        numbers = {"tests": len(runs), "failures": outcomes["failure"],
                   "errors": outcomes["error"], "skipped": outcomes["skipped"]}  # fmt: skip
        for name, number in numbers.items():
            suite.set(name, str(number))
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


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
