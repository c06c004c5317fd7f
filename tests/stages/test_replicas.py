"""Which copies of a dump are compared with each other, and between which offsets."""

from pathlib import Path

from jobs.collect.collect import collect
from jobs.model.dump import DumpPartition
from jobs.model.replicas import MAX_OFFSET, cuts, replica_sets


def broker(folder: Path, number: int, cluster: str, topic_id: str | None = None) -> None:
    """A log directory with one partition `t-0`."""
    partition = folder / f"broker-{number}" / "t-0"
    partition.mkdir(parents=True)
    (partition / "00000000000000000000.log").touch()
    properties = f"version=1\nnode.id={number}\ncluster.id={cluster}\n"
    (partition.parent / "meta.properties").write_text(properties)
    if topic_id is not None:
        (partition / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")


def sets(folder: Path) -> list[list[int | None]]:
    return [[one.broker for one in copies] for copies in replica_sets(collect([folder]))]


def test_copies_of_several_brokers_belong_together(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        broker(tmp_path, number, "here")
    assert sets(tmp_path) == [[1, 2, 3]]


def test_a_cluster_is_compared_with_itself_only(tmp_path: Path) -> None:
    for number, cluster in ((1, "here"), (2, "there"), (3, "here")):
        broker(tmp_path, number, cluster)
    assert sets(tmp_path) == [[1, 3]]


def test_topic_ids_are_read_where_there_is_something_to_compare(tmp_path: Path) -> None:
    broker(tmp_path / "one", 1, "here", "id-1")
    for number in (1, 2):
        broker(tmp_path / "two", number, "here", f"id-{number}")
    alone, both = (collect([tmp_path / name]).partitions for name in ("one", "two"))
    assert [one.topic_id for one in alone] == [None]
    assert [one.topic_id for one in both] == ["id-1", "id-2"]


def test_a_partition_metadata_that_is_none_is_reported(tmp_path: Path) -> None:
    for number, said in ((1, "\\uZZZZ"), (2, "x" * 5000)):
        broker(tmp_path, number, "here", said)
    dump = collect([tmp_path])
    assert [one.topic_id for one in dump.partitions] == [None, None]
    assert [problem.split(":")[0] for problem in dump.unreadable] == [
        "broker-1/t-0/partition.metadata",
        "broker-2/t-0/partition.metadata",
    ]


def copy(
    folder: Path, first: int, high_watermark: int | None, cleaner: int | None = None
) -> DumpPartition:
    """A copy whose first segment begins at `first`."""
    name = f"{first:020}.log"
    place = folder / f"{first}-{high_watermark}-{cleaner}" / "t-0"
    place.mkdir(parents=True)
    (place / name).touch()
    (one,) = collect([place.parent]).partitions
    one.high_watermark, one.cleaner_checkpoint = high_watermark, cleaner
    return one


def test_compared_is_what_at_least_two_copies_have(tmp_path: Path) -> None:
    long, short, late = copy(tmp_path, 0, 90), copy(tmp_path, 0, 40), copy(tmp_path, 20, 70)
    assert cuts([long, short, late]) == [0, 20, 40, 70]
    assert cuts([long, late]) == [20, 70]
    assert cuts([short, copy(tmp_path, 40, 70)]) == []
    assert cuts([long]) == []


def test_what_the_cleaner_has_passed_is_not_compared(tmp_path: Path) -> None:
    assert cuts([copy(tmp_path, 0, 90, cleaner=30), copy(tmp_path, 0, 80, cleaner=60)]) == [60, 80]


def test_without_a_high_watermark_nothing_bounds_the_comparison(tmp_path: Path) -> None:
    unknown = [copy(tmp_path, first, None) for first in (0, 5)]
    assert cuts(unknown) == [5, MAX_OFFSET]
