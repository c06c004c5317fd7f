"""Conditions: what another copy, another moment or an answer of a broker explains."""

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.conditions.missing import marker_missing_between, missing_behind
from jobs.verify.verdict import (
    CLEANED_RANGE,
    CONFIG_UNKNOWN,
    DUMP_BEFORE_EVENT,
    MISSING_RANGE,
    NO_INITIAL_STATE,
    REPLICA_LAGS,
    UNSTABLE_TAIL,
    Excuse,
    explained,
    inconclusive,
)
from schemas.dump_partition import CLEANED, CLEANING_UNKNOWN
from udfs.rules.clock import clocks_apart
from udfs.rules.extent import MAX_OFFSET
from udfs.rules.logic import surely


def one_instant(coordinator_clean_shutdown: str) -> Column:
    """Whether partition and coordinator log are of one moment: one broker, stopped cleanly."""
    return F.col("single_broker") & F.col("clean_shutdown") & F.col(coordinator_clean_shutdown)


def apart_ms(tolerance: Column, one_broker: str = "alone_in_cluster") -> Column:
    """How far the clocks of coordinator and partition may be apart, ms.

    `one_broker`: whether both are one broker; single_broker where the coordinator's record is
    sought in all of the dump. It has one clock.
    """
    apart: Column = clocks_apart(surely(F.col(one_broker)), tolerance)
    return apart


def judged_on_a_longer_copy() -> Excuse:
    """A transaction that is open at the end of a copy is judged on the longest copy."""
    return explained(REPLICA_LAGS, lambda: F.col("outlasted"))


def lies_in_told_copy() -> tuple[Excuse, ...]:
    """What a leader told can be compared with its copy from `begins` on (context `told`).

    The copy begins there or before, lacks nothing behind it, and goes up to the high watermark
    that was told before it was fetched. A copy that was damaged or cut later does not.
    """
    return (
        inconclusive(
            NO_INITIAL_STATE,
            lambda: F.col("begins") < F.greatest("first_base", "log_start_offset"),
        ),
        inconclusive(
            DUMP_BEFORE_EVENT,
            lambda: F.coalesce(
                F.col("data_end_offset") < F.col("told_high_watermark"), F.lit(True)
            ),
        ),
        # An emptied marker still ended something: the leader knows what.
        inconclusive(
            MISSING_RANGE,
            lambda: (
                missing_behind(F.col("begins") - 1)
                | (
                    F.col("producer_id").isNotNull()
                    & marker_missing_between(F.col("begins"), F.lit(MAX_OFFSET))
                )
            ),
        ),
    )


def taken_from_the_leader() -> tuple[Excuse, ...]:
    """The cleaner may have taken from the leader what an earlier run had fetched (context `told`).

    A replica that reads a cleaned log, and leads later, takes nothing from a marker that is empty
    (`ProducerAppendInfo.append`) or from data that are gone. What one run fetched while the leader
    stayed the same, that leader has read too.
    """

    def compacted() -> Column:
        return (F.col("cleaning") == CLEANED) | F.col("compacted_once")

    def may_be() -> Column:
        return F.col("cleaning") == CLEANING_UNKNOWN

    return (
        inconclusive(CLEANED_RANGE, lambda: F.col("of_earlier_run") & compacted()),
        inconclusive(CONFIG_UNKNOWN, lambda: F.col("of_earlier_run") & may_be()),
    )


def not_replicated_yet(when: Callable[[], Column]) -> Excuse:
    """A leader knows what lies above its high watermark, which nobody can fetch."""
    return inconclusive(UNSTABLE_TAIL, when)
