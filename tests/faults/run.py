"""`make faults`: what goes wrong while an audit runs, and the same command again.

    python -m faults.run --moments 100 --first-seed 1
    python -m faults.run --only changes store --moments 20

kills: of driver JVM, driver Python, Python workers; executors: of a Spark cluster; disks: that of
`--out` or of intermediate results is full; twice: two audits into one folder at once; changes:
files of a dump change between listing and reading; store: one that fails. After each an audit must
be right or not whole, and the same command again must end as if nothing had happened.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from faults import disks, kills, twice
from faults.changing import change_dumps
from faults.stores import fail
from faults.tally import Tally

KINDS: dict[str, Callable[[Path, int, int, Tally], None]] = {
    "kills": kills.rounds,
    "executors": kills.executors,
    "disks": disks.full,
    "twice": lambda folder, moments, _, tally: twice.at_once(folder, moments, tally),
    "changes": lambda _, moments, seed, tally: change_dumps(moments, seed, tally),
    "store": fail,
}
# What costs more a moment has fewer of them by default.
SHARES = {"kills": 1.0, "executors": 0.2, "disks": 0.2, "twice": 0.1, "changes": 0.1, "store": 0.1}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--moments", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", choices=KINDS)
    asked = parser.parse_args(arguments)
    tally = Tally()
    for kind in asked.only or KINDS:
        moments = asked.moments if asked.only else max(1, round(asked.moments * SHARES[kind]))
        with tempfile.TemporaryDirectory() as scratch:
            KINDS[kind](Path(scratch), moments, asked.first_seed, tally)
    for what, number in sorted(tally.seen.items()):
        tally.say(f"  {what}: {number}")
    tally.say(f"{sum(tally.seen.values())} audits, {tally.wrong} wrong")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
