"""What was derived of affected records: applications that read, process and write."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import applications
import pytest
from pyspark.sql import SparkSession

from jobs import main
from jobs.audit.audit import Request
from jobs.audit.incidents import with_incidents
from jobs.audit.write import result_tables
from jobs.cli.progress import Progress
from jobs.incidents.downstream import Reads, downstream
from jobs.model.settings import load as load_settings

pytestmark = pytest.mark.spark
Tables = dict[str, list[Any]]


@pytest.fixture
def told(spark: SparkSession, tmp_path: Path) -> Callable[..., Tables]:
    """The tables of the incidents of made applications."""

    def audited(made: applications.Applications) -> Tables:
        made.write(tmp_path / "broker-1")
        wanted = Request([tmp_path], "", applications.AS_OF, "records", load_settings())
        audit = main.audit(spark, wanted, Progress(None, quiet=True))
        _, tables = with_incidents(audit, result_tables(spark, audit))
        names = ("violation", "incident", "consequence", "affected", "affected_group")
        rows = {name: tables[name].collect() for name in names if name in tables}
        audit.release()
        return rows

    return audited


def test_one_visible_aborted_record_is_followed_through_three_applications(
    told: Callable[..., Tables],
) -> None:
    tables = told(applications.chain())
    (visible,) = tables["consequence"]
    assert (visible.kind, visible.topic) == ("aborted_records_visible", "orders")
    assert (visible.first_offset, visible.last_offset, visible.records) == (4, 4, 1)
    found = {row.topic: row for row in tables["affected"]}
    assert {topic: row.state for topic, row in found.items()} == {
        "enriched": "suspect", "joined": "suspect", "sums": "suspect", "notes": "clean",
    }  # fmt: skip
    assert (
        found["sums"].path
        == "orders-0 > first-1 > enriched-0 > next-2 > joined-0 > sums-3 > sums-0"
    )
    assert (found["sums"].depth, found["sums"].application) == (3, "sums-3")
    # Only what was written since: the first transaction of each had read nothing wrong.
    ranges = {
        topic: (row.first_offset, row.last_offset, row.transactions, row.records)
        for topic, row in found.items()
    }
    assert ranges == {
        "enriched": (2, 3, 1, 2), "joined": (2, 3, 1, 2), "sums": (2, 4, 1, 3),
        "notes": (None, None, None, 0),
    }  # fmt: skip
    derived = {row.group for row in tables["affected_group"] if row.kind == "derived_records"}
    assert derived == {"next-2", "sums-3"}


def test_a_cycle_ends(told: Callable[..., Tables]) -> None:
    tables = told(applications.chain(cycle=True))
    found = {row.topic: row for row in tables["affected"]}
    assert {topic for topic, row in found.items() if row.state == "suspect"} == {
        "enriched", "joined", "sums", "orders",
    }  # fmt: skip
    assert found["orders"].path.endswith("sums-0 > again-4 > orders-0")
    assert found["enriched"].records == 3


def test_of_a_healthy_chain_nothing_is_told(told: Callable[..., Tables]) -> None:
    tables = told(applications.chain(healthy=True))
    assert [row for row in tables.pop("violation") if row.verdict == "violation"] == []
    assert tables == {}


def test_downstream_is_what_any_reader_wrote_and_never_the_root_itself() -> None:
    a, b, c, d = (("a", 0), ("b", 0), ("c", 0), ("d", 0))
    reads = [Reads("one", a, 1), Reads("two", b, 2), Reads("other", d, 3)]
    outputs = {1: {b, a}, 2: {c, a}, 3: {d}}
    assert downstream([a], reads, outputs) == {
        b: ("a-0", "one", "b-0"),
        c: ("a-0", "one", "b-0", "two", "c-0"),
    }
