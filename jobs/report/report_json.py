"""report.json: the content of report.html, for programs."""

import json

from jobs.report.facts import Facts

FORMAT = "eosaudit-report/1"


def render(facts: Facts) -> str:
    """The facts as JSON with sorted keys; the manuals of the checks are in `docs/checks.md`."""
    return json.dumps({"format": FORMAT} | facts.as_dict(), indent=1, sort_keys=True) + "\n"
