"""report.html: one file that needs nothing else, no script, no remote address.

Rendered from plain data; the same facts give the same bytes. Every text is escaped by Jinja2 and
made visible first. The policy of the page allows its one style sheet, by digest, and nothing else.
"""

import base64
import hashlib
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from jobs.model.moment import moment
from jobs.report import pictures
from jobs.report.around import around_incident
from jobs.report.facts import CheckManual, Evidence, Facts, Finding
from jobs.report.summary import TITLES, since_line
from jobs.report.visible import visible
from schemas.dump_file import IN_TEXT
from schemas.incident import BEFORE, INSIDE, OWN, READ
from schemas.verdicts import VERDICTS

# Where a group stands -> cell of the table of groups.
POSITIONS = {
    READ: "after the range",
    INSIDE: "inside the range",
    BEFORE: "before the range",
    OWN: "the range has its own commit",
}
OTHER_TOPICS = "other topics"
NO_TOPIC = "no topic"


def _resource(name: str) -> str:
    return resources.files("jobs.report").joinpath("templates", name).read_text("utf-8")


def _shown(value: Any) -> Any:
    """What an expression of the template becomes: nothing for None, numbers with thousands."""
    if value is None:
        return ""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return value


def environment() -> Environment:
    """Jinja2 with everything strict: escaping, undefined names, invisible characters."""
    made = Environment(
        loader=FunctionLoader(_resource),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["number"] = lambda value: "" if value is None else f"{value:,}"
    made.filters["moment"] = lambda value: "" if value is None else moment(value)
    made.filters["position"] = POSITIONS.__getitem__
    made.filters["command"] = command
    made.filters["lines"] = lines
    return made


def style_digest(style: str) -> str:
    """What the policy of the page calls its style sheet."""
    return f"sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}"


def command(proof: Evidence) -> str:
    """A shell command that shows the bytes of a proof again; DUMP is where the dump lies."""
    if IN_TEXT in proof.file:
        text = proof.file.rpartition(IN_TEXT)[0]
        last = proof.byte_position + proof.byte_length - 1
        return f'sed -n {proof.byte_position},{last}p "$DUMP"/{shlex.quote(text)}'
    file = f'"$DUMP"/{shlex.quote(proof.file)}'
    if proof.file.endswith(".log"):
        shown = f"grep -F 'position: {proof.byte_position} '"
        return f"kafka-dump-log.sh --print-data-log --files {file} | {shown}"
    return f"xxd -s {proof.byte_position} -l {proof.byte_length} {file}"


def lines(text: str) -> Markup:
    """A text of several lines, each made visible and escaped by itself."""
    return Markup("\n").join(visible(line) for line in text.split("\n"))


@dataclass(frozen=True)
class Group:
    """Findings of one check and verdict: exact number, some examples."""

    anchor: str
    manual: CheckManual
    severity: str
    verdict: str
    number: int
    examples: list[Finding]


def groups(facts: Facts, verdict: str) -> list[Group]:
    """The checks with findings of a verdict, in the order of severity, then of their number."""
    order = {"error": 0, "warning": 1, "info": 2}
    counted = [
        (order.get(severity, 3), -number, code, severity)
        for (code, severity, kind), number in facts.verdict.counts.items()
        if kind == verdict
    ]
    return [
        Group(
            f"{verdict}-{code}",
            facts.manuals[code],
            severity,
            verdict,
            -negative,
            facts.examples(code, verdict),
        )
        for _, negative, code, severity in sorted(counted)
    ]


@dataclass(frozen=True)
class Matrix:
    """Findings by family of checks (rows) and topic (columns)."""

    families: list[str]
    topics: list[str]
    numbers: dict[tuple[str, str], int]


def matrix(facts: Facts) -> Matrix:
    """Findings of all verdicts; topics in the order of their number, the rest last."""
    numbers: dict[tuple[str, str], int] = {}
    by_topic: dict[str, int] = {}
    for count in facts.by_topic:
        topic = OTHER_TOPICS if count.topic is None else count.topic or NO_TOPIC
        key = (facts.manuals[count.code].family, topic)
        numbers[key] = numbers.get(key, 0) + count.number
        by_topic[topic] = by_topic.get(topic, 0) + count.number
    topics = sorted(by_topic, key=lambda t: (t == OTHER_TOPICS, -by_topic[t], t))
    present = {family for family, _ in numbers}
    families = [f for f in dict.fromkeys(m.family for m in facts.manuals.values()) if f in present]
    return Matrix(families, topics, numbers)


def _pictures(facts: Facts, counted: Matrix) -> Iterator[tuple[str, Markup]]:
    if counted.numbers:
        drawn = pictures.findings_by_topic(counted.families, counted.topics, counted.numbers)
        yield "by_topic", Markup(drawn)
    if facts.lagging:
        yield "lag", Markup(pictures.lag(facts.lagging))
    if facts.coverage:
        yield "coverage", Markup(pictures.coverage(facts.coverage))
    if len(facts.history) > 1:
        yield "trend", Markup(pictures.trend(facts.history))


def render(facts: Facts) -> str:
    """The page."""
    style = _resource("page.css")
    counted = matrix(facts)
    drawn = dict(_pictures(facts, counted))
    timelines = [
        (drawn, Markup(pictures.timeline(drawn, number)))
        for number, drawn in enumerate(facts.timelines, 1)
    ]
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            facts=facts,
            verdict=facts.verdict,
            style=Markup(style),
            style_digest=style_digest(style),
            groups={kind: groups(facts, kind) for kind in VERDICTS},
            titles=TITLES,
            lines={one.incident: one for one in facts.verdict.incidents},
            around={
                one.incident: Markup(around_incident(one)) for one in facts.incidents if one.events
            },
            matrix=counted,
            pictures=drawn,
            timelines=timelines,
            since_line=since_line(facts.verdict),
            ages={past.audit_id: pictures.age_minutes(past) for past in facts.history},
        )
    )
