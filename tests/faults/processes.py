"""The processes of an audit that runs, by `/proc`, and their sudden end."""

import os
import signal
from pathlib import Path

DRIVER_JVM, DRIVER_PYTHON, WORKER = "driver JVM", "driver Python", "Python worker"
VICTIMS = (DRIVER_JVM, DRIVER_PYTHON, WORKER)
# Only on a cluster: a local audit is its own.
EXECUTOR = "executor"


def descendants(root: int) -> dict[int, str]:
    """Process ids below `root`, itself too, with their command lines."""
    parents: dict[int, int] = {}
    commands: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            after_name = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        parents[int(entry.name)], commands[int(entry.name)] = int(after_name[1]), command
    found = {root}
    while True:
        more = {one for one, parent in parents.items() if parent in found} - found
        if not more:
            return {one: commands[one] for one in found if one in commands}
        found |= more


def kind_of(command: str) -> str | None:
    """What a process of an audit is, by its command line; None for a shell."""
    words = command.split()
    if not words:
        return None
    if "org.apache.spark.deploy.SparkSubmit" in words:
        return DRIVER_JVM
    if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in words:
        return EXECUTOR
    if "pyspark.daemon" in words or "pyspark.worker" in words:
        return WORKER
    return DRIVER_PYTHON if "python" in words[0] else None


def kill_one(root: int, kind: str) -> bool:
    """Ends one process of that kind at once; False where there is none."""
    found = [one for one, command in descendants(root).items() if kind_of(command) == kind]
    for one in sorted(found, reverse=True)[:1]:
        try:
            os.kill(one, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True
    return False


def kill_all(root: int) -> None:
    """Ends what is left of an audit."""
    for one in descendants(root):
        try:
            os.kill(one, signal.SIGKILL)
        except ProcessLookupError:
            continue
