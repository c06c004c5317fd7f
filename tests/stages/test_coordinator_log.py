"""Folding records of the coordinator away, and unpacking them when asked, changes nothing."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from coordinator_histories import write_history
from pyspark.sql import SparkSession

from jobs.audit.audit import Audit, Request
from jobs.cli.progress import Progress
from jobs.main import audit
from jobs.model import decoded
from jobs.model.settings import load
from jobs.verify.catalogue import CHECKS
from jobs.verify.contexts.context import Context
from jobs.verify.verify import Verified, verify

SEED = 5
# A record of the history takes more, so none meets another of its id within a split.
ONE_RECORD_BYTES = 97
CONTEXTS_OF_FOLDED = ("coordinator_step", "decided_partition", "transaction")
# Built from the coordinator's log: the others need not be judged again.
OF_COORDINATORS = (*CONTEXTS_OF_FOLDED, "offset_commit", "offset_transaction", "torn_epoch")


def told(done: Audit) -> dict[str, list[str]]:
    """What the audit says that the coordinator's log has a part in."""
    frames: dict[str, Any] = {
        "findings": done.verified.findings,
        "coordinator": done.replayed.coordinator,
        "states": done.replayed.partition_states(),
    }
    return {
        name: sorted(repr(row.asDict(recursive=True)) for row in frame.collect())
        for name, frame in frames.items()
    }


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("coordinator-history")
    write_history(folder, SEED)
    return folder


@pytest.fixture(scope="module")
def unfolded(spark: SparkSession, dump: Path) -> Iterator[Audit]:
    done = run(spark, dump, split_bytes=ONE_RECORD_BYTES)
    yield done
    done.release()


def run(spark: SparkSession, dump: Path, **changes: Any) -> Audit:
    request = Request([dump], "unused", None, "records", replace(load(), **changes))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jobs.main.verify", verify_those_of_coordinators)
        return audit(spark, request, Progress(None, quiet=True))


def verify_those_of_coordinators(
    spark: SparkSession, contexts: list[Context], *rest: Any, **more: Any
) -> Verified:
    asked = tuple(check for check in CHECKS if check.context in OF_COORDINATORS)
    mine = [one for one in contexts if one.name in OF_COORDINATORS]
    return verify(spark, mine, *rest, checks=asked, **more)


@pytest.mark.spark
def test_folding_and_unpacking_when_asked_changes_no_finding(
    spark: SparkSession, dump: Path, unfolded: Audit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records that are unpacked at once: tests/checks/test_cases.py, where files are split."""
    monkeypatch.setattr(decoded, "FEW_FOLDED", 0)
    done = run(spark, dump)
    assert done.read.decoded.folded_rows > 0
    assert done.read.decoded.plain is not None
    assert unfolded.read.decoded.plain is None
    assert unfolded.read.decoded.folded_rows == 0
    found = told(done)
    codes = {row.code for row in done.verified.findings.select("code").distinct().collect()}
    assert len(codes) > 5
    assert found == told(unfolded)
    for name in CONTEXTS_OF_FOLDED:
        assert done.verified.rows_examined[name] == unfolded.verified.rows_examined[name]
    done.release()
