"""report.sarif: SARIF 2.1.0 (OASIS standard), for code scanning views and dashboards.

Results are the bounded examples; the exact numbers are in the properties of the run. A violation
of severity error is an `error`, a suspect or warning a `warning`, anything else a `note`.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from jobs.model.incident import IncidentLine
from jobs.report.facts import CheckManual, Evidence, Facts, Finding
from jobs.report.visible import visible
from schemas.dump_file import IN_TEXT
from schemas.verdicts import SUSPECT, VIOLATION

VERSION = "2.1.0"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def render(facts: Facts) -> str:
    """One run: a rule a check, a result an example."""
    rules = list(facts.manuals.values())
    index = {manual.code: number for number, manual in enumerate(rules)}
    verdict = facts.verdict
    run = {
        "tool": {
            "driver": {
                "name": "eosaudit",
                "semanticVersion": verdict.version,
                "rules": [_rule(manual) for manual in rules],
            }
        },
        "automationDetails": {"id": f"eosaudit/{verdict.audit_id}"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"DUMP": {"description": {"text": "The folder of the dump."}}},
        "invocations": [
            {
                "executionSuccessful": not verdict.missing,
                "exitCode": verdict.exit_code,
                "toolExecutionNotifications": [
                    *(_notification(text, "error") for text in verdict.missing),
                    *(_notification(text, "note") for text in verdict.not_looked_at),
                ],
            }
        ],
        "results": [_result(one, index, verdict.incidents) for one in facts.findings],
        "properties": {"verdict": verdict.as_dict()},
    }
    return json.dumps({"version": VERSION, "runs": [run]}, indent=1, sort_keys=True) + "\n"


def _rule(manual: CheckManual) -> dict[str, Any]:
    manual_text = "\n\n".join(f"{heading}: {text}" for heading, text in manual.sections)
    return {
        "id": manual.code,
        "shortDescription": {"text": manual.title},
        "fullDescription": {"text": manual_text},
        "help": {"text": f"{manual_text}\n\nRule from: {manual.source}"},
        "defaultConfiguration": {"level": LEVELS[manual.severity]},
        "properties": {"tags": [manual.family], "source": manual.source},
    }


def _notification(text: str, level: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": visible(text)}}


def _level(finding: Finding) -> str:
    if finding.verdict == VIOLATION:
        return LEVELS[finding.severity]
    return "warning" if (finding.verdict, finding.severity) == (SUSPECT, "error") else "note"


def _result(
    finding: Finding, index: dict[str, int], incidents: Iterable[IncidentLine] = ()
) -> dict[str, Any]:
    # The schema wants related locations to differ.
    proofs = list(dict.fromkeys(finding.evidence))
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": _level(finding),
        "message": {"text": visible(f"{finding.where}: {finding.message}")},
        "locations": [_location(proof, finding) for proof in proofs[:1]] or [_unproven(finding)],
        "relatedLocations": [_location(proof, finding) for proof in proofs[1:]],
        "partialFingerprints": {"eosauditFinding/v1": fingerprint(finding)},
        "properties": {
            "verdict": finding.verdict,
            "reason": finding.reason,
            "expected": visible(finding.expected),
            "found": visible(finding.found),
            "remedy": finding.remedy and visible(finding.remedy),
        },
    }
    kinds = {one.incident: one.kind for one in incidents}
    if finding.incident in kinds:
        result["properties"] |= {"incident": finding.incident, "cause": kinds[finding.incident]}
    if finding.new is not None:
        fresh = "updated" if finding.proven_anew else "new"
        result["baselineState"] = fresh if finding.new else "unchanged"
    return result


def fingerprint(finding: Finding) -> str:
    """The same for the same finding in every audit: code, topic, partition, offset, producer."""
    key = (
        finding.code,
        finding.topic,
        finding.partition,
        finding.offset_first,
        finding.producer_id,
    )
    return hashlib.sha256(json.dumps(key).encode()).hexdigest()


def _logical(finding: Finding) -> list[dict[str, str]]:
    return [{"fullyQualifiedName": visible(finding.partition_name), "kind": "resource"}]


def _region(proof: Evidence) -> dict[str, int]:
    """Lines of a text. Views want a line of other files, too: these are of one, with its bytes."""
    if IN_TEXT in proof.file:
        end = proof.byte_position + proof.byte_length - 1
        return {"startLine": proof.byte_position, "endLine": end}
    return {"startLine": 1, "byteOffset": proof.byte_position, "byteLength": proof.byte_length}


def _physical(file: str, region: dict[str, int]) -> dict[str, Any]:
    """A region of a file of the dump, TEXT!/FILE for one that a text tells of."""
    uri = quote(file.partition(IN_TEXT)[0])
    return {"artifactLocation": {"uri": uri, "uriBaseId": "DUMP"}, "region": region}


def _location(proof: Evidence, finding: Finding) -> dict[str, Any]:
    return {
        "physicalLocation": _physical(proof.file, _region(proof)),
        "logicalLocations": _logical(finding),
        "message": {"text": visible(proof.role)},
    }


def _unproven(finding: Finding) -> dict[str, Any]:
    """Where there is no evidence: the file that is named, else one beside it, else the folder.

    Code scanning views refuse a whole report for one result without a physical location.
    """
    line = {"startLine": 1}
    if finding.file is not None and finding.byte_position is not None and IN_TEXT in finding.file:
        line = {"startLine": max(1, finding.byte_position)}
    file = finding.file or finding.beside or finding.partition_name
    return {"physicalLocation": _physical(file, line), "logicalLocations": _logical(finding)}
