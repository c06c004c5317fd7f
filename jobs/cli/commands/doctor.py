"""`eosaudit doctor`: what is missing on this machine, and on the executors of a cluster."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from jobs.cli.commands import _worker
from jobs.cli.failures import NO_FILE_SYSTEM, sentence
from jobs.model.errors import NotFinishedError, UsageError
from jobs.spark import delta_tables
from jobs.spark.files import local_folder, why_unwritable
from udfs.storage.dump_path import DumpPath, address

NAMED = 4
DELTA_CLASS = "io.delta.sql.DeltaSparkSessionExtension"


def examine(spark: SparkSession, dumps: Sequence[DumpPath], out: str | None) -> tuple[str, int]:
    """(lines for a person, exit code 0 or 3).

    `dumps`: what every executor must be able to read. `out`: where a table is written on trial.
    """
    places = [address(dump) for dump in dumps]
    lines = [f"Spark {spark.version}, Java {_java(spark)}, master {spark.sparkContext.master}"]
    driver = _worker.examine(places)
    lines.append(f"driver: {_described([driver])}")
    problems = [f"driver: {problem}" for problem in _problems([driver])]
    problems += _delta_problems(spark)
    try:
        workers = _ask_workers(spark, places)
    except Exception as error:
        problems.append(sentence(error) or f"executors: {_first_line(error)}")
    else:
        lines.append(f"executors: {_described(workers)}")
        problems += _executor_problems(spark, driver, workers)
        if out is not None and not problems:
            problems += _out_problems(spark, out)
    if not problems:
        return "\n".join([*lines, "Nothing is missing: an audit can run here."]), 0
    return "\n".join([*lines, "Missing:", *(f"  - {problem}" for problem in problems)]), 3


def _java(spark: SparkSession) -> str:
    jvm: Any = spark.sparkContext._jvm
    return str(jvm.java.lang.System.getProperty("java.version"))


def _delta_problems(spark: SparkSession) -> Iterator[str]:
    jvm: Any = spark.sparkContext._jvm
    try:
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        jvm.java.lang.Class.forName(DELTA_CLASS, False, loader)
    except Exception:
        yield "driver: Spark has no Delta; run `make setup`, or add its jars with --jars"
        return
    if DELTA_CLASS not in (spark.conf.get("spark.sql.extensions", None) or ""):
        yield f"driver: spark.sql.extensions does not include {DELTA_CLASS}; use spark-submit.sh"


def _ask_workers(spark: SparkSession, dumps: list[str]) -> list[dict[str, Any]]:
    """One answer an executor. Raises what Spark raises where a worker does not start."""
    pickling: Any = cloudpickle
    pickling.register_pickle_by_value(_worker)
    context = spark.sparkContext
    jvm: Any = context._jvm
    level = jvm.org.apache.logging.log4j.LogManager.getRootLogger().getLevel().toString()
    try:
        context.setLogLevel("OFF")  # the sentence says what the stack traces would
        slots = max(context.defaultParallelism, 1)
        asked = context.parallelize(range(slots), slots)
        answers = asked.mapPartitions(lambda _: _worker.answers(dumps)).distinct()
        return [json.loads(answer) for answer in sorted(answers.collect())]
    finally:
        context.setLogLevel(level)
        pickling.unregister_pickle_by_value(_worker)


def _executor_problems(
    spark: SparkSession, driver: dict[str, Any], workers: list[dict[str, Any]]
) -> Iterator[str]:
    for problem in _problems(workers):
        yield f"executors: {problem}"
    for name, version in driver["versions"].items():
        others = {worker["versions"].get(name, version) for worker in workers} - {version}
        if others:
            yield (
                f"executors: {name} is {', '.join(sorted(others))} there and {version} on the "
                "driver; install the same everywhere"
            )
    java: Any = spark.sparkContext._jsc
    registered = java.sc().getExecutorMemoryStatus().size() - 1  # the driver is listed too
    if registered > len(workers):
        yield f"executors: only {len(workers)} of {registered} answered; the others were busy"


def _problems(answers: Iterable[dict[str, Any]]) -> list[str]:
    """Each problem once, with the interpreters and the hosts that have it."""
    seen: dict[str, list[dict[str, Any]]] = {}
    for answer in answers:
        for problem in answer["problems"]:
            seen.setdefault(problem, []).append(answer)
    return [
        f"{problem} ({_few(a['interpreter'] for a in having)}; {_few(a['host'] for a in having)})"
        for problem, having in sorted(seen.items())
    ]


def _described(answers: list[dict[str, Any]]) -> str:
    versions = sorted({f"{n} {v}" for a in answers for n, v in a["versions"].items()})
    pythons = sorted({f"Python {a['python']}" for a in answers})
    hosts = _few(answer["host"] for answer in answers)
    return f"{', '.join([*pythons, *versions])} ({len(answers)} on {hosts})"


def _few(names: Iterable[str]) -> str:
    """Some of the names, so that a line stays a line on a large cluster."""
    different = sorted(set(names))
    more = len(different) - NAMED
    return ", ".join(different[:NAMED]) + (f" and {more} more" if more > 0 else "")


def check_out(spark: SparkSession, out: str) -> None:
    """Tries whether --out can be written, elsewhere with a table: after hours it would be late.

    Raises UsageError where the folder, or such an address, cannot be written, else
    NotFinishedError.
    """
    folder = local_folder(spark, out)
    if folder is not None:
        if why := why_unwritable(Path(folder)):
            raise UsageError(
                f"--out {out}: nothing can be written there ({why}); name a folder that this user "
                "may write to."
            )
        return
    for problem in _out_problems(spark, out):
        raise (UsageError if NO_FILE_SYSTEM in problem else NotFinishedError)(f"{problem}.")


def _out_problems(spark: SparkSession, out: str) -> Iterator[str]:
    try:
        delta_tables.try_out(spark, out)
    except Exception as error:
        said = sentence(error, out) or _first_line(error)
        yield f"--out {out}: no table can be written there: {said}"


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0].strip() if lines else type(error).__name__
