"""What went wrong in Spark, in a sentence for the person who must repair it."""

import re
from collections.abc import Callable

PYTHON_ADVICE = (
    "set spark.pyspark.python or PYSPARK_PYTHON to a Python with pyarrow, numpy and numba that all "
    "executors have"
)
Match = re.Match[str]
# The first that is found in the error speaks; what Spark reports is many lines of several causes.
KNOWN: tuple[tuple[str, Callable[[Match], str]], ...] = (
    (
        r'Cannot run program "([^"]+)"',
        lambda m: (
            f"the executors cannot start Python: {m[1]} does not exist there; {PYTHON_ADVICE}"
        ),
    ),
    (
        r"\[PYTHON_VERSION_MISMATCH\][^0-9]*([\d.]+\d)[^0-9]*([\d.]+\d)",
        lambda m: (
            f"the executors run Python {m[1]}, the driver runs Python {m[2]}, and both must be the "
            f"same; {PYTHON_ADVICE}"
        ),
    ),
    (
        r"No module named '(jobs|schemas|udfs)\b",
        lambda _: "the executors do not have the code of eosaudit: start it with spark-submit.sh",
    ),
    (
        r"No module named '(\w+)|\[(?:PACKAGE_NOT_INSTALLED|UNSUPPORTED_PACKAGE_VERSION)\] (\w+)",
        lambda m: f"the executors' Python lacks {(m[1] or m[2]).lower()}; {PYTHON_ADVICE}",
    ),
    (
        r"ImportError: ([^\n]+)",
        lambda m: f"the executors' Python cannot load a package ({m[1]}); {PYTHON_ADVICE}",
    ),
    (
        r"(?:ClassNotFoundException|DATA_SOURCE_NOT_FOUND)[^\n]*delta",
        lambda _: "Spark has no Delta: run `make setup`, or add its jars with --jars",
    ),
    (
        r"No space left on device",
        lambda _: "a disk is full: spark.local.dir names where Spark keeps intermediate results",
    ),
    (
        r"(?:Permission denied|AccessControlException)[^\n]*",
        lambda m: f"no permission to read or write a folder ({m[0].strip()})",
    ),
    (
        r"OutOfMemoryError|exit code 137|exitCode=137",
        lambda _: "out of memory: give more with --driver-memory or --executor-memory",
    ),
)


def sentence(error: BaseException) -> str | None:
    """What is to be repaired; None where nothing known is in the error."""
    said = str(error)
    for pattern, tell in KNOWN:
        if found := re.search(pattern, said, re.IGNORECASE):
            return tell(found)
    return None
