"""What was derived of affected records: applications that read, process and write."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
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
from jobs.model.batch_heads import batch_heads
from jobs.model.settings import load as load_settings
from jobs.report import incident_text
from jobs.report.incidents import incidents
from udfs.wire.batches import batch_layout as layout

pytestmark = [pytest.mark.slow, pytest.mark.spark]
Tables = dict[str, list[Any]]


@pytest.fixture(scope="module")
def told(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """The tables of the incidents of all stories, which are audited together."""
    folder = tmp_path_factory.mktemp("applications")
    applications.write_stories(folder)
    return tables_of(spark, folder)


def tables_of(spark: SparkSession, folder: Path) -> Tables:
    """The tables of incidents of a dump of stories."""
    wanted = Request([folder], "", applications.AS_OF, "records", load_settings())
    audit = main.audit(spark, wanted, Progress(None, quiet=True))
    named, tables = with_incidents(audit, result_tables(spark, audit))
    names = ("incident", "consequence", "affected", "affected_group", "incident_event")
    rows = {name: tables[name].collect() for name in names if name in tables}
    rows["line"] = lines = list(named.verdict.incidents)
    by_number = {line.incident: line for line in lines}
    read = incidents(lambda name: tables[name]) if "incident" in tables else ()
    rows["text"] = [incident_text.told(one, by_number[one.incident]) for one in read]
    audit.release()
    return rows


def of(story: str, told: Tables) -> Tables:
    """What the tables tell of one story, without the story in front of the names."""

    def plain(row: Any) -> SimpleNamespace:
        values = row.asDict().items()
        return SimpleNamespace(
            **{key: of.replace(story, "") if isinstance(of, str) else of for key, of in values}
        )

    rows = {name: [row for row in told[name] if (row.topic or "").startswith(story)]
            for name in told if name not in ("incident", "line", "text")}  # fmt: skip
    rows["incident"] = [row for row in told["incident"] if story in stories_of(row)]
    return {name: [plain(row) for row in mine] for name, mine in rows.items()}


def stories_of(incident: Any) -> list[str]:
    return sorted({topic.partition(".")[0] + "." for topic in incident.topics})


def test_what_shares_nothing_is_no_incident_together(told: Tables) -> None:
    """Both logs of the unclean elections were cut by the same leader."""
    stories = {tuple(stories_of(row)) for row in told["incident"]}
    assert stories <= {("chain.",), ("merged.",), ("twice.",), tuple(applications.UNCLEAN)}


def test_one_visible_aborted_record_is_followed_through_three_applications_and_a_cycle(
    told: Tables,
) -> None:
    tables = of("chain.", told)
    (visible,) = tables["consequence"]
    assert (visible.kind, visible.topic) == ("aborted_records_visible", "orders")
    assert (visible.first_offset, visible.last_offset, visible.records) == (4, 4, 1)
    found = {row.topic: row for row in tables["affected"]}
    # Only what was written since: the first transaction of each had read nothing wrong.
    ranges = {
        topic: (row.state, row.first_offset, row.last_offset, row.transactions, row.records)
        for topic, row in found.items()
    }
    assert ranges == {
        "enriched": ("suspect", 2, 5, 2, 3),
        "joined": ("suspect", 2, 3, 1, 2),
        "sums": ("suspect", 2, 4, 1, 3),
        "orders": ("suspect", 8, 8, 1, 1),
        "notes": ("clean", None, None, None, 0),
    }
    steps = ["orders-0", "first-1", "enriched-0", "next-2", "joined-0", "sums-3", "sums-0"]
    assert found["sums"].path == " > ".join(steps)
    assert (found["sums"].depth, found["sums"].application) == (3, "sums-3")
    assert found["orders"].path == " > ".join([*steps, "again-4", "orders-0"])
    derived = {row.group for row in tables["affected_group"] if row.kind == "derived_records"}
    assert derived == {"first-1", "next-2", "sums-3", "again-4"}
    reads = [row for row in tables["incident_event"] if row.event == "read_by_group"]
    assert {row.detail for row in reads} == derived
    assert min(row.at_ms for row in reads) > visible.since_ms


def test_the_text_names_groups_that_read_what_was_derived(told: Tables) -> None:
    (text,) = [one for one in told["text"] if "chain.orders" in one]
    of_group = [line for line in text.splitlines() if line.startswith("  chain.next-2 ")]
    assert any("derived of affected ones" in line for line in of_group), text


def cleaned(directory: Path) -> None:
    (directory / "cleaner-offset-checkpoint").write_text(f"0\n1\n{applications.OFFSETS} 0 9\n")


def damaged(directory: Path) -> None:
    """All commits of `chain.` but the first of each producer."""
    for segment in (directory / f"{applications.OFFSETS}-0").glob("*.log"):
        content, met = bytearray(segment.read_bytes()), set()
        for head in list(batch_heads(BytesIO(content), len(content))):
            end = head.position + head.size
            batch = bytes(content[head.position : end])
            producer_id = batch[layout.PRODUCER_ID : layout.PRODUCER_EPOCH]
            if b"chain." in batch and producer_id in met:
                content[end - 1] ^= 0xFF
            met.add(producer_id)
        segment.write_bytes(content)


UNTRACED = ("unknown", None, None, None)
# All that was written since the affected record was, whatever its producers had read by then.
SINCE = {
    "enriched": ("suspect", 2, 5, 3),
    "joined": ("suspect", 2, 3, 2),
    "sums": ("suspect", 2, 4, 3),
    "orders": ("suspect", 8, 8, 1),
    "notes": UNTRACED,
}
# No commit that can be read tells that anybody had read it.
NOBODY = dict.fromkeys(("enriched", "joined", "sums", "notes"), UNTRACED)


@pytest.mark.parametrize(
    ("lose", "expected", "groups"),
    [
        (cleaned, SINCE, None),
        (damaged, NOBODY, "offsets 6 to 6 of __consumer_offsets-0 and 3 more ranges"),
    ],
)
def test_where_commits_may_be_gone_the_first_reader_is_unknown(
    spark: SparkSession,
    tmp_path: Path,
    lose: Callable[[Path], None],
    expected: Tables,
    groups: str | None,
) -> None:
    applications.write_stories(tmp_path)
    for folder in tmp_path.rglob(f"{applications.OFFSETS}-0"):
        lose(folder.parent)
    told = tables_of(spark, tmp_path)
    found = {
        row.topic: (row.state, row.first_offset, row.last_offset, row.records)
        for row in of("chain.", told)["affected"]
    }
    assert found == expected
    reasons = {line.groups_unknown for line in told["line"]}
    assert len(reasons) == 1
    assert str(reasons.pop()).startswith(str(groups))


def test_two_breaks_an_hour_apart_are_two_incidents_with_their_own_consequences(
    told: Tables,
) -> None:
    tables = of("twice.", told)
    first, second = tables["incident"]
    assert first.kind == second.kind == "skipped_markers"
    assert first.title != second.title
    assert tables["affected"] == []
    effects = {row.incident: row for row in tables["consequence"]}
    ranges = [(one.first_offset, one.last_offset, one.records) for one in effects.values()]
    assert sorted(ranges) == [(0, 0, 1), (4, 5, 2)]
    assert {row.incident for row in tables["incident_event"]} == set(effects)


@pytest.mark.parametrize("story", applications.UNCLEAN)
def test_what_only_the_old_leader_has_is_lost_whoever_wrote_it(told: Tables, story: str) -> None:
    tables = of(story, told)
    assert {row.kind for row in tables["incident"]} == {"unclean_election"}
    lost = [
        (row.topic, row.broker, row.transactions, row.records, row.first_offset, row.last_offset)
        for row in tables["consequence"]
        if row.kind == "records_lost" and row.provable
    ]
    assert sorted(lost) == [("orders", 1, 1, 2, 19, 20), ("orders", 1, 1, 3, 8, 10)]
    (plain,) = [row for row in tables["consequence"] if row.kind == "plain_records_lost"]
    assert (plain.topic, plain.broker, plain.transactions, plain.records) == ("orders", 1, None, 7)
    assert (plain.first_offset, plain.last_offset, plain.provable) == (12, 18, True)


def test_transactions_that_share_an_epoch_are_counted_where_the_log_shows_them(
    told: Tables,
) -> None:
    tables = of("merged.", told)
    found = {(row.topic, row.kind): row for row in tables["consequence"]}
    assert set(found) == {
        ("orders", "aborted_records_visible"), ("parts", "committed_records_invisible"),
    }  # fmt: skip
    merged = found["orders", "aborted_records_visible"]
    # Which of the records between two markers were the aborted ones, nothing tells.
    assert (merged.transactions, merged.records, merged.provable) == (1, None, False)
    assert (merged.first_offset, merged.last_offset) == (5, 11)
    hidden = found["parts", "committed_records_invisible"]
    assert (hidden.transactions, hidden.records, hidden.provable) == (1, 2, True)


def test_downstream_is_what_any_reader_wrote_and_never_the_root_itself() -> None:
    a, b, c, d = (("a", 0), ("b", 0), ("c", 0), ("d", 0))
    reads = [Reads("one", a, 1), Reads("two", b, 2), Reads("other", d, 3)]
    outputs = {1: {b, a}, 2: {c, a}, 3: {d}}
    assert downstream([a], reads, outputs) == {
        b: ("a-0", "one", "b-0"),
        c: ("a-0", "one", "b-0", "two", "c-0"),
    }
