"""What went wrong in Spark, in a sentence for the person who must repair it."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from jobs.spark.session import given_to_spark
from udfs.storage.places import is_remote, nearest_there

PYTHON_ADVICE = (
    "set spark.pyspark.python or PYSPARK_PYTHON to a Python with pyarrow, numpy and numba that all "
    "executors have"
)
NO_FILE_SYSTEM = "Spark has no file system for"
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
        r"OSError: \[Errno \d+\] ([^\n]+) became shorter while it was audited"
        r"|FileNotFoundError: \[Errno 2\] No such file or directory: '([^'\n]+)'",
        lambda m: (
            f"{m[1] or m[2]} was deleted or truncated during the audit: run the same command "
            "again, best on a copy that nobody changes"
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
        r'No FileSystem for scheme "?([\w+.-]+)',
        lambda m: f"{NO_FILE_SYSTEM} {m[1]}://" + ("; write s3a://" if m[1] == "s3" else ""),
    ),
    (
        r"(?:Permission denied|AccessControlException)[^\n]*",
        lambda m: f"no permission to read or write a folder ({m[0].strip()})",
    ),
    (
        r"OutOfMemoryError|exit code 137|exitCode=137",
        lambda _: "out of memory: give more with --driver-memory or --executor-memory",
    ),
    (
        r"Python worker exited unexpectedly|ExecutorLostFailure|Answer from Java side is empty"
        r"|Error while sending or receiving",
        lambda _: (
            "a Spark process died without an error message (killed from outside, or out of "
            "memory): run the same command again; if it happens again, give more memory with "
            "--driver-memory or --executor-memory"
        ),
    ),
)
NO_SPACE = re.compile(r"No space left on device", re.IGNORECASE)


def sentence(error: BaseException, out: str | None = None) -> str | None:
    """What is to be repaired; None where nothing known is in the error. `out`: of the command."""
    said = str(error)
    if NO_SPACE.search(said):
        return full_disk(out)
    for pattern, tell in KNOWN:
        if found := re.search(pattern, said, re.IGNORECASE):
            return tell(found)
    return None


def full_disk(out: str | None) -> str:
    """Which disk may be full: Spark does not say whose file it could not write."""
    places = [f"{_free(place):,} bytes are free at {name} {place}" for name, place in _disks(out)]
    return (
        f"a disk is full: {', '.join(places)}; make room, or name other places, and run the same "
        "command again: what it has written is not written twice"
    )


def _disks(out: str | None) -> Iterator[tuple[str, Path]]:
    if out and not is_remote(out):
        yield "--out", Path(out)
    scratch = os.environ.get("SPARK_LOCAL_DIRS") or given_to_spark().get("spark.local.dir", "/tmp")
    for folder in (scratch or "/tmp").split(","):
        yield "spark.local.dir", Path(folder)


def _free(place: Path) -> int:
    """Bytes; of the folder in which it would be made, where it is not there."""
    return shutil.disk_usage(nearest_there(place.absolute())).free
