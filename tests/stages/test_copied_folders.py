"""Copies of a partition's folder under another name, in the log directory of their broker."""

from pathlib import Path

import pytest
from test_second_copies import IDS, directory, partition

from jobs.collect.collect import collect
from jobs.collect.copied_folders import COPIED


@pytest.mark.parametrize(
    ("name", "marks", "topic_id", "copied"),
    [
        ("t-0-20261121", {"t_0": 3}, None, True),
        ("t-0-2026-11-21", {"t_0": 3}, None, True),
        ("t-0-20261121", {"t_0": 3}, IDS[0], True),
        ("t-0-1", {"t_0": 3}, IDS[0], True),
        ("__cluster_metadata-0-20261121", {"t_0": 3}, None, True),
        ("t.bak-0", {"t_0": 3}, IDS[0], True),
        # The broker lists it.
        ("t-0-20261121", {"t_0": 3, "t-0_20261121": 3}, None, False),
        # It may be new: a checkpoint is written every few seconds.
        ("t-0-1", {"t_0": 3}, IDS[1], False),
        ("t-0-20261121", {"t_0": 3}, IDS[1], False),
        ("t-0-1", {"t_0": 3}, None, False),
        ("u-0", {"t_0": 3}, IDS[1], False),
        ("u-0", {"t_0": 3}, None, False),
        ("t-1", {"t_0": 3}, IDS[0], False),
        ("v-0-20261121", {"t_0": 3}, None, False),
        # Which of the two is the copy, nothing tells.
        ("t.bak-0", {}, IDS[0], False),
    ],
)
@pytest.mark.parametrize("place", ["", "backup", "other"])
def test_a_folder_that_somebody_copied_is_no_partition(
    tmp_path: Path,
    place: str,
    name: str,
    marks: dict[str, int],
    topic_id: str | None,
    copied: bool,
) -> None:
    """place: in the log directory, in a folder there, or in another log directory of the broker."""
    broker = directory(tmp_path / "broker", **marks)
    partition(broker / "t-0", 3, topic_id=IDS[0])
    there = broker / place if place != "other" else directory(tmp_path / "other")
    partition(there / name, 3, **({} if topic_id is None else {"topic_id": topic_id}))
    # A broker that starts loads it, and writes it into this checkpoint, but hosts it not.
    if copied:
        (there / "recovery-point-offset-checkpoint").write_text("0\n1\nt-0 20261121 3\n")
    dump = collect([tmp_path])
    left_out = {one.path.split("/")[-2] for one in dump.files if one.note == COPIED}
    assert left_out == ({name} if copied else set())
    assert len(dump.partitions) == 2 - copied
    skipped = [one.status == "skipped" for one in dump.files if f"/{name}/" in one.path]
    assert skipped == [copied] * len(skipped)


def test_a_backup_beside_the_log_directory_is_known_by_its_topic_id(tmp_path: Path) -> None:
    partition(directory(tmp_path / "broker", t_0=3) / "t-0", 3, topic_id=IDS[0])
    partition(tmp_path / "backup" / "t-0-1", 3, topic_id=IDS[0])
    partition(tmp_path / "backup" / "t-0-2", 3, topic_id=IDS[1])
    dump = collect([tmp_path])
    assert sorted((one.topic, one.partition) for one in dump.partitions) == [("t", 0), ("t-0", 2)]


def test_what_another_broker_lists_is_a_partition(tmp_path: Path) -> None:
    partition(directory(tmp_path / "broker", t_0=3, u_0=3) / "t-0", 3, topic_id=IDS[0])
    partition(tmp_path / "other" / "u-0", 3, topic_id=IDS[0])
    assert len(collect([tmp_path]).partitions) == 2


def test_an_id_of_two_listed_topics_tells_nothing(tmp_path: Path) -> None:
    broker = directory(tmp_path / "broker", t_0=3, u_0=3)
    for name in ("t-0", "u-0", "v-0"):
        partition(broker / name, 3, topic_id=IDS[0])
    assert len(collect([tmp_path]).partitions) == 3
