"""Processes of an audit are killed at seeded moments, and it is run again.

In each round one folder `--out` gets a few audits of which a process is killed without warning, and
then one that is left alone. The last one must give the right verdict, and all tables the rows of an
undisturbed audit: nothing is lost, and nothing is there twice. An executor is one of a cluster of
two workers; there Spark repeats what was lost, so the audit may end as if nothing had happened.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from faults.audits import LOCAL, Outcome, ended, outcome, start, undisturbed, wrong_after
from faults.cluster import standalone
from faults.processes import EXECUTOR, VICTIMS, kill_all, kill_one
from faults.tally import Tally

IN_A_ROUND = 4


def killed(
    chance: Random, out: Path, log: Path, seconds: float, roots: Sequence[int],
    options: Sequence[str],
) -> tuple[str, list[float], int]:  # fmt: skip
    """An audit, of which a process is killed: which kind, when (s), and the exit code.

    `roots`: processes that have executors below them, of which several are killed one after
    another, since the audit goes on; none in a local audit.
    """
    kind = EXECUTOR if roots else chance.choice(VICTIMS)
    moments = sorted(chance.uniform(1.0, seconds) for _ in range(IN_A_ROUND if roots else 1))
    audit, took = start(out, log, options=options), []
    began = time.monotonic()
    for moment in moments:
        while time.monotonic() - began < moment and audit.poll() is None:
            time.sleep(0.05)
        # A Python worker is there now and then: its next moment is as good.
        while audit.poll() is None:
            if any(kill_one(one, kind) for one in roots or (audit.pid,)):
                took.append(time.monotonic() - began)
                break
            time.sleep(0.02)
    code = ended(audit)
    kill_all(audit.pid)
    return kind, took, code


def rounds(
    folder: Path, moments: int, first_seed: int, tally: Tally, roots: Sequence[int] = (),
    options: Sequence[str] = LOCAL,
) -> None:  # fmt: skip
    """Kills at so many moments."""
    right, seconds = undisturbed(folder, options)
    tally.say(f"undisturbed: {seconds:.0f} s, {sum(right.rows.values())} rows")
    tally.judge("undisturbed", None if right.code == 1 else f"exit code {right.code}")
    done, seed = 0, first_seed
    while done < moments:
        name = f"cluster {seed}" if roots else f"faults {seed}"
        chance, out = Random(name), folder / f"out-{seed}"
        for _ in range(1 if roots else min(IN_A_ROUND, moments - done)):
            log = folder / f"{seed}.log"
            kind, took, code = killed(chance, out, log, seconds, roots, options)
            done += len(took)
            wrong = wrong_after(outcome(out, code), right, out)
            at = ", ".join(f"{moment:.1f}" for moment in took)
            tally.judge(f"{kind} killed, exit code {code}", wrong, f"seed {seed}, at {at} s")
        again = _again(out, folder / f"{seed}.log", options)
        wrong = None if again == right else f"{again} instead of {right}"
        tally.judge("run again after kills", wrong, f"seed {seed}")
        seed += 1
    tally.say(f"{done} processes killed")


def _again(out: Path, log: Path, options: Sequence[str]) -> Outcome:
    return outcome(out, ended(start(out, log, options=options)))


def executors(folder: Path, moments: int, first_seed: int, tally: Tally) -> None:
    """The same of executors of a standalone cluster."""
    with standalone(folder / "cluster") as (master, workers):
        rounds(folder, moments, first_seed, tally, workers, ("--master", master))
