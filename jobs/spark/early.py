"""What Spark can do while Python imports the program and lists the dump."""

import os
from contextlib import suppress
from threading import Thread, main_thread

from jobs.spark.session import IN_ONE_PROCESS, context


def begin() -> None:
    """Starts the context in a thread, and on this machine the Python workers of its cores.

    The first to ask for the context waits for it as long as it takes. What goes wrong here is
    told when the context or a worker is needed. Only below spark-submit, where the JVM runs; a
    program that ends at once waits for the context, which would tell that its start was broken off.
    """
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        Thread(target=_begin).start()


def _begin() -> None:
    with suppress(Exception):
        started = context()
        if main_thread().is_alive() and IN_ONE_PROCESS.fullmatch(started.master or ""):
            cores = started.defaultParallelism
            started.range(0, cores, numSlices=cores).foreachPartition(_load)


def _load(_: object) -> None:
    """Imports in a worker what reads the dump: with Python's start it takes two seconds."""
    import udfs.arrow.read_pack  # noqa: F401, PLC0415
