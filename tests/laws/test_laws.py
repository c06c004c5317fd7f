"""The laws themselves on bytes, and a seeded slice of what `make laws` runs at length."""

from pathlib import Path
from random import Random

import pytest
from log_builder import LogBuilder
from pyspark.sql import SparkSession

from laws import clean, head, logs, tail
from laws.catalogue import ALONE, LAWS, apply
from laws.dump_files import CLEANER, HIGH_WATERMARK, LOG_START, Directory, Dump, Partition
from laws.log_batches import batches
from laws.rename import PRODUCER_STEP, internal_partitions, packed
from laws.run import OWN, audit_laws, line, read_scenario

# Clients of seven kinds, TV0 to TV2, on one broker.
SLICE = "mixed-clients"
# Laws that take most away, of every side of a log; the others have `make laws`.
SLICED = ("delete_records", "earlier", "side_files", "clean", "mixed")
SEED = 1


def made(*lines: str, hw: int | None = None) -> tuple[Dump, Directory, Partition]:
    """A dump of one partition in the notation of the cases."""
    log = LogBuilder()
    for text in lines:
        log.add(text)
    one = Partition("t", 0, {f"{base:020}.log": bytes(of) for base, of in log.segments.items()})
    for base, content in log.index_files("auto").items():
        one.files[f"{base:020}.txnindex"] = content
    directory = Directory("clean", {}, [one])
    directory.set_checkpoint(HIGH_WATERMARK, {one.place: log.end if hw is None else hw})
    return Dump([directory]), directory, one


def offsets(one: Partition) -> list[tuple[int, int]]:
    return [(batch.base_offset, batch.count) for batch in logs.all_batches(one)]


def test_a_roll_changes_no_batch() -> None:
    _, directory, one = made("txn pid=1 n=2", "abort pid=1", "txn pid=1 n=3", "abort pid=1")
    before = [batch.content for batch in logs.all_batches(one)]
    assert head.roll(directory, one, Random(1), rolls=9)
    assert len(one.bases()) > 1
    assert [batch.content for batch in logs.all_batches(one)] == before
    assert [e.last_offset for base in one.bases() for e in logs.aborted(one, base)] == [2, 6]


def test_retention_deletes_whole_segments_below_the_high_watermark() -> None:
    dump, _, one = made("plain n=2", "roll", "plain n=2", "roll", "plain n=2", hw=2)
    for seed in range(20):
        copy = dump.copy()
        left = copy.directories[0].partitions[0]
        if head.retention(copy, copy.directories[0], left, Random(seed)):
            assert 0 < left.bases()[0] <= 2
            assert copy.directories[0].checkpoint(LOG_START) == {}
    assert one.bases() == [0, 2, 4]


def test_delete_records_moves_the_log_start_up_to_the_high_watermark() -> None:
    dump, _, _ = made("plain n=2", "roll", "plain n=2", "roll", "plain n=2", hw=5)
    starts = set()
    for seed in range(40):
        copy = dump.copy()
        directory, left = copy.directories[0], copy.directories[0].partitions[0]
        assert head.delete_records(copy, directory, left, Random(seed))
        starts.add(logs.log_start(directory, left))
        assert left.bases()[0] <= logs.log_start(directory, left)
    assert starts == {1, 2, 3, 4, 5}


def test_an_earlier_copy_ends_at_a_batch_or_inside_one() -> None:
    for torn in (0, 30):
        _, _, one = made("txn pid=1 n=2", "abort pid=1", "roll", "txn pid=1 n=3", "abort pid=1")
        tail.cut(one, 6, torn)
        assert offsets(one) == [(0, 2), (2, 1), (3, 3)]
        rest = len(one.segment(3)) - sum(len(batch.content) for batch in batches(one.segment(3)))
        assert rest == torn
        assert [e.last_offset for base in one.bases() for e in logs.aborted(one, base)] == [2]


def test_the_law_of_compaction_takes_records_and_says_how_far_it_came() -> None:
    log = ("txn pid=1 key=a n=2", "abort pid=1", "roll", "plain key=b", "roll", "plain key=b")
    left, passed = set(), set()
    for seed in range(30):
        dump, directory, one = made(*log, "roll", "plain key=z")
        if clean.clean(dump, directory, one, Random(seed), (3, 9), 10**13):
            left |= {tuple(offsets(one))}
            passed |= set(directory.checkpoint(CLEANER).values())
    assert passed == {5}
    assert any((0, 2) not in of and (3, 1) not in of for of in left)


def test_the_law_of_compaction_stops_at_the_high_watermark_and_at_open_transactions() -> None:
    for lines, hw, passed in (
        (("plain key=a", "roll", "plain key=a", "roll", "plain key=a"), 1, {1}),
        (("plain key=a", "roll", "txn pid=1 key=a", "roll", "plain key=a"), None, {1}),
    ):
        dump, directory, one = made(*lines, hw=hw)
        assert clean.clean(dump, directory, one, Random(1), (3, 9), 10**13)
        assert set(directory.checkpoint(CLEANER).values()) == passed


def test_a_renamed_copy_is_whole_and_has_names_of_its_own() -> None:
    scenario = read_scenario(OWN / f"{SLICE}.tar.gz")
    both = packed([scenario.dump, scenario.dump], internal_partitions(scenario.dump))
    first, second = both.directories
    assert {one.place for one in first.partitions} & {one.place for one in second.partitions} == (
        set()
    )
    for old, new in zip(first.partitions, second.partitions, strict=True):
        for one, other in zip(logs.all_batches(old), logs.all_batches(new), strict=True):
            assert (one.base_offset, one.last_offset) == (other.base_offset, other.last_offset)
            if one.producer_id >= 0:
                assert other.producer_id == one.producer_id + PRODUCER_STEP


def test_a_law_and_a_seed_make_the_same_bytes_again() -> None:
    scenario = read_scenario(OWN / f"{SLICE}.tar.gz")
    for law in (*LAWS, *ALONE):
        copies = [scenario.dump.copy(), scenario.dump.copy()]
        number = [apply(law, one, scenario.source, Random(SEED)) for one in copies]
        assert number[0] == number[1] > 0, law
        assert copies[0] == copies[1], law


@pytest.mark.spark
@pytest.mark.slow
def test_no_law_makes_a_violation_of_a_legal_history(spark: SparkSession) -> None:
    scenario = read_scenario(Path(OWN / f"{SLICE}.tar.gz"))
    told = audit_laws(spark, scenario, [(law, SEED) for law in SLICED])
    wrong = [
        line(SLICE, key, one)
        for key, of_law in told.items()
        for one in of_law.findings
        if one["verdict"] == "violation"
    ]
    assert wrong == []
    assert all(one.samples for one in told.values())
