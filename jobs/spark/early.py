"""What can be done while Python imports the program, and while it waits for Spark.

A small audit waits for one thing after another: the JVM for Python's imports, Python for Spark's
session, both for the workers that read the dump, the report for the library of its pictures.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from threading import main_thread

from pyspark import SparkContext
from pyspark.sql import SparkSession

from jobs.spark.session import IN_ONE_PROCESS, begun, new_context, new_session

# Subcommands that read a dump, with Python workers.
READING = ("audit", "export")
# What writes the tables and the pictures of an audit; they take a second to import.
NEEDED_AT_THE_END = ("deltalake", "matplotlib.backends.backend_svg", "matplotlib.figure")


def begin() -> None:
    """Starts the session in a thread; on this machine also Python workers, one a core.

    Only below spark-submit, where the JVM runs. A program that ends at once waits for the context:
    the JVM would tell that its start was broken off.
    """
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        pool = ThreadPoolExecutor(2)
        begun.append(pool.submit(_session, pool))


def _session(pool: ThreadPoolExecutor) -> SparkSession:
    context = new_context()
    if not main_thread().is_alive():
        raise SystemExit
    if sys.argv[1] in READING and IN_ONE_PROCESS.fullmatch(context.master or ""):
        pool.submit(_ready_for_dumps, context)
    return new_session({})


def _ready_for_dumps(context: SparkContext) -> None:
    """What goes wrong here is told when a worker or a library is needed."""
    with suppress(Exception):
        cores = context.defaultParallelism
        context.range(0, cores, numSlices=cores).foreachPartition(_load)
        for name in NEEDED_AT_THE_END:
            import_module(name)


def _load(_: object) -> None:
    """Imports in a worker what reads a dump."""
    import udfs.arrow.read_pack  # noqa: F401, PLC0415
