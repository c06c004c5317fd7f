"""A live cluster as a source: its dump is fetched by scripts/take_dump.py, then audited.

The script is a process of its own. It needs no library of an audit, and an audit none of its
own; what interrupts the one ends the other, and its memory is gone before Spark wants it.
"""

import json
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import NamedTuple

from jobs.cli.arguments import Arguments
from jobs.model.errors import NotFinishedError, UsageError
from udfs.storage.places import is_remote

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "take_dump.py"
CACHE = "fetched"  # below --out
MANIFEST = "cluster/dump-manifest.json"
# How the script ends (its --help).
DONE, REFUSED = 0, 2
COMPLAINT = "take_dump: "
LINES_OF_A_REASON = 2


class Live(NamedTuple):
    """A fetched dump. `moment`: when its fetch began, ms since 1970; ages refer to it."""

    dump: Path
    moment: int


def fetched(arguments: Arguments) -> Live:
    """Brings the cache of a live cluster up to date.

    Raises UsageError where the cluster refuses or something is missing here, NotFinishedError
    where the same command may succeed later.
    """
    if not SCRIPT.is_file():
        raise UsageError(
            "--bootstrap needs the checkout on the driver, with scripts/take_dump.py: use deploy "
            "mode client"
        )
    cache = _cache(arguments)
    command = [sys.executable, str(SCRIPT), *_words(arguments, cache)]
    code, said = _run(command, arguments.quiet)
    if code != DONE:
        reason = " ".join(line.removeprefix(COMPLAINT) for line in said).rstrip(".")
        kind = UsageError if code == REFUSED else NotFinishedError
        raise kind(f"no dump of {arguments.bootstrap}: {reason}")
    manifest = json.loads((cache / MANIFEST).read_text("utf-8"))
    return Live(cache, int(manifest["begun_ms"]))


def _run(command: list[str], quiet: bool) -> tuple[int, list[str]]:
    """The exit code of the script, and the last lines that it has told.

    What it tells is progress, which is passed on unless `quiet`, and in the end the reason.
    """
    said: deque[str] = deque(maxlen=LINES_OF_A_REASON)
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, encoding="utf-8", errors="replace"
    ) as running:
        for line in running.stderr or ():
            if not quiet:
                sys.stderr.write(line)
                sys.stderr.flush()
            if line.strip():
                said.append(line.strip())
    return running.returncode, list(said)


def _cache(arguments: Arguments) -> Path:
    if arguments.cache is not None:
        return arguments.cache
    if is_remote(arguments.out):
        raise UsageError(
            f"--out {arguments.out} is not a folder of this machine: set --cache to a folder for "
            "the fetched dump that all executors can read"
        )
    return Path(arguments.out) / CACHE


def _words(arguments: Arguments, cache: Path) -> list[str]:
    """The script's command line."""
    words = ["--to", str(cache), "--bootstrap", arguments.bootstrap or ""]
    if arguments.command_config is not None:
        words += ["--config", str(arguments.command_config)]
    for pattern in arguments.topics:
        words += ["--topic", pattern]
    if arguments.jobs is not None:
        words += ["--jobs", arguments.jobs]
    if arguments.max_rate is not None:
        words += ["--max-rate", arguments.max_rate]
    return words
