"""repair.json: the repair plan of each incident, for people and for what they automate.

Nothing here is ever executed by this tool.
"""

import json
from dataclasses import asdict

from jobs.report.facts import Facts

FORMAT = "eosaudit-repair/1"


def render(facts: Facts) -> str:
    """Incidents by number, each with its steps in order; none for an audit without an incident."""
    told = [
        {
            "incident": one.incident,
            "kind": one.kind,
            "grade": one.grade,
            "title": one.title,
            "steps": [{"step": n} | asdict(step) for n, step in enumerate(one.steps, 1)],
        }
        for one in facts.incidents
    ]
    plan = {"format": FORMAT, "audit_id": facts.verdict.audit_id, "incidents": told}
    return json.dumps(plan, indent=1, sort_keys=True) + "\n"
