"""Where people look: an incident in the summary, the page, repair.json, SARIF and JUnit."""

import json
import re
from dataclasses import replace

import made_facts
import pytest
from pyspark.sql.types import StructType

from jobs.model.incident import CONSEQUENCES, Effect
from jobs.report import junit, repair, sarif
from jobs.report.around import MARKS
from jobs.report.facts import AffectedGroup
from jobs.report.incident_text import told
from jobs.report.page import render
from jobs.report.summary import MOST_LINES, summary
from jobs.report.verdict import Verdict
from schemas.incident import AFFECTED_GROUP, CONSEQUENCE, INCIDENT_EVENT, POSITIONS
from schemas.topics import OFFSETS_TOPIC

FACTS = made_facts.with_incident(made_facts.hanging())
ABORTED = "41 aborted records are delivered to read_committed consumers, in 2 partitions"


def test_the_summary_begins_with_cause_consequence_who_and_the_first_step() -> None:
    lines = summary(FACTS.verdict, FACTS.findings, "out").splitlines()
    (at,) = [n for n, line in enumerate(lines) if line.startswith("  1. The coordinator completed")]
    assert at < lines.index("Violations (no legal explanation remains)")
    assert ABORTED in lines[at + 1]
    assert "groups m-billing, audit-trail read affected ranges" in lines[at + 1]
    assert lines[at + 2] == "     first: Abort what hangs"


def test_without_offsets_of_groups_nobody_is_said_to_be_spared() -> None:
    _, line = made_facts.incident()
    spared = replace(line, groups=(), group_count=0)
    assert spared.who.startswith("no group of the dump")
    assert replace(spared, groups_known=False).who == (
        "the affected groups are unknown: __consumer_offsets is not in the dump"
    )


def test_what_was_not_looked_for_is_told_with_the_reason() -> None:
    _, line = made_facts.incident()
    why = "--depth headers does not read __consumer_offsets"
    unread = replace(line, groups_known=False, groups_unknown=why)
    assert unread.who.endswith(f"read affected ranges; other groups are unknown: {why}")
    alone = replace(unread, groups=(), group_count=0)
    assert alone.who == f"the affected groups are unknown: {why}"
    texts = replace(line, followed=False, untraced="texts", topics=(OFFSETS_TOPIC,))
    assert texts.derived == "output computed from them was not traced: texts"
    assert texts.who.endswith("; groups whose own commits are affected are unknown: texts")
    assert "own commits" not in replace(texts, topics=("m",)).who


def test_where_commits_are_gone_no_topic_is_said_to_be_spared() -> None:
    _, line = made_facts.incident()
    gone = replace(line, clean_topics=(), commits_gone=True, unknown_topics=("notes",))
    told = gone.derived or ""
    assert told.startswith("suspect output: m-out; other output computed from them in notes is ")
    assert "unaffected" not in told
    assert "unaffected topics downstream: untouched" in (line.derived or "")


def test_a_group_that_waits_is_not_said_to_be_in_no_affected_range() -> None:
    _, line = made_facts.incident()
    blocked = Effect("records_blocked", 1, 3, 1, None)
    waits = replace(line, groups=(), group_count=0, effects=(blocked,))
    assert "in front of the last stable offset" in waits.who
    assert "those that wait, and those that have read behind it" in waits.who


def test_topics_of_the_findings_are_not_those_of_one_consequence() -> None:
    _, line = made_facts.incident()
    assert replace(line, topics=("m",)).consequence.endswith(" (m)")
    told = replace(line, topics=("a", "u")).consequence
    assert told.endswith("; its findings are in a, u")


def test_an_index_against_the_markers_is_not_told_as_harmless() -> None:
    _, line = made_facts.incident()
    harmless = replace(line, effects=())
    assert harmless.consequence == "no record is known to be wrong for a consumer"
    contradicted = replace(harmless, index_contradicts=True)
    assert contradicted.consequence.startswith("read_committed consumers get another outcome")
    assert replace(line, index_contradicts=True).consequence.startswith(line.consequence)
    visible = Effect("aborted_records_visible", 1, 2, 1, None)
    counted = replace(line, index_contradicts=True, effects=(visible,)).consequence
    assert counted.endswith("against the markers and their decisions")
    assert "either the index or a marker is wrong" not in counted


def test_the_summary_is_a_screen_however_many_incidents_there_are() -> None:
    facts = made_facts.large()
    _, line = made_facts.incident()
    many = tuple(replace(line, incident=n) for n in range(1, 31))
    lines = summary(replace(facts.verdict, incidents=many), facts.findings, "out").splitlines()
    assert len(lines) <= MOST_LINES
    assert "  … and 26 more in report.html" in lines


def test_the_page_tells_what_happened_before_anything_else() -> None:
    page = render(FACTS)
    assert page.index("What happened") < page.index("Looked at</h2>")
    assert ABORTED in page
    assert "--partition 0\nkafka-transactions.sh" in page
    assert "What happened" not in render(made_facts.clean())


def test_the_verdict_keeps_incidents() -> None:
    assert Verdict.from_json(FACTS.verdict.as_json()) == FACTS.verdict
    old = json.loads(FACTS.verdict.as_json())
    del old["incidents"]
    assert Verdict.from_json(json.dumps(old)).incidents == ()


def test_machines_are_told_the_cause_of_a_finding_and_the_plan() -> None:
    (run,) = json.loads(sarif.render(FACTS))["runs"]
    assert [one["properties"].get("cause") for one in run["results"]] == [
        "skipped_markers", None, None,
    ]  # fmt: skip
    assert "1 violations (incident 1: skipped_markers)" in junit.render(FACTS)
    (plan,) = json.loads(repair.render(FACTS))["incidents"]
    assert [step["step"] for step in plan["steps"]] == [1, 2]
    assert json.loads(repair.render(made_facts.clean()))["incidents"] == []


def test_the_terminal_tells_one_incident_whole_and_obeys_no_name() -> None:
    text = told(*made_facts.incident())
    assert "m-0 on broker 1, offsets 104 to 112" in text
    assert "m-billing has read the range: m-0 at 400" in text
    assert "records_lost: m-1, 4 transactions" in text
    assert "38 more in the table consequence" in text
    hostile = told(*made_facts.incident(made_facts.HOSTILE))
    assert [c for c in hostile if c < " " and c != "\n"] == []


def _values(table: StructType, name: str) -> set[str]:
    """What the column of a table may hold, as its comment lists it."""
    return set(re.findall(r"\b[a-z]+(?:_[a-z]+)*\b", table[name].metadata["comment"]))


@pytest.mark.parametrize("position", POSITIONS)
def test_page_and_terminal_tell_every_position_of_a_group(position: str) -> None:
    whole, line = made_facts.incident()
    group = AffectedGroup("billing", "m", 0, "records_blocked", 104, 112, 107, position)
    facts = replace(FACTS, incidents=(replace(whole, groups=(group,)),))
    assert position in _values(AFFECTED_GROUP, "position")
    (cell,) = re.findall(r"<tr><td>billing</td>.*<td>([^<]+)</td></tr>", render(facts))
    assert "range" in cell
    (said,) = [row for row in told(replace(whole, groups=(group,)), line).splitlines()
               if row.startswith("  billing")]  # fmt: skip
    assert (OFFSETS_TOPIC in said) == (position == "own")


@pytest.mark.parametrize("kind", CONSEQUENCES)
def test_page_and_terminal_tell_every_kind_of_consequence(kind: str) -> None:
    whole, line = made_facts.incident()
    rows = tuple(replace(row, kind=kind) for row in whole.consequences)
    effects = tuple(Effect(kind, 1, number, 2, None) for number in (3, None))
    one, short = replace(whole, consequences=rows), replace(line, effects=effects)
    facts = replace(FACTS, incidents=(one,), verdict=replace(FACTS.verdict, incidents=(short,)))
    assert kind in _values(CONSEQUENCE, "kind")
    for text in (render(facts), told(one, short)):
        assert CONSEQUENCES[kind] in text


def test_the_picture_has_a_mark_for_every_event() -> None:
    assert set(MARKS) == _values(INCIDENT_EVENT, "event") - {"or"}
