"""One short history of a real broker; `make soak` has all releases and all faults."""

from typing import Any

import pytest
from pyspark.sql import SparkSession
from stages.test_dumps import (  # noqa: F401
    audit_of,
    test_a_legal_history_has_no_violation,
    test_aborted_transactions_are_those_of_the_index,
    test_consumers_would_receive_what_consumers_received,
    test_coordinators_tell_what_they_told,
    test_leaders_tell_which_transactions_are_open,
    test_no_check_crashed_and_nothing_is_incomplete,
    test_ranges_and_last_stable_offsets_are_those_of_the_broker,
    test_the_export_gives_what_consumers_received,
)

from soak.plan import Plan, plan_of
from soak.run import make

VERSION, SECONDS = "4.1.0", 12


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("soak")
    archive = make(short(), folder)
    yield from audit_of(spark, archive, folder)


def short() -> Plan:
    """The first seed with one broker that is asked before it is copied."""
    plans = (plan_of(seed, VERSION, SECONDS) for seed in range(1, 100))
    return next(
        one
        for one in plans
        if (one.brokers, one.copied, one.kills, one.restarts) == (1, "clean_stop", (), ())
    )


def test_a_seed_gives_the_same_plan_again() -> None:
    assert plan_of(7) == plan_of(7)
    assert len({plan_of(seed).version for seed in range(40)}) >= 5
