"""The Spark session: the one that is active, or an embedded one with the defaults we need."""

import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from jobs.spark.java_names import remember
from jobs.spark.threads import named_queries

IN_ONE_PROCESS = re.compile(r"local(\[.*)?")
# Packs of splits for each core: enough for an even load, few enough for the start of a task.
TASKS_A_CORE = 3
# A session that was begun before anybody asked for one; who asks first takes it out.
begun: "list[Future[SparkSession]]" = []
# Must hold for the results to be right and whole; set on every session, whoever started it.
REQUIRED = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",
    # A broadcast waits for what computes its rows. After Spark's 300 s the check counts as crashed:
    # seen with 250,000 snapshots on a busy machine.
    "spark.sql.broadcastTimeout": "-1",
}
# Only for a session that we start, and only where the user gave nothing.
DEFAULTS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.enabled": "false",
    # What the status store keeps of finished work fills the driver of a session that goes on.
    "spark.sql.ui.retainedExecutions": "5",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "1000",
    # The text of each plan is made although nobody opens the UI.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "1000",
    "spark.sql.codegen.cache.maxEntries": "100",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Queries give it to their Python workers; with it those of `early` are of the same kind.
    "spark.executorEnv.SPARK_SIMPLIFIED_TRACEBACK": "1",
    # Spark would take 32 MB for the first row of every sort, aggregate and hash join.
    "spark.buffer.pageSize": "4m",
    # Packed transactions are few rows of many bytes: half a GB of them at once, by number alone.
    "spark.sql.execution.arrow.maxBytesPerBatch": "4m",
}
# The classes that warn of each plan whose text is cut short: at a length, at a number of fields.
CUT_SHORT = (
    "org.apache.spark.sql.catalyst.util.StringUtils",
    "org.apache.spark.util.SparkStringUtils",
)
# For debugging, and each takes time: where a column expression came from in the Python code;
# whether a plan is whole, after each rule of the optimiser; whether a column taken from a frame
# means one of two equal frames (here all columns are named).
QUIET = {
    "spark.sql.dataFrameQueryContext.enabled": "false",
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.analyzer.failAmbiguousSelfJoin": "false",
}
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
# Up to this many rows, generating and compiling code costs more than it saves.
INTERPRETED_ROWS = 300_000
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Else the tasks of a join carry the plans of both its sides.
    "spark.sql.execution.usePartitionEvaluator": "true",
}
# Filters that could be inferred from others spare rows, of which there are few. So do filters of
# one side of a join by the keys of the other: each is a query of its own, and 1 MiB of the tasks.
PLANNED_FAST = {
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
}
# Where both sides of a join have one partition, a broadcast is a job of its own for nothing, and so
# is a shuffle. Spark shuffles what may be large, and multiplies sizes at each join.
IN_ONE_TASK = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.maxSinglePartitionBytes": "8191p",
    "spark.sql.defaultSizeInBytes": "1",
}
# Spark's 200 are 200 times the start of a task.
FEW_SHUFFLE_PARTITIONS = 8
# Of rows that one task could hold; two let a window over them use two cores.
FEWEST_SHUFFLE_PARTITIONS = 2
# Classes outgrow the usual start of the metaspace five times, and each time all is collected.
JAVA_OPTIONS = "-XX:-DontCompileHugeMethods -XX:+UseParallelGC -Xms1g -XX:MetaspaceSize=256m"


def get_session(extra: dict[str, str] | None = None) -> tuple[SparkSession, bool]:
    """(session, whether it was started here and is to be stopped by the caller).

    `extra`: settings for a session that is started here, above the defaults.
    """
    active = SparkSession.getActiveSession()
    started = active is None
    spark = active or (begun.pop().result() if begun else new_session(extra or {}))
    if started:
        _hush(spark)
    remember(spark)
    for key, value in REQUIRED.items():
        spark.conf.set(key, value)
    return spark, started


def new_context() -> SparkContext:
    """The context of a session with our defaults."""
    return SparkContext.getOrCreate(SparkConf().setAll([*_settings({}).items()]))


def new_session(extra: dict[str, str]) -> SparkSession:
    """A session with our defaults; `extra` goes above them. It takes a context that is there."""
    builder = SparkSession.builder
    for key, value in _settings(extra).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _settings(extra: dict[str, str]) -> dict[str, str]:
    """What we set where the user gave nothing."""
    given = given_to_spark()
    ours = {"spark.app.name": "eosaudit"} | _embedded_defaults() | extra
    return {key: value for key, value in ours.items() if not given.contains(key)}


@contextmanager
def planned_for(spark: SparkSession, rows: int, in_one_task: bool = False) -> Iterator[None]:
    """Settings for stages over about `rows` rows; those of the session come back at the end.

    A dump of ordinary size leaves few rows to the window functions, in dozens of small plans.
    `in_one_task`: frames that are kept have one partition, so that windows, joins and aggregates
    over them need no shuffle and no broadcast; queries run side by side all the same.
    """
    wanted = dict(QUIET)
    if rows <= INTERPRETED_ROWS:
        fewest = 1 if in_one_task else FEWEST_SHUFFLE_PARTITIONS
        wanted |= INTERPRETED | PLANNED_FAST
        wanted |= {SHUFFLE_PARTITIONS: str(min(shuffle_partitions(spark), fewest))}
        wanted |= IN_ONE_TASK if in_one_task else {}
    before = {key: spark.conf.get(key, None) for key in wanted}
    for key, value in wanted.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, was in before.items():
            if was is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, was)


def in_one_process(spark: SparkSession) -> bool:
    """Whether driver and executor are one process, so also on one machine."""
    return bool(IN_ONE_PROCESS.fullmatch(spark.sparkContext.master or ""))


def shuffle_partitions(spark: SparkSession) -> int:
    """How many partitions a shuffle makes: 1 where all rows of a query are to be in one task."""
    return int(spark.conf.get(SHUFFLE_PARTITIONS) or FEW_SHUFFLE_PARTITIONS)


@contextmanager
def spark_session(extra: dict[str, str] | None = None) -> Iterator[SparkSession]:
    """The active session, left running, or one that is stopped at the end; `extra` as above."""
    spark, started = get_session(extra)
    try:
        with named_queries():
            yield spark
    finally:
        if started:
            spark.stop()


def _hush(spark: SparkSession) -> None:
    """Spark warns of each plan whose text it cuts short: dozens of lines, of no consequence."""
    log4j = spark.sparkContext._jvm.org.apache.logging.log4j  # type: ignore[union-attr]
    for name in CUT_SHORT:
        log4j.core.config.Configurator.setLevel(name, log4j.Level.ERROR)


def given_to_spark() -> SparkConf:
    """What the user gave to spark-submit: only the JVM that started this process knows it."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        SparkContext._ensure_initialized()
    return SparkConf()


def _embedded_defaults() -> dict[str, str]:
    """Defaults, the Delta jars that `make setup` installed, and local shuffles."""
    defaults = dict(DEFAULTS)
    jars = sorted(str(jar) for jar in (Path(__file__).parents[2] / ".jars").glob("*.jar"))
    if jars:
        defaults["spark.jars"] = ",".join(jars)
    given = given_to_spark()
    master = given.get("spark.master", "local[*]") or "local[*]"
    if not given.contains("spark.master"):
        defaults["spark.master"] = master
    if master.startswith("local"):
        # Workers run on the same machine: the same interpreter has the same packages.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        defaults[SHUFFLE_PARTITIONS] = str(FEW_SHUFFLE_PARTITIONS)
        defaults["spark.driver.extraJavaOptions"] = JAVA_OPTIONS
        # Shuffles are small here: planning each stage again costs more than it saves.
        defaults["spark.sql.adaptive.enabled"] = "false"
        defaults["spark.driver.memory"] = "2g"
    return defaults
