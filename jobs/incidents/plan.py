"""The repair plan of an incident: steps of its signature, each with the places that need it.

Nothing is ever executed. Pure: plain values in, plain values out.
"""

from collections.abc import Collection, Mapping, Sequence
from string import Formatter
from typing import Any, NamedTuple

from jobs.incidents.offset_steps import ENDS
from jobs.incidents.signature import BLOCKED, Signature, Step
from jobs.model.commands import (
    ABORT_BY_PRODUCER,
    ABORT_BY_START,
    DESCRIBE_TRANSACTION,
    FOR_OLDER,
    SHOW_OPEN,
    quoted,
)
from schemas.topics import OFFSETS_TOPIC

# A plan names so many places of a step, and is given one more; the table consequence has all.
MOST_PLACES = 25
# Commands about one transaction, and the line that tells which.
OF_TRANSACTION = (SHOW_OPEN, ABORT_BY_START)
WHICH = "# producer {producer_id}, epoch {producer_epoch}, from offset {first_offset} on"


class Place(NamedTuple):
    """Where a consequence is: what commands name."""

    kind: str
    broker: int | None
    topic: str
    partition: int
    first_offset: int | None
    last_offset: int | None
    ended_by: str | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    start_offset: int | None = None
    coordinator_epoch: int | None = None
    transactional_id: str | None = None


class Commit(NamedTuple):
    """A commit of a group that is affected itself: what commands that set its offset name.

    `ended_by`: that of the place it is in, null where it is not one of records_blocked.
    """

    kind: str
    group: str
    topic: str
    partition: int
    committed_offset: int
    ended_by: str | None = None


def plan(
    signature: Signature,
    places: Sequence[Place],
    commits: Sequence[Commit] = (),
    labels: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Rows of `schemas.incident.STEP`: steps whose consequence is there, commands filled in.

    `places`: consequences of the incident, and `commits`: what groups lack, both in the order in
    which commands name them. `labels`: of its violations and suspects. A plan without a step of its
    own that ends what blocks readers begins with ENDS.
    """
    own = [step for step in signature.steps if _is_of(step, labels)]
    ends = () if any(BLOCKED in step.of for step in own) else ENDS
    steps = []
    for step in (*ends, *own):
        wanted = [place for place in places if _is_about(step, place)]
        if not wanted and (step.of or (step.offsets is not None and places)):
            continue
        commands = _commands(step, wanted, commits)
        shown = commands[:MOST_PLACES]
        if len(commands) > MOST_PLACES:
            table = "affected_group" if "group" in _names(step.command or "") else "consequence"
            shown.append(f"# … and more: the table {table} has every place")
        steps.append(
            {
                "what": step.what,
                "command": "\n".join(shown) or None,
                "before": _general(step.before, wanted),
                "check": step.check,
                "cannot": step.cannot,
                "reversible": step.reversible,
            }
        )
    return steps


def _is_of(step: Step, labels: Collection[str]) -> bool:
    """Whether the findings of the incident call for the step."""
    called = not step.where or not set(step.where).isdisjoint(labels)
    return called and set(step.unless).isdisjoint(labels)


def _names(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


def _is_about(step: Step, place: Place) -> bool:
    of_topic = step.offsets in (None, place.topic == OFFSETS_TOPIC)
    return of_topic and (not step.of or place.kind in step.of) and _ends_so(step, place)


def _ends_so(step: Step, one: Place | Commit) -> bool:
    return one.kind != BLOCKED or not step.ended_by or one.ended_by in step.ended_by


def _commands(step: Step, places: Sequence[Place], commits: Sequence[Commit]) -> list[str]:
    """The command for each place that differs in what it names; once where it names none.

    One that names a group is made for each commit.
    """
    if step.command is None:
        return []
    if not _names(step.command):
        return [step.command]
    mine: Sequence[Place | Commit] = places
    if "group" in _names(step.command):
        mine = _furthest([one for one in commits if one.kind in step.of and _ends_so(step, one)])
    filled = [_filled(step.command, one) for one in mine]
    if not places and not step.of:
        # Told though no consequence has a place: the topics are those of the incident.
        filled = [step.command.format(topic="TOPIC")]
    return list(dict.fromkeys(filled))


def _furthest(commits: Sequence[Commit]) -> list[Commit]:
    """Of several commits of a group and partition the furthest: it is set once."""
    found: dict[tuple[str, str, int], Commit] = {}
    for one in commits:
        place = (one.group, one.topic, one.partition)
        found[place] = max(found.get(place, one), one, key=lambda each: each.committed_offset)
    return list(found.values())


def _filled(command: str, place: Place | Commit) -> str:
    """The command for a place; of a transaction with a line that tells which, and its older form.

    The tool wants the start of the transaction, and finds by it whichever begins there.
    """
    if command not in OF_TRANSACTION or isinstance(place, Commit):
        behind = {} if isinstance(place, Commit) else {"behind": (place.last_offset or 0) + 1}
        return command.format(**_quoted(place._asdict() | behind))
    values = _quoted(place._asdict() | {"first_offset": place.start_offset})
    lines = [WHICH, *command.splitlines()]
    if place.transactional_id is None:
        lines = [line for line in lines if line != DESCRIBE_TRANSACTION]
    if command == ABORT_BY_START and place.coordinator_epoch is not None:
        # A comment: who pastes all lines into a shell must not abort twice.
        lines += [f"# {FOR_OLDER}:", f"# {ABORT_BY_PRODUCER}"]
    return "\n".join(lines).format(**values)


def _quoted(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: quoted(value) for name, value in values.items()}


def _general(text: str | None, places: Sequence[Place]) -> str | None:
    """A condition for the partition of a step; where there are several, as it is for any."""
    if text is None:
        return None
    values = {"topic": "TOPIC", "partition": "N", "first_offset": "OFFSET"}
    if len({(one.topic, one.partition) for one in places}) == 1:
        values |= _quoted({"topic": places[0].topic, "partition": places[0].partition})
    return text.format(**values)
