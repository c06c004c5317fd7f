"""What a Python worker reports about itself.

Travels to the workers by value and runs where all is missing: the standard library only.
"""

import importlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from typing import Any

NEEDED = ("pyarrow", "numpy", "numba")
OUR_CODE = "udfs.arrow.read_pack"
OUR_STORAGE = "udfs.storage.reach"
# Long enough that one worker cannot answer for all.
SECONDS_BUSY = 1.0


def examine(dumps: list[str]) -> dict[str, Any]:
    """Host, interpreter, version of each needed package, and a sentence for each problem."""
    versions: dict[str, str] = {}
    problems = []
    for name in NEEDED:
        try:
            versions[name] = str(importlib.import_module(name).__version__)
        except Exception as error:  # a wheel for another machine fails in many ways
            problems.append(
                f"{name} cannot be imported: {_first_line(error)}; install it for this Python, or "
                "name another in PYSPARK_PYTHON"
            )
    if not problems:
        try:
            importlib.import_module(OUR_CODE)
        except Exception as error:
            problems.append(
                f"the code of eosaudit cannot be imported: {_first_line(error)}; "
                "start with spark-submit.sh"
            )
    for dump in dumps:
        if "://" in dump:
            problems += [] if problems else _remote_problems(dump)
        elif not os.path.isdir(dump):  # noqa: PTH112 # as far as possible without imports
            problems.append(
                f"there is no folder {dump}; every executor must have the dump at this path"
            )
        elif not os.access(dump, os.R_OK | os.X_OK):
            problems.append(f"{dump} is not readable for the user of the executor")
    return {
        "host": platform.node(),
        "folder": os.getcwd(),  # noqa: PTH109 # one an executor
        "python": platform.python_version(),
        "interpreter": sys.executable,
        "versions": versions,
        "problems": problems,
    }


def _remote_problems(dump: str) -> list[str]:
    reach: Any = importlib.import_module(OUR_STORAGE)
    problem = reach.problem_with(dump)
    return [] if problem is None else [problem]


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def answers(dumps: list[str]) -> Iterator[str]:
    """The one answer of a task, as JSON."""
    time.sleep(SECONDS_BUSY)
    yield json.dumps(examine(dumps), sort_keys=True)
