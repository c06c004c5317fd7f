"""Threads that plan and run queries side by side, all under one name."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from pyspark import SparkContext
from pyspark.traceback_utils import SCCallSiteSync

# Where a query was asked for, in the words of Spark's pages. Left to itself Spark walks the stack
# of the thread for each of the RDDs of a plan, a fourteenth of the JVM's work in a small audit.
CALL_SITE = {"callSite.short": "eosaudit", "callSite.long": "eosaudit"}


@contextmanager
def named_queries() -> Iterator[None]:
    """Queries of this thread, and of those of `side_by_side`, have one name.

    PySpark names what it collects after a line of code and takes the name away behind it, unless
    it collects inside another such call: that is what it is told here. Nothing is asked of the JVM
    at the end, which may have broken down.
    """
    SCCallSiteSync._spark_stack_depth += 1
    try:
        _name_queries()
        yield
    finally:
        SCCallSiteSync._spark_stack_depth -= 1


def side_by_side(queries: int) -> ThreadPoolExecutor:
    """So many threads whose queries are named as those of the main thread are."""
    return ThreadPoolExecutor(queries, initializer=_name_queries)


def _name_queries() -> None:
    """Names those of this thread: properties of a thread are not those of another."""
    # Where the JVM has broken down, the query says so better than its name does.
    with suppress(Exception):
        context = SparkContext.getOrCreate()
        for key, value in CALL_SITE.items():
            context.setLocalProperty(key, value)
