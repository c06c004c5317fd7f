"""Moments, durations, numbers and foreign text in words for a person."""

import unicodedata
from datetime import UTC, datetime

SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS = 1_000, 60_000, 3_600_000, 86_400_000


def moment(ms: int | None) -> str:
    """A moment, ms since 1970, in UTC; the bare number where no calendar has it."""
    if ms is None:
        return "an unknown moment"
    try:
        at = datetime.fromtimestamp(ms / SECOND_MS, UTC)
    except (OverflowError, OSError, ValueError):
        return f"{ms} ms since 1970"
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def duration(ms: int) -> str:
    """A duration in its two largest units, seconds at least: `3 d 4 h`, `59 min 12 s`, `0 s`."""
    left = abs(ms)
    parts: list[str] = []
    for size, unit in ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min"), (SECOND_MS, "s")):
        number, left = divmod(left, size)
        if number or (unit == "s" and not parts):
            parts.append(f"{number:,} {unit}")
    return " ".join(parts[:2])


def printable(text: str | None) -> str:
    """Text from a log without what a terminal would obey; `none` for null.

    Transactional ids are any text: control characters, line ends and marks that turn the
    direction of writing are shown as escapes.
    """
    if text is None:
        return "none"
    return "".join(
        one
        if unicodedata.category(one)[0] in "LMNPS" or one == " "
        else one.encode("unicode_escape").decode("ascii")
        for one in text
    )
