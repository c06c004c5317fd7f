"""All checks: one a file of `jobs/verify/checks/FAMILY`, named like its code."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module

from jobs.verify.check import Check

# In this order reports and pages list them, from the bytes to the coordinator.
FAMILIES = (
    "batch",
    "segment",
    "replica",
    "index",
    "snapshot",
    "producer",
    "transaction",
    "atomicity",
    "coordinator",
)


def _checks_of(family: str) -> Iterator[Check]:
    """The checks of a family, by code. Raises TypeError for a file that is none."""
    package = import_module(f"jobs.verify.checks.{family}")
    # Not the folder: the code may be in a zip, as `spark-submit.sh` ships it.
    for code in sorted(module.name for module in pkgutil.iter_modules(package.__path__)):
        check = getattr(import_module(f"{package.__name__}.{code}"), "CHECK", None)
        if not isinstance(check, Check) or check.code != code:
            raise TypeError(f"{package.__name__}.{code} has no CHECK of the code {code}")
        yield check


CHECKS: tuple[Check, ...] = tuple(check for family in FAMILIES for check in _checks_of(family))
