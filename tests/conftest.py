"""One Spark session for the whole test run."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs._session import _embedded_defaults, get_session

LOGGING = Path(__file__).parent.parent / "conf" / "log4j2.properties"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session on two cores with the defaults of an embedded audit."""
    scratch = tmp_path_factory.mktemp("spark")
    settings = _embedded_defaults() | {
        "spark.master": "local[2]",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        # One driver for the whole run; an audit of its own needs less.
        "spark.driver.memory": "3g",
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
