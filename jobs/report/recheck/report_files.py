"""The findings of report.json, or of rows of the table `violation`."""

import json
from pathlib import Path
from typing import Any

FORMAT = "eosaudit-report/1"
WANTED = "give report.json, or rows of the table violation as JSON"
# A row of a finding has some of them, whatever is left out because it is null.
PLACED = {"evidence", "file", "topic", "offset_first"}


class AskedError(Exception):
    """The command line or a file is wrong: why, in a sentence without its full stop."""


def content_of(path: Path) -> Any:
    """What is in report.json, a JSON array, or JSON objects a line. Raises AskedError."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise AskedError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise AskedError(f"{path} is no text: {WANTED}") from None
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        raise AskedError(f"{path} is no JSON: {WANTED}") from None


def findings_of(path: Path) -> list[dict[str, Any]]:
    """Findings of report.json, of a JSON array, or of a JSON object a line. Raises AskedError."""
    told = content_of(path)
    if isinstance(told, dict) and "code" not in told:
        if told.get("format") != FORMAT:
            raise AskedError(f"{path} is no report.json: {WANTED}")
        told = told["findings"]
    rows = list(told) if isinstance(told, list) else [told]
    # What only counts findings, such as verdict.json, names no place.
    if not all(isinstance(one, dict) and "code" in one and PLACED & set(one) for one in rows):
        raise AskedError(f"{path} holds no findings: {WANTED}")
    return rows


def moment_of(path: Path) -> int | None:
    """The moment of the audit, ms; only report.json tells it, and not every dump has one."""
    told = content_of(path)
    verdict = told.get("verdict") if isinstance(told, dict) else None
    moment = verdict.get("as_of_ms") if isinstance(verdict, dict) else None
    return moment if isinstance(moment, int) else None
