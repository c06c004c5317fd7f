"""Findings that are repeated in a partition and prove nothing are one, with a count."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas.verdicts import VIOLATION

# So many findings of one kind in a partition are read one by one; more of them are a state of the
# log (it was trimmed, cleaned, or its clients' clocks are off) and no events.
FEW = 3
# Each of these says nothing that the first of a partition has not said.
ONCE = ("producer_timestamp_expired_state",)
# Of one kind are those that say the same of the same copy, and of one transactional id, each of
# which is somebody's application.
KIND = (
    "code", "severity", "verdict", "reason", "broker", "topic", "partition", "transactional_id",
)  # fmt: skip


# Findings of one kind in a partition, the first one first. Of what its batches do not tell apart,
# as of producers that a snapshot lacks, all that a finding says does.
IN_ORDER = (
    "offset_first", "offset_last", "byte_position", "file", "producer_id", "producer_epoch",
    "transactional_id", "message", "expected", "found",
)  # fmt: skip


def combined(findings: DataFrame) -> DataFrame:
    """Rows of FINDING_COLUMNS in, and fewer out: the first of a kind stands for all of it.

    A violation is never left out. Suspect and inconclusive findings of one kind are combined when
    there are more than FEW, those of ONCE always. The one that is left is the first by offset, with
    its own evidence; its message tells how many there are and how far they reach. Several of them
    have no common cause.
    """
    kind = Window.partitionBy(*KIND)
    in_order = kind.orderBy(*IN_ORDER)
    number, reach = F.col("number"), F.col("reach")
    most = F.when(F.col("code").isin(*ONCE), 1).otherwise(FEW)
    folded = (F.col("verdict") != VIOLATION) & (number > most)
    return (
        findings.withColumns(
            {
                "turn": F.row_number().over(in_order),
                "number": F.count(F.lit(1)).over(kind),
                "reach": F.max(F.coalesce("offset_last", "offset_first")).over(kind),
            }
        )
        .filter(~folded | (F.col("turn") == 1))
        .withColumn("message", F.when(folded, _counted(number, reach)).otherwise(F.col("message")))
        .withColumn("cause_id", F.when(~folded, F.col("cause_id")))
        .select(*findings.columns)
    )


def _counted(number: Column, reach: Column) -> Column:
    """The message of the first, and that it stands for more."""
    up_to = F.coalesce(F.concat(F.lit(", up to offset "), reach), F.lit(""))
    first_of, places = F.lit(" (The first of "), F.lit(" such places in this partition")
    more = F.concat(first_of, number, places, up_to, F.lit(".)"))
    return F.concat(F.col("message"), more)
