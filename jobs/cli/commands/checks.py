"""`eosaudit checks [CODE]`: the catalogue, or the manual of one check."""

import difflib
import importlib
import re

from jobs.model.errors import UsageError
from jobs.report.facts import CheckManual
from jobs.verify.catalogue import CHECKS
from jobs.verify.check import Check

# What begins a section of a manual; other paragraphs go on with the section before.
HEADING = re.compile("(What it finds|Why it [a-z ]+|When it is legal|Evidence): ")


def manual(check: Check) -> str:
    """The manual of a check: the docstring of its file."""
    return (importlib.import_module(module_of(check)).__doc__ or "").strip()


def module_of(check: Check) -> str:
    """Module that defines a check."""
    return check.message.__module__


def family(check: Check) -> str:
    """Folder of a check below jobs/verify/checks."""
    return module_of(check).split(".")[-2]


def described(check: Check) -> CheckManual:
    """The manual of a check as the reports show it: first sentence, then heading and text.

    A text has a paragraph or more, an empty line between two.
    """
    title, *paragraphs = manual(check).split("\n\n")
    sections: list[tuple[str, str]] = []
    for paragraph in paragraphs:
        words = " ".join(paragraph.split())
        begins = HEADING.match(words)
        if begins:
            sections.append((begins[1], words[begins.end() :]))
        else:
            heading, before = sections.pop()
            sections.append((heading, f"{before}\n\n{words}"))
    return CheckManual(
        check.code, family(check), check.severity, check.source, title, tuple(sections)
    )


def list_checks(only: str | None = None) -> str:
    """One line a check, by family: code, severity, first sentence of its manual."""
    width = max(len(check.code) for check in CHECKS)
    families: dict[str, list[str]] = {}
    for check in CHECKS:
        line = f"  {check.code:{width}}  {check.severity:7}  {manual(check).splitlines()[0]}"
        families.setdefault(family(check), []).append(line)
    shown = {name: lines for name, lines in families.items() if only in (None, name)}
    groups = ["\n".join([name, *lines]) for name, lines in shown.items()]
    number = sum(map(len, shown.values()))
    return "\n\n".join([*groups, f"{number} checks; `checks CODE` prints one's manual."])


def show_check(code: str) -> str:
    """The manual of one check, or the list of a family. Raises UsageError for an unknown name."""
    if any(family(check) == code for check in CHECKS):
        return list_checks(code)
    for check in CHECKS:
        if check.code == code:
            head = f"{check.code} ({check.severity}, context {check.context})"
            return f"{head}\nsource: {check.source}\n\n{manual(check)}"
    names = [*(check.code for check in CHECKS), *{family(check): None for check in CHECKS}]
    near = difflib.get_close_matches(code, names, n=1) or [name for name in names if code in name]
    hint = f" Did you mean {' or '.join(near)}?" if near else " `checks` lists them all."
    raise UsageError(f"{code} is not a check.{hint}")
