"""Audits of the sample in a store that fails, and once more when it does not.

The store answers slowly, with errors, not to the end, or lists what is not so any more. An audit of
it finds what the audit of the folder finds, or less, and then says that it is incomplete.
"""

import json
import os
from pathlib import Path
from random import Random
from typing import Any

from storage.flawed_store import FLAWS, FlawedStore, objects_of, running
from storage.s3_fixtures import READER

from faults.audits import AS_OF, SAMPLE
from faults.tally import Tally
from jobs.main import main
from jobs.spark.session import spark_session

STALE = "stale listing"
KINDS = (*FLAWS, "all of it", STALE)
SHARES = (0.05, 0.2, 0.5)


def fail(folder: Path, moments: int, first_seed: int, tally: Tally) -> None:
    """One store a seed."""
    os.environ.update(READER)
    with spark_session({"spark.master": "local[2]"}):
        right = audited(SAMPLE, folder / "reference")
        for seed in range(first_seed, first_seed + moments):
            chance, kind = Random(f"store {seed}"), KINDS[seed % len(KINDS)]
            store = FlawedStore(objects_of(SAMPLE, "sample"), seed)
            whole = dict(store.objects)
            if kind == STALE:
                make_stale(store, chance)
            else:
                store.flaws = FLAWS if kind == "all of it" else (kind,)
                store.share = chance.choice(SHARES)
            with running(store):
                uri, out = store.uri("sample"), folder / f"out-{seed}"
                first = audited(uri, out)
                told = f"incomplete: {len(first['incomplete'])}" if first else "no verdict"
                bad = sum(store.made.values()) - store.made["right"]
                where = f"seed {seed}, {bad} wrong answers"
                tally.judge(f"store: {kind}", wrong_in(first, right), f"{where}, {told}")
                store.objects, store.listed, store.share = whole, None, 0.0
                again = audited(store.uri("sample"), out)
            same = (
                again is not None
                and right is not None
                and all(
                    again[name] == right[name] for name in ("audit_id", "findings", "incomplete")
                )
            )
            tally.judge("store: run again when it is well", None if same else f"{again}")


def make_stale(store: FlawedStore, chance: Random) -> None:
    """The listing stays; some objects are gone, shorter or longer."""
    store.listed = store.sizes()
    for key in chance.sample(sorted(store.objects), 3):
        change = chance.choice(("gone", "shorter", "longer"))
        content = store.objects.pop(key)
        if change != "gone":
            end = chance.randrange(len(content) + 1)
            store.objects[key] = content[:end] if change == "shorter" else content + b"\0" * end


def audited(dump: str | Path, out: Path) -> dict[str, Any] | None:
    """verdict.json of an audit; None where it ended without one."""
    code = main(["audit", "--quiet", "--dump", str(dump), "--out", str(out), "--as-of", str(AS_OF)])
    verdict = out / "verdict.json"
    if not verdict.exists():
        return None
    told: dict[str, Any] = json.loads(verdict.read_text())
    return told if told["exit_code"] == code else None


def wrong_in(got: dict[str, Any] | None, right: dict[str, Any] | None) -> str | None:
    """What is wrong with the verdict of a store that fails."""
    if right is None:
        return "the folder itself could not be audited"
    if got is None:
        return None
    known = {one["code"] for one in right["findings"] if one["verdict"] == "violation"}
    more = [one for one in got["findings"] if one["verdict"] == "violation"]
    if any(one["code"] not in known for one in more):
        return f"violations {more}"
    if not got["incomplete"] and got["audit_id"] != right["audit_id"]:
        return "another audit that looks whole"
    return None
