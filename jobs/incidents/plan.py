"""The repair plan of an incident: steps of its signature, each with the places that need it.

Nothing is ever executed. Pure: plain values in, plain values out.
"""

import shlex
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any, NamedTuple

from jobs.incidents.signature import Signature, Step

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


def plan(signature: Signature, places: Sequence[Place]) -> list[dict[str, Any]]:
    """Rows of `schemas.incident.STEP`: steps whose consequence is there, commands filled in.

    `places`: consequences of the incident, in the order in which commands name them.
    """
    steps = []
    for step in signature.steps:
        wanted = [place for place in places if not step.of or place.kind in step.of]
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


def _names(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


def _commands(step: Step, places: Sequence[Place]) -> list[str]:
    """The command for each place that differs in what it names; once where it names none."""
    if step.command is None:
        return []
    if not _names(step.command):
        return [step.command]
    filled = [step.command.format(**_quoted(place._asdict())) for place in places]
    return list(dict.fromkeys(filled))


def _quoted(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: shlex.quote(str(value)) for name, value in values.items()}


def _general(text: str | None) -> str | None:
    """A condition as it is for any place."""
    if text is None:
        return None
    return text.format(topic="TOPIC", partition="N", first_offset="OFFSET")
