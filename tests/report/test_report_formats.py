"""report.json, SARIF, JUnit XML, and the files that seal a report."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import made_facts
import pytest

from jobs.model.errors import UsageError
from jobs.model.expectation_results import Outcome
from jobs.report import junit, report_json, sarif
from jobs.report.formats import FORMATS, files
from jobs.report.seal import check_key
from jobs.report.verdict import Verdict
from jobs.verify.catalogue import CHECKS

MACHINE = ("json", "sarif", "junit")


def test_report_json_tells_what_the_page_tells() -> None:
    told = json.loads(report_json.render(made_facts.hanging()))
    assert told["verdict"]["exit_code"] == 1
    assert told["findings"][0]["evidence"][0]["byte_position"] == 4976
    assert told["timelines"][0]["transactions"][2]["outcome"] == "hanging"
    assert [past["audit_number"] for past in told["history"]] == [1, 2, 3]


def test_a_verdict_is_read_back_as_it_was_written() -> None:
    for facts in (made_facts.hanging(), made_facts.clean()):
        assert Verdict.from_json(facts.verdict.as_json()) == facts.verdict


def test_sarif_has_a_rule_a_check_and_results_that_point_to_bytes() -> None:
    (run,) = json.loads(sarif.render(made_facts.hanging()))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [check.code for check in CHECKS]
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])
    assert [result["level"] for result in run["results"]] == ["error", "warning", "note"]
    assert [result.get("baselineState") for result in run["results"]] == ["new", "unchanged", None]
    first, *others = made_facts.hanging().findings
    anew = (replace(first, proven_anew=True), *others)
    (run,) = json.loads(sarif.render(replace(made_facts.hanging(), findings=anew)))["runs"]
    assert run["results"][0]["baselineState"] == "updated"
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 1, "byteOffset": 4976, "byteLength": 91}
    assert len({r["partialFingerprints"]["eosauditFinding/v1"] for r in run["results"]}) == 3


def test_sarif_has_a_file_and_a_line_for_every_result() -> None:
    """GitHub's code scanning refuses a report of which one location lacks them."""
    facts = made_facts.hanging()
    first, *others = facts.findings
    bare = replace(first, evidence=(), file=None, byte_position=None)
    of_text = replace(first, evidence=(), file="d.txt!/h-0/0.log", byte_position=7)
    findings = (
        bare, replace(bare, beside="b/h-0/0 .log"), replace(first, evidence=()), of_text, *others,
    )  # fmt: skip
    (run,) = json.loads(sarif.render(replace(facts, findings=findings)))["runs"]
    found = [location["physicalLocation"]
             for one in run["results"]
             for location in one["locations"] + one["relatedLocations"]]  # fmt: skip
    assert all(one["artifactLocation"]["uri"] for one in found)
    assert all(one["region"]["startLine"] >= 1 for one in found)
    places = [one["locations"][0]["physicalLocation"] for one in run["results"][:4]]
    assert [(one["artifactLocation"]["uri"], one["region"]) for one in places] == [
        ("h-0", {"startLine": 1}), ("b/h-0/0%20.log", {"startLine": 1}),
        (first.file, {"startLine": 1}), ("d.txt", {"startLine": 7}),
    ]  # fmt: skip


def test_junit_has_a_case_a_check_and_tells_failed_from_crashed_and_skipped() -> None:
    root = ElementTree.fromstring(junit.render(made_facts.hostile()))
    numbers = [root.get(name) for name in ("tests", "failures", "errors", "skipped")]
    # The audit is one more, and incomplete as a check crashed.
    assert numbers == [str(len(CHECKS) + 1), "1", "2", "0"]
    assert len(root.findall("./testsuite/testcase")) == len(CHECKS) + 1
    (failure,) = root.findall(".//testcase[@name='hanging_transaction']/failure")
    assert failure.get("message") == "1 violations (incident 1: skipped_markers)"
    assert "\\x1b" in str(failure.text)


def test_junit_is_red_where_the_exit_code_is_not_0_without_a_violation() -> None:
    """No CI server may take an audit that saw nothing, or was not accepted, for a good one."""

    def told(**changes: object) -> tuple[str | None, ...]:
        facts = replace(made_facts.clean(), verdict=made_facts.verdict(**changes))
        root = ElementTree.fromstring(junit.render(facts))
        (suite,) = root.findall("./testsuite[@name='audit']")
        assert root.get("errors") == suite.get("errors")
        messages = [one.get("message") for one in suite.findall("./testcase/*")]
        return suite.get("tests"), suite.get("errors"), suite.get("failures"), *messages

    def policy(severity: str) -> Outcome:
        failed = {"suite": "s", "number": 0, "expectation": "e", "severity": severity}
        return Outcome("d", 2, [failed | {"message": "too old"}], [])

    assert told() == ("1", "0", "0")
    assert told(incomplete=["No batch was read."]) == ("1", "1", "0", "No batch was read.")
    assert told(policy=policy("error")) == ("2", "0", "1", "too old")
    assert told(policy=policy("warning")) == ("2", "0", "0")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_text_of_printable_characters(name: str) -> None:
    _, render = FORMATS[name]
    page = render(made_facts.hostile())
    assert [c for c in page if c < " " and c != "\n"] == []


def test_sums_and_manifest_name_every_file_and_notice_a_change(tmp_path: Path) -> None:
    made = files(made_facts.clean(), MACHINE)
    assert files(made_facts.clean(), MACHINE) == made
    for name, content in made.items():
        (tmp_path / name).write_bytes(content)
    manifest = json.loads(made["manifest.json"])
    named = {subject["name"] for subject in manifest["subject"]}
    assert named == set(made) - {"manifest.json", "SHA256SUMS"}

    def intact() -> bool:
        command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
        return (
            subprocess.run(command, check=False, cwd=tmp_path, capture_output=True).returncode == 0
        )

    assert intact()
    (tmp_path / "report.json").write_bytes(made["report.json"].replace(b"clean", b"CLEAN"))
    assert not intact()


def test_no_file_of_a_report_is_left_without_a_checksum() -> None:
    facts = made_facts.hanging()
    sealed = {"verdict.json", "manifest.json", "SHA256SUMS"}
    whole = files(facts, FORMATS)
    # What is sealed stays as it is, here with bytes of evidence that are not at hand now.
    bare = replace(facts, findings=tuple(replace(one, evidence=()) for one in facts.findings))
    again = files(bare, ["html"], content=whole.get)
    assert set(again) == set(whole)
    assert {name for name in whole if again[name] != whole[name]} == {
        "report.html", "manifest.json", "SHA256SUMS",
    }  # fmt: skip
    # What was changed since is made again.
    changed = whole | {"recheck.py": b"print('1 confirmed')", "report.sarif": b"{}"}
    assert files(facts, ["html"], content=changed.get) == whole
    # As is what is of another audit, or of another policy.
    other = replace(facts, verdict=replace(facts.verdict, audit_id="other"))
    assert files(other, ["junit"], content=whole.get) == files(other, FORMATS)
    # What does not lie there is not made, and what was not made by a report stays out.
    alone = {"report.junit.xml": b"of another tool", "notes.txt": b"mine"}
    assert set(files(facts, ["html"], content=alone.get)) == sealed | {"report.html"}
    named = files(other, ["junit"]) | {"report.sarif": b"of another tool"}
    assert set(files(facts, ["html"], content=named.get)) == sealed | {
        "report.html", "report.junit.xml",
    }  # fmt: skip
    assert set(files(facts, ["html"])) == sealed | {"report.html"}


def test_a_signature_is_what_openssl_checks(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="signing needs the package cryptography")
    if not shutil.which("openssl"):
        pytest.skip("no openssl on this machine")

    def openssl(*arguments: str) -> int:
        command = ["openssl", *arguments]
        return subprocess.run(command, check=False, cwd=tmp_path, capture_output=True).returncode

    assert openssl("genpkey", "-algorithm", "ed25519", "-out", "key.pem") == 0
    assert openssl("pkey", "-in", "key.pem", "-pubout", "-out", "public.pem") == 0
    made = files(made_facts.clean(), (), tmp_path / "key.pem")
    for name in ("manifest.json", "manifest.sig"):
        (tmp_path / name).write_bytes(made[name])
    verify = ("pkeyutl", "-verify", "-pubin", "-inkey", "public.pem", "-rawin")
    files_given = ("-in", "manifest.json", "-sigfile", "manifest.sig")
    assert openssl(*verify, *files_given) == 0
    (tmp_path / "manifest.json").write_bytes(made["manifest.json"] + b" ")
    assert openssl(*verify, *files_given) != 0


def test_a_key_that_cannot_sign_is_a_sentence(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="signing needs the package cryptography")
    (tmp_path / "key.pem").write_text("no key")
    with pytest.raises(UsageError, match="is not a private key in PEM form"):
        check_key(tmp_path / "key.pem")
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        check_key(tmp_path / "missing.pem")
