"""Threads that plan and run queries side by side."""

from concurrent.futures import ThreadPoolExecutor

from pyspark import SparkContext

# Where a query was asked for, in the words of Spark's pages. Left to itself Spark walks the stack
# of the thread for each of the RDDs of a plan, a fourteenth of the JVM's work in a small audit.
CALL_SITE = {"callSite.short": "eosaudit", "callSite.long": "eosaudit"}


def side_by_side(queries: int) -> ThreadPoolExecutor:
    """So many threads whose queries are named as those of the main thread are."""
    return ThreadPoolExecutor(queries, initializer=name_queries)


def name_queries() -> None:
    """Names the queries of this thread: properties of a thread are not those of another."""
    context = SparkContext.getOrCreate()
    for key, value in CALL_SITE.items():
        context.setLocalProperty(key, value)
