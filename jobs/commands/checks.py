"""`eosaudit checks [CODE]`: the catalogue, or the manual of one check."""

import difflib
import importlib

from jobs._errors import UsageError
from jobs.report.facts import CheckManual
from jobs.verify.catalogue import CHECKS
from jobs.verify.check import Check


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
    """The manual of a check as the reports show it: first sentence, then heading and text."""
    title, *paragraphs = manual(check).split("\n\n")
    sections = []
    for paragraph in paragraphs:
        heading, _, told = " ".join(paragraph.split()).partition(": ")
        sections.append((heading, told))
    return CheckManual(
        check.code, family(check), check.severity, check.source, title, tuple(sections)
    )


def list_checks() -> str:
    """One line a check: code, severity, what it looks at, first sentence of its manual."""
    width = max(len(check.code) for check in CHECKS)
    lines = [
        f"{check.code:{width}}  {check.severity:7}  {manual(check).splitlines()[0]}"
        for check in CHECKS
    ]
    return "\n".join([*lines, "", f"{len(CHECKS)} checks; `checks CODE` prints one's manual."])


def show_check(code: str) -> str:
    """The manual of one check. Raises UsageError for an unknown code."""
    for check in CHECKS:
        if check.code == code:
            head = f"{check.code} ({check.severity}, context {check.context})"
            return f"{head}\nsource: {check.source}\n\n{manual(check)}"
    near = difflib.get_close_matches(code, [check.code for check in CHECKS], n=1)
    hint = f" Did you mean {near[0]}?" if near else " `checks` lists them all."
    raise UsageError(f"{code} is no check.{hint}")
