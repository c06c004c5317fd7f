"""One JVM with one Spark context for all processes that share the tests.

A JVM spends its first minute on loading classes and compiling; a second one would spend it again.
Each process has a session of its own, so settings are its own, too.
"""

import os
import tempfile
from pathlib import Path

import pytest
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from jobs.spark.session import _embedded_defaults, get_session

TESTS = Path(__file__).parent
LOGGING = TESTS.parent / "conf" / "log4j2.properties"
# By these pyspark finds a JVM that runs. Programs that a test starts must not find this one.
PORT, SECRET = ADDRESS = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")

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
    # Its Python workers import what the tests import.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS.parent), str(TESTS)]))
        parameters = launch_gateway(_conf()).gateway_parameters
    os.environ.update({PORT: str(parameters.port), SECRET: parameters.auth_token})


def take_address() -> None:
    """Takes the address out of the environment."""
    _address.update({name: os.environ.pop(name) for name in ADDRESS})


def session() -> SparkSession:
    """A session of this process, in the shared JVM if there is one."""
    conf = _conf()
    os.environ.update(_address)
    SparkContext._ensure_initialized(conf=conf)
    for name in _address:
        del os.environ[name]
    jvm = SparkContext._jvm
    assert jvm is not None
    java_conf = jvm.SparkConf()
    for key, value in conf.getAll():
        java_conf.set(key, value)
    core = jvm.org.apache.spark.SparkContext.getOrCreate(java_conf)
    context = SparkContext(jsc=jvm.JavaSparkContext(core), conf=SparkConf(_jconf=java_conf))
    SparkSession(context, jvm.SparkSession.builder().getOrCreate().newSession())
    return get_session()[0]
