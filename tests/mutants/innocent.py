"""Rechecks what was found in mutants against the same histories without a fault.

    PYTHONPATH=.:tests .venv/bin/python -m mutants.innocent KEPT --histories 280

KEPT is a file of `mutants.run --keep`, --histories as it was there, with one audit of the model. A
violation that the history without the fault confirms was confirmed by too little.
"""

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rechecked import Rechecked, with_recheck

from jobs.report.recheck.results import CONFIRMED
from mutants.run import Chooser, of_model

OF_MODEL = re.compile(r"model (\S+)")


def main(arguments: Sequence[str]) -> int:
    """1 where a violation is confirmed on a history without its fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kept", type=Path)
    parser.add_argument("--histories", type=int, required=True)
    asked = parser.parse_args(arguments)
    found: dict[str, list[dict[str, object]]] = {}
    for line in asked.kept.read_text().splitlines():
        told = json.loads(line)
        match = OF_MODEL.fullmatch(told["audit"])
        if match:
            violations = [one for one in told["found"] if one["verdict"] == "violation"]
            found.setdefault(match[1], []).extend(violations)
    total: Counter[str] = Counter()
    for seed, findings in found.items():
        dump, _, moment = of_model(seed, asked.histories, Chooser([]))
        with tempfile.TemporaryDirectory() as folder:
            dump.write(Path(folder))
            results = Rechecked()
            results.take(seed, with_recheck(findings, Path(folder), moment))
        total += sum(results.by_code.values(), Counter[str]())
        confirmed = {code for code, one in results.by_code.items() if one[CONFIRMED]}
        sys.stdout.writelines(f"confirmed without its fault: {one}\n" for one in sorted(confirmed))
    sys.stdout.write(", ".join(f"{number} {name}" for name, number in sorted(total.items())) + "\n")
    return 1 if total[CONFIRMED] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
