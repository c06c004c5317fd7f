"""Disks that are full: that of `--out`, and the one of Spark's intermediate results.

Each is a small file system of its own in memory, so only root can have them. When there is room
again the same command must end as if nothing had happened.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

from faults.audits import LOCAL, ended, outcome, start, undisturbed, wrong_after
from faults.tally import Tally

# An audit of the sample writes 1.2 MB, and less than 1 MB of intermediate results.
OUT_KIB, SCRATCH_KIB = (50, 1300), (40, 600)
ROOM = "256m"


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """A file system of a size in the folder. Raises OSError where none can be made."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"no file system of its own can be made: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def full(folder: Path, moments: int, first_seed: int, tally: Tally) -> None:
    """Audits onto disks that are too small, then with room."""
    if os.geteuid() != 0:
        tally.say("full disks: left out, only root can mount a small file system")
        return
    right, _ = undisturbed(folder)
    for seed in range(first_seed, first_seed + moments):
        chance, disk, log = Random(f"disk {seed}"), folder / f"disk-{seed}", folder / f"{seed}.log"
        of_out = chance.random() < 0.6
        size = chance.randint(*(OUT_KIB if of_out else SCRATCH_KIB))
        out = disk / "out" if of_out else folder / f"out-{seed}"
        options = LOCAL if of_out else (*LOCAL, "--conf", f"spark.local.dir={disk}")
        kind = "disk of --out" if of_out else "disk of spark.local.dir"
        with small_disk(disk, f"{size}k"):
            code = ended(start(out, log, options=options))
            wrong = wrong_after(outcome(out, code), right, out)
            if code != right.code and wrong is None and not _told(log):
                wrong = f"no sentence about a full disk in {log.read_text()[-500:]}"
            tally.judge(f"{kind} full, exit code {code}", wrong, f"seed {seed}, {size} KiB")
            subprocess.run(["mount", "-o", f"remount,size={ROOM}", str(disk)], check=True)
            again = outcome(out, ended(start(out, log, options=options)))
        wrong = None if again == right else f"{again} instead of {right}"
        tally.judge("run again with room", wrong, f"seed {seed}")


def _told(log: Path) -> bool:
    """Whether the last line says what to do."""
    return (
        log.read_text("utf-8", "replace")
        .strip()
        .splitlines()[-1]
        .startswith("eosaudit: a disk is full")
    )
