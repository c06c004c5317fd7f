"""One incident as text for a terminal: cause, consequences, the plan with commands, then lists."""

from collections.abc import Iterator
from textwrap import wrap

from jobs.model.counted import count
from jobs.model.incident import READ_BY_GROUPS, IncidentLine
from jobs.model.moment import moment
from jobs.report.facts import AffectedGroup, Consequence, Derived, Event, Incident, RepairStep
from jobs.report.visible import visible
from schemas.incident import BEFORE, INSIDE, OWN, READ
from schemas.topics import OFFSETS_TOPIC

WIDTH = 100
MOST_EVENTS = 30
STANDS = {
    READ: "has read the range",
    INSIDE: "is inside the range",
    BEFORE: "has not read the range yet",
}


def told(one: Incident, line: IncidentLine) -> str:
    """What a person reads who asks for one incident."""
    lines = [f"Incident {one.incident}: {one.title} ({one.grade})", *_wrapped(one.why, "  ")]
    if one.known_bug:
        lines.append(f"  known bug: {one.known_bug}")
    if one.since_ms is not None:
        lines.append(f"  since {moment(one.since_ms)}")
    lines.append(
        f"  explains {count(one.findings, 'finding')}, {one.violations:,} of them proven, in "
        f"{count(one.places, 'partition copy', 'partition copies')} of {', '.join(one.topics)}"
    )
    lines += ["", "Consequences"]
    lines += [f"  {effect.sentence}" for effect in line.effects] or [f"  {line.consequence}"]
    lines += ["", "Groups", f"  {line.who}"]
    if line.derived is not None:
        lines += ["", "Downstream", *_wrapped(line.derived, "  ")]
    lines += ["", "What to do, in this order"]
    lines += [text for number, step in enumerate(one.steps, 1) for text in _step(number, step)]
    if not one.steps:
        lines.append("  Follow the remedy of each finding.")
    return "\n".join(visible(text) for text in [*lines, *_one_by_one(one)])


def _one_by_one(one: Incident) -> Iterator[str]:
    """What the summary adds up, behind the plan: these lists may be long."""
    lists = (
        ("Affected ranges", map(_range, one.consequences), one.consequence_count, "consequence"),
        ("Groups, one by one", map(_group, one.groups), one.group_count, "affected_group"),
        ("Downstream, one by one", map(_derived, one.derived), one.derived_count, "affected"),
        ("Around it", map(_event, one.events[:MOST_EVENTS]), len(one.events), "incident_event"),
    )
    for title, rows, number, table in lists:
        shown = [f"  {row}" for row in rows]
        if shown:
            rest = number - len(shown)
            more = [f"  … and {rest:,} more in the table {table}"] if rest > 0 else []
            yield from ("", title, *shown, *more)


def _wrapped(text: str, indent: str, first: str | None = None) -> list[str]:
    return wrap(text, WIDTH, initial_indent=first or indent, subsequent_indent=indent)


def _range(row: Consequence) -> str:
    place = f"{row.topic}-{row.partition}"
    if row.broker is not None:
        place += f" on broker {row.broker}"
    if row.first_offset is not None:
        place += f", {_offsets(row)}"
    numbers = [
        count(number, noun)
        for number, noun in ((row.records, "record"), (row.transactions, "transaction"))
        # The other ranges of a transaction count none.
        if number is not None and (number or noun == "record")
    ]
    return ": ".join([row.kind, ", ".join([place, *numbers])])


def _offsets(row: Consequence | AffectedGroup | Derived) -> str:
    if row.last_offset is None:
        return f"from offset {row.first_offset} on"
    if row.last_offset == row.first_offset:
        return f"offset {row.first_offset}"
    return f"offsets {row.first_offset} to {row.last_offset}"


def _group(row: AffectedGroup) -> str:
    committed = f"{row.topic}-{row.partition} at {row.committed_offset}"
    what = READ_BY_GROUPS[row.kind]
    if row.position == OWN:
        return (
            f"{row.group}: its own commit of {committed} is affected "
            f"({what}: {_offsets(row)} of {OFFSETS_TOPIC})"
        )
    return f"{row.group} {STANDS[row.position]}: {committed} ({what}: {_offsets(row)})"


def _derived(row: Derived) -> str:
    if row.first_offset is None:
        return f"{row.topic}-{row.partition} is {row.state}: {row.path}"
    return (
        f"{row.topic}-{row.partition} is {row.state}, {_offsets(row)}: "
        f"{count(row.records or 0, 'record')}, {row.path}"
    )


def _event(row: Event) -> str:
    return f"{moment(row.at_ms)}  {row.event.replace('_', ' ')}: {row.where}"


def _step(number: int, step: RepairStep) -> Iterator[str]:
    once = "" if step.reversible else " (cannot be taken back)"
    yield from _wrapped(f"{step.what}{once}.", "     ", f"  {number}. ")
    yield from (f"     {line}" for line in (step.command or "").splitlines())
    for name, text in (
        ("only if", step.before), ("verify", step.check), ("does not repair", step.cannot),
    ):  # fmt: skip
        if text is not None:
            yield from _wrapped(f"{name}: {text}", "       ")
