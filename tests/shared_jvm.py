"""One JVM with one Spark context for all processes that share the tests.

A JVM spends its first minute on loading classes and compiling; a second one would spend it again.
Each process has a session of its own, so settings are its own, too.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from jobs.spark.session import _embedded_defaults, _hush, get_session

TESTS = Path(__file__).parent
LOGGING = TESTS.parent / "conf" / "log4j2.properties"
# By these pyspark finds a JVM that runs. Programs that a test starts must not find this one.
PORT, SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
# Python workers of the JVM import what the tests import, and nothing else that is installed here.
IMPORTS, OURS = "PYTHONPATH", os.pathsep.join([str(TESTS.parent), str(TESTS)])

_address: dict[str, str] = {}


def _conf() -> SparkConf:
    scratch = tempfile.mkdtemp(prefix="eosaudit-tests-")
    settings = _embedded_defaults() | {
        "spark.app.name": "eosaudit-tests",
        "spark.master": "local[2]",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        # One driver for the whole run; an audit of its own needs less.
        "spark.driver.memory": "6g",
        "spark.local.dir": scratch,
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
    }
    settings["spark.driver.extraJavaOptions"] += (
        f" -Dlog4j2.configurationFile={LOGGING} -Dderby.system.home={scratch}"
    )
    return SparkConf(loadDefaults=False).setAll(list(settings.items()))


def start() -> None:
    """Starts it; processes that are started from now on find its address in the environment."""
    with environment({IMPORTS: OURS}):
        parameters = launch_gateway(_conf()).gateway_parameters
    os.environ.update({PORT: str(parameters.port), SECRET: parameters.auth_token})


def take_address() -> None:
    """Takes the address out of the environment."""
    _address.update({name: os.environ.pop(name) for name in (PORT, SECRET)})


def session() -> SparkSession:
    """A session of this process, in the shared JVM if there is one."""
    conf = _conf()
    with environment(_address or {IMPORTS: OURS}):
        SparkContext._ensure_initialized(conf=conf)
    jvm = SparkContext._jvm
    assert jvm is not None
    settings = jvm.SparkConf()
    for key, value in conf.getAll():
        settings.set(key, value)
    # The first process makes it, the others find it.
    shared = jvm.JavaSparkContext(jvm.org.apache.spark.SparkContext.getOrCreate(settings))
    context = SparkContext(jsc=shared, conf=SparkConf(_jconf=settings))
    _hush(SparkSession(context, jvm.SparkSession.builder().getOrCreate().newSession()))
    return get_session()[0]


@contextmanager
def environment(added: dict[str, str]) -> Iterator[None]:
    """Variables that only what is started meanwhile is to see."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in added.items():
            patch.setenv(name, value)
        yield
