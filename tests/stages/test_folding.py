"""Neither folding nor the size of splits changes a finding or a row of a table.

Random histories of several producers, healthy for the most part and with a fault here and there,
are audited whole, where long stretches of regular transactions are folded away, and in splits so
small that nothing can be folded.
"""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from log_builder import AS_OF, Case, DumpWriter
from pyspark.sql import DataFrame, SparkSession

from jobs import _write
from jobs._audit import Audit, Request
from jobs._progress import Progress
from jobs._settings import load
from jobs.main import audit

HISTORIES = 40
ROUNDS = 40
TINY_SPLIT_BYTES = 97


class Producer:
    """One producer of a random history: TV2 bumps the epoch with every marker."""

    def __init__(self, number: int, chance: random.Random) -> None:
        self.number, self.chance = number, chance
        self.bumps = chance.random() < 0.7
        self.epoch, self.coordinator_epoch, self.open = 0, 0, False

    def step(self) -> str:
        """The next line of the log, right but for a fault now and then."""
        chance = self.chance
        fault = chance.random() < 0.03
        if self.open and chance.random() < 0.6:
            self.open = False
            self.epoch += self.bumps
            epoch = self.epoch + (chance.choice((-1, 2)) if fault else 0)
            verb = "abort" if chance.random() < 0.3 else "commit"
            self.coordinator_epoch += chance.random() < 0.05
            told = self.coordinator_epoch - (fault and chance.random() < 0.5)
            return f"{verb} pid={self.number} epoch={max(epoch, 0)} cepoch={max(told, 0)}"
        self.open = True
        fault_words = chance.choice((f"seq={chance.randint(0, 9)}", "at=-90000", "crc=bad"))
        words = f" {fault_words}" if fault else ""
        if not self.bumps and chance.random() < 0.05:
            self.epoch += 1
        return f"txn pid={self.number} epoch={self.epoch} n={chance.randint(1, 3)}{words}"


def history(seed: int) -> list[str]:
    chance = random.Random(seed)
    producers = [Producer(number, chance) for number in range(1, 5)]
    log = []
    for _ in range(ROUNDS * len(producers)):
        log.append(chance.choice(producers).step())
        if chance.random() < 0.02:
            log.append(chance.choice(("roll", "skip 2", "plain n=2", "garbage 30")))
    return log


def told(frame: DataFrame) -> Counter[str]:
    return Counter(repr(sorted(row.asDict(recursive=True).items())) for row in frame.collect())


def results(done: Audit) -> dict[str, Counter[str]]:
    """Everything an audit found out, as multisets."""
    aborted = done.replayed.aborts.drop("marker_file_index")
    return {
        "findings": told(done.verified.findings),
        "transactions": told(_write._transactions(done)),
        "aborted": told(aborted),
        "states": told(done.replayed.partition_states()),
    }


@pytest.mark.spark
def test_folding_and_split_size_change_nothing(spark: SparkSession, tmp_path: Path) -> None:
    cases = [
        Case("random", seed, {"name": f"seed {seed}", "log": history(seed), "finds": []})
        for seed in range(HISTORIES)
    ]
    DumpWriter(tmp_path / "dump").write(cases)
    compared: list[tuple[int, dict[str, Counter[str]]]] = []
    for split_bytes in (load().split_bytes, TINY_SPLIT_BYTES):
        settings = replace(load(), split_bytes=split_bytes)
        request = Request([tmp_path / "dump"], "unused", AS_OF, "records", settings)
        done: Any = audit(spark, request, Progress(None, quiet=True))
        compared.append((done.replayed.regular, results(done)))
        done.release()
    (folded, whole), (in_tiny_splits, pieces) = compared
    assert folded > 200
    assert in_tiny_splits == 0
    assert len(whole["findings"]) > HISTORIES
    for name, rows in whole.items():
        assert rows == pieces[name], name
