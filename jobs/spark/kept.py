"""Frames that are computed once and read often, each the beginning of a new plan."""

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from jobs.spark.local import no_rows_like
from jobs.spark.session import INTERPRETED, in_one_process, shuffle_partitions
from jobs.spark.threads import side_by_side

FRAMES_AT_ONCE = 3
# What the expressions of a plan look up while they run.
TOLD_TO_TASKS = tuple(INTERPRETED)


class KeptFrames:
    """All frames that one audit keeps, to be given back together.

    A frame that is only persisted brings the whole plan it was made by into every query that
    reads it, where it is analysed, compared and copied again; a dozen contexts over the
    partitions over splits over rows spent more on that than on the rows. A frame that is kept here
    begins a new plan.
    """

    def __init__(self, spark: SparkSession) -> None:
        # What it holds cannot be lost without the audit.
        self._in_one_process = in_one_process(spark)
        self._context = spark.sparkContext._jsc.sc()
        self._checkpoints: list[int] = []
        self._persisted: list[DataFrame] = []

    def keep(self, frame: DataFrame, observed: Callable[[], int] | None = None) -> DataFrame:
        """The rows of the frame, computed now and kept, with a new plan.

        Few rows are kept in one partition: a query over them is one task without a shuffle.
        `observed`: their number, told by an Observation of the frame once they are computed.
        """
        in_one_task = shuffle_partitions(frame.sparkSession) == 1
        if in_one_task:
            frame = frame.coalesce(1)
        if is_known_empty(frame):
            return no_rows_like(frame)
        if self._in_one_process:
            # An observation is told what a query of Spark's own has seen, not what a job has.
            kept = frame.localCheckpoint(eager=observed is not None)
            rows = kept._jdf.logicalPlan().rdd()
            self._checkpoints.append(rows.id())
            number = observed() if observed is not None else _computed(rows, frame.sparkSession)
            if not number:
                return no_rows_like(frame)
            # Elsewhere sizes tell Spark what it may broadcast.
            return _without_size(kept) if in_one_task else kept
        self._persisted.append(frame.persist())
        return _without_past(frame) if frame.count() else no_rows_like(frame)

    def keep_all(self, **frames: DataFrame) -> dict[str, DataFrame]:
        """Each frame kept, by its name; planning one overlaps with computing another."""
        with side_by_side(FRAMES_AT_ONCE) as pool:
            return dict(zip(frames, pool.map(self.keep, frames.values()), strict=True))

    def release(self) -> None:
        """Gives the memory back, and waits for it: a session that ends meanwhile would complain."""
        while self._persisted:
            self._persisted.pop().unpersist(blocking=True)
        # RDD.unpersist would warn of each that it cannot be computed again.
        while self._checkpoints:
            self._context.unpersistRDD(self._checkpoints.pop(), True)


def _computed(rows: Any, session: SparkSession) -> int:
    """How many rows there are: the job that counts them computes and keeps them."""
    for key in TOLD_TO_TASKS:
        # Spark gives all settings to the tasks of its own queries.
        session.sparkContext.setLocalProperty(key, session.conf.get(key))  # type: ignore[arg-type]
    return int(rows.count())


def is_known_empty(frame: DataFrame) -> bool:
    """Whether the optimiser finds without a look at any row that there is none.

    So it is with each kept frame that has none. A plan over it is analysed as any other, so where
    it is long, and the frame often empty, it is worth asking first.
    """
    plan = frame._jdf.queryExecution().optimizedPlan()
    return bool(plan.nodeName() == "LocalRelation" and plan.data().isEmpty())


def _without_size(kept: DataFrame) -> DataFrame:
    """The kept rows without what Spark thinks that they take.

    It multiplies the sizes of both sides of each join. Behind some joins the product is beyond any
    bound, and rows in one partition would be shuffled for the next one.
    """
    session = kept.sparkSession
    node = kept._jdf.logicalPlan()
    unknown = node.stream()  # None, as an Option
    anew = node.copy(
        node.output(), node.rdd(), node.outputPartitioning(), node.outputOrdering(), False,
        unknown, session._jsparkSession, unknown, unknown,
    )  # fmt: skip
    dataset = getattr(session.sparkContext._jvm, "org.apache.spark.sql.classic.Dataset")
    return DataFrame(dataset.ofRows(session._jsparkSession, anew), session)


def _without_past(persisted: DataFrame) -> DataFrame:
    """The rows of a persisted frame as the beginning of a new plan.

    What an executor held is computed again when it is lost, unlike behind a local checkpoint.
    """
    execution = persisted._jdf.queryExecution()
    session = persisted.sparkSession
    rows = session._jsparkSession.internalCreateDataFrame(
        execution.toRdd(), execution.analyzed().schema(), False
    )
    return DataFrame(rows, session)
