"""A time for a person."""

from datetime import UTC, datetime


def moment(milliseconds: int) -> str:
    """A time in ms since 1970, UTC; "no date" where it is none."""
    try:
        return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, OSError, ValueError):
        return "no date"
