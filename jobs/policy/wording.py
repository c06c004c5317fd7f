"""How a result of Great Expectations is worded: in one line each, bounded, the same every time."""

import json
from collections.abc import Mapping
from typing import Any

LONGEST_TEXT = 300


def arguments(configuration: Mapping[str, Any]) -> str:
    """Its keyword arguments, the same text for the same arguments."""
    return json.dumps(configuration.get("kwargs", {}), sort_keys=True)


def observed_value(found: Mapping[str, Any]) -> str | None:
    """The observed value as JSON; None for an expectation about single rows."""
    if "element_count" in found:
        return None
    values = {
        name: value
        for name, value in (
            ("value", found.get("observed_value")),
            ("missing", _difference(found, "missing")),
            ("unexpected", _difference(found, "unexpected")),
        )
        if value
    }
    only = values if values.keys() - {"value"} else found.get("observed_value")
    return clipped(json.dumps(only, sort_keys=True, default=str))


def _difference(found: Mapping[str, Any], what: str) -> list[Any] | int | None:
    """What two sets differ in, sorted; the number alone where the library lists only some of it.

    Some of a set is another some in every process.
    """
    number, listed = found.get(f"{what}_count"), found.get(f"partial_{what}_list")
    if listed is not None and len(listed) == number:
        return sorted(listed, key=str)
    return number


def example(row: Mapping[str, Any]) -> str:
    """A row that does not meet an expectation: its key, and the column that is asked about."""
    return clipped(", ".join(f"{name}={row[name]}" for name in sorted(row)))


def message(
    met: bool,
    configuration: Mapping[str, Any],
    found: Mapping[str, Any],
    observed: str | None,
    examples: list[str],
) -> str:
    """What is expected, in the words of the file where it has some, and what is there."""
    said = configuration.get("description")
    wanted = str(said) if said else f"{configuration['type']} {arguments(configuration)}"
    if met:
        return sentence(wanted)
    failed, examined = found.get("unexpected_count"), found.get("element_count")
    if failed is not None and examined is not None:
        such = f", such as {'; '.join(examples)}" if examples else ""
        there = f"{failed:,} of {examined:,} rows fail{such}"
    else:
        there = f"observed {observed}"
    return sentence(f"{wanted.rstrip('.')}: {there}")


def sentence(text: str) -> str:
    """The text with an end."""
    return text if text.endswith((".", "?", "…")) else f"{text}."


def error_text(error: Exception) -> str:
    """The first thing that an error says; those of arguments name the argument."""
    if hasattr(error, "errors") and callable(error.errors):
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "__root__")
        return clipped(f"{where}: {first['msg']}" if where else first["msg"])
    return clipped(str(error) or type(error).__name__)


def clipped(text: str) -> str:
    """One line of bounded length; what a terminal would obey is not let through."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= LONGEST_TEXT else line[: LONGEST_TEXT - 1] + "…"
