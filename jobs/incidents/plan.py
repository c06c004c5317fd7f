"""The repair plan of an incident: steps of its signature, each with the places that need it.

Nothing is ever executed. Pure: plain values in, plain values out.
"""

import shlex
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any, NamedTuple

from jobs.incidents.signature import Signature, Step
from jobs.model.commands import ABORT_BY_PRODUCER, ABORT_BY_START

# A plan names so many places of a step; the table consequence has all.
MOST_PLACES = 10


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


def plan(signature: Signature, places: Sequence[Place]) -> list[dict[str, Any]]:
    """Rows of `schemas.incident.STEP`: steps whose consequence is there, commands filled in.

    `places`: consequences of the incident, in the order in which commands name them.
    """
    steps = []
    for step in signature.steps:
        wanted = [place for place in places if _needs(place, step)]
        if step.of and not wanted:
            continue
        commands = _commands(step, wanted)
        more = len(commands) - MOST_PLACES
        shown = commands[:MOST_PLACES]
        if more > 0:
            shown.append(f"# … and {more:,} more: the table consequence has every place")
        steps.append(
            {
                "what": step.what,
                "command": "\n".join(shown) or None,
                "before": _general(step.before),
                "check": step.check,
                "cannot": step.cannot,
                "reversible": step.reversible,
            }
        )
    return steps


def _needs(place: Place, step: Step) -> bool:
    mine = not step.of or place.kind in step.of
    return mine and (not step.ended_by or place.ended_by in step.ended_by)


def _names(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


def _commands(step: Step, places: Sequence[Place]) -> list[str]:
    """The command for each place that differs in what it names; once where it names none."""
    if step.command is None:
        return []
    if not _names(step.command):
        return [step.command]
    filled = [_filled(step.command, place) for place in places]
    return list(dict.fromkeys(filled))


def _filled(command: str, place: Place) -> str:
    """The command for a place; an abort with whose transaction it ends, and its older form.

    The tool wants the start of the transaction, and finds by it whichever begins there.
    """
    if command != ABORT_BY_START:
        return command.format(**_quoted(place._asdict()))
    values = _quoted(place._asdict() | {"first_offset": place.start_offset})
    of_whom = "# that is producer {producer_id}, epoch {producer_epoch}"
    if place.coordinator_epoch is not None:
        of_whom += f"; on brokers before 3.0: {ABORT_BY_PRODUCER}"
    return f"{command}\n{of_whom}".format(**values)


def _quoted(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: shlex.quote(str(value)) for name, value in values.items()}


def _general(text: str | None) -> str | None:
    """A condition as it is for any place."""
    if text is None:
        return None
    return text.format(topic="TOPIC", partition="N", first_offset="OFFSET")
