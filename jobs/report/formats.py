"""The files of a report by the name of their format."""

from collections.abc import Callable, Iterable
from pathlib import Path

from jobs.report import junit, repair, report_json, sarif
from jobs.report.facts import Facts
from jobs.report.recheck_file import recheck_file
from jobs.report.seal import SUMS, is_named, is_sealed, seal


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


def files_of(name: str) -> tuple[str, ...]:
    """The names of the files of a format."""
    file, _ = FORMATS[name]
    return (file, RECHECK) if name == RECHECKED else (file,)


def files(
    facts: Facts,
    formats: Iterable[str],
    sign_key: Path | None = None,
    content: Callable[[str], bytes | None] = lambda name: None,
) -> dict[str, bytes]:
    """File name -> content: verdict.json, the formats asked for, and what seals them.

    `content`: of a file of the folder in which they will lie, None where it is not there. What lies
    there of other formats is among the files, so that none of them is without a checksum: as it is
    where it is sealed with the same verdict.json, else made again.
    """
    asked = list(formats)
    made = {VERDICT: facts.verdict.as_json().encode()}
    others = [file for name in FORMATS if name not in asked for file in files_of(name)]
    sums = content(SUMS)
    ours = [file for file in others if is_named(file, sums)]
    lying = {file: found for file in ours if (found := content(file)) is not None}
    if content(VERDICT) != made[VERDICT]:
        sums = None
    for name in FORMATS:
        there = {file: lying[file] for file in files_of(name) if file in lying}
        if len(there) == len(files_of(name)) and is_sealed(there, sums):
            made |= there
        elif there or name in asked:
            made |= _made(facts, name)
    return seal(made, facts.verdict, sign_key)


def _made(facts: Facts, name: str) -> dict[str, bytes]:
    """The files of a format."""
    file, render = FORMATS[name]
    checker = {RECHECK: recheck_file().encode()} if name == RECHECKED else {}
    return {file: render(facts).encode()} | checker
