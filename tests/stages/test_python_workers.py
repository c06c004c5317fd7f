"""What our code does in the Python workers of Spark."""

from collections.abc import Iterable, Iterator

from pyspark.sql import SparkSession


def test_a_worker_does_not_collect_what_it_has_loaded(spark: SparkSession) -> None:
    # Inside, as workers cannot import a file of tests.
    def kept_out(_: Iterable[int]) -> Iterator[int]:
        import gc  # noqa: PLC0415

        import udfs.arrow.read_pack  # noqa: F401, PLC0415

        yield gc.get_freeze_count()

    (objects,) = spark.sparkContext.range(1, numSlices=1).mapPartitions(kept_out).collect()
    assert objects > 10_000
