"""What many tests share: one Spark session, and one audit of the sample dump with its policy."""

import io
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings
from pyspark.sql import SparkSession

from jobs.main import main
from jobs.spark.session import _embedded_defaults, get_session

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
LOGGING = Path(__file__).parent.parent / "conf" / "log4j2.properties"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, so that no worker ends alone with one (`--dist loadfile`)."""
    long = {"slow", "submit"}
    first = {item.path for item in items if long & {mark.name for mark in item.iter_markers()}}
    then = {item.path for item in items if "spark" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: 0 if item.path in first else 1 if item.path in then else 2)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session on two cores with the defaults of an embedded audit."""
    scratch = tmp_path_factory.mktemp("spark")
    settings = _embedded_defaults() | {
        "spark.master": "local[2]",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        # One driver for the whole run of a process; an audit of its own needs less.
        "spark.driver.memory": "5g",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }
    settings["spark.driver.extraJavaOptions"] += (
        f" -Dlog4j2.configurationFile={LOGGING} -Dderby.system.home={scratch}"
    )
    builder = SparkSession.builder.appName("eosaudit-tests")
    for key, value in settings.items():
        builder = builder.config(key, value)
    started = builder.getOrCreate()
    session, _ = get_session()
    yield session
    started.stop()


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
