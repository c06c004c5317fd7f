"""What many tests share: one Spark session, and one audit of the sample dump with its policy."""

import io
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
import shared_jvm
from hypothesis import settings as hypothesis_settings
from pyspark.sql import SparkSession

from jobs.main import main

# A conftest.py of its own in that folder would hide this one from those who import from it.
pytest_plugins = ["storage.s3_fixtures"]

# In a process of pytest-xdist the main module has no file: pyspark.sql.connect takes that for a run
# of its own doctests: it would end the process (Great Expectations imports it).
if not hasattr(sys.modules["__main__"], "__file__"):
    sys.modules["__main__"].__file__ = pytest.__file__

# How long an example takes is a question for benchmarks.
hypothesis_settings.register_profile("untimed", deadline=None)
hypothesis_settings.load_profile("untimed")

SAMPLE = Path(__file__).parent / "dumps/hanging-sample"


def pytest_configure(config: pytest.Config) -> None:
    """Processes that share the tests share a JVM, which ends with the one that waits for them."""
    if hasattr(config, "workerinput"):
        shared_jvm.take_address()
    elif getattr(config.option, "numprocesses", None):
        shared_jvm.start()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files come first, so that no process ends alone with one (`--dist loadfile`)."""
    long = {"slow", "submit"}
    first = {item.path for item in items if long & {mark.name for mark in item.iter_markers()}}
    then = {item.path for item in items if "spark" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: 0 if item.path in first else 1 if item.path in then else 2)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session on two cores with the defaults of an embedded audit."""
    yield shared_jvm.session()


@dataclass(frozen=True)
class SampleAudit:
    """An audit of the sample as of an hour later: its options, exit code, summary and output."""

    options: list[str]
    code: int
    told: str
    out: Path


@pytest.fixture(scope="session")
def sample_audit(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SampleAudit:
    """Its tables may grow by other audits, and are not to be changed otherwise."""
    out = tmp_path_factory.mktemp("sample") / "out"
    options = ["--out", str(out), "--quiet", "--as-of", "1795240070221", "--policy", "default"]
    with redirect_stdout(io.StringIO()) as told:
        code = main(["audit", "--dump", str(SAMPLE), *options])
    return SampleAudit(options, code, told.getvalue(), out)
