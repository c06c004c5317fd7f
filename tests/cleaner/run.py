"""Cleans seeded clusters as brokers do, and audits them: `python -m cleaner.run`.

All that they write is legal, so any violation is a false accusation, or a fault of this model. It
prints for each round what the cleaners took and what was found, and fails on a violation. A round
is made again by its seed: `clusters("SEED ROUND", C)`. With `--keep` its dump and its findings stay
in a folder.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from laws.run import CONF, Finding, audit_findings
from model.run import line
from pyspark.sql import SparkSession

from cleaner.clusters import Made, clusters
from jobs.spark.session import spark_session


def audited(spark: SparkSession, made: Made, folder: Path) -> list[Finding]:
    """Writes a dump into an empty folder and audits it."""
    made.dump.write(folder)
    return audit_findings(spark, folder, made.moment)


@contextmanager
def _folder(seed: str, keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory() as name:
            yield Path(name)
        return
    folder = keep / seed.replace(" ", "-")
    folder.mkdir(parents=True)
    yield folder


def _round(spark: SparkSession, seed: str, count: int, keep: Path | None) -> int:
    """One dump; how many violations."""
    started = time.monotonic()
    made = clusters(seed, count)
    with _folder(seed, keep) as folder:
        found = audited(spark, made, folder)
    if keep is not None:
        told = keep / f"{seed.replace(' ', '-')}.json"
        told.write_text(json.dumps(found, default=str))
    graver = [one for one in found if one["severity"] != "info"]
    verdicts = Counter(one["verdict"] for one in graver)
    suspects = Counter(one["code"] for one in graver if one["verdict"] == "suspect")
    accused = [one for one in found if one["verdict"] == "violation"]
    sys.stdout.write(
        f"seed '{seed}': {count} clusters; {dict(sorted(made.took.items()))}; "
        f"{dict(verdicts)}; suspects {dict(suspects.most_common())}; "
        f"{time.monotonic() - started:.0f} s\n"
    )
    sys.stdout.writelines(line(one) for one in accused)
    sys.stdout.flush()
    return len(accused)


def main(arguments: Sequence[str]) -> int:
    """Rounds of clusters; 1 where any is accused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--clusters", type=int, default=30, help="so many in one audit")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a folder in which dumps and findings stay")
    asked = parser.parse_args(arguments)
    with spark_session(CONF) as spark:
        bad = sum(
            _round(spark, f"{asked.seed} {number}", asked.clusters, asked.keep)
            for number in range(1, asked.rounds + 1)
        )
    sys.stdout.write(f"{asked.rounds * asked.clusters} clusters, {bad} violations\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
