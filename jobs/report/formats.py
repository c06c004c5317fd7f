"""The files of a report by the name of their format."""

from collections.abc import Callable, Iterable
from pathlib import Path

from jobs.report import junit, repair, report_json, sarif
from jobs.report.facts import Facts
from jobs.report.recheck_file import recheck_file
from jobs.report.seal import seal


def _page(facts: Facts) -> str:
    # Pictures take a second to import; who asks for a machine format does not wait for them.
    from jobs.report import page

    return page.render(facts)


FORMATS: dict[str, tuple[str, Callable[[Facts], str]]] = {
    "html": ("report.html", _page),
    "json": ("report.json", report_json.render),
    "sarif": ("report.sarif", sarif.render),
    "junit": ("report.junit.xml", junit.render),
    "repair": ("repair.json", repair.render),
}


# Written with any of them.
VERDICT = "verdict.json"
# Checks report.json against the dump without this project, so it is written beside it.
RECHECK, RECHECKED = "recheck.py", "json"


def files(facts: Facts, formats: Iterable[str], sign_key: Path | None = None) -> dict[str, bytes]:
    """File name -> content: verdict.json, the formats asked for, and what seals them."""
    texts = {VERDICT: facts.verdict.as_json()}
    for name in formats:
        file, render = FORMATS[name]
        texts[file] = render(facts)
        if name == RECHECKED:
            texts[RECHECK] = recheck_file()
    return seal({name: text.encode() for name, text in texts.items()}, facts.verdict, sign_key)
