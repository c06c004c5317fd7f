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
        ("t-0-1", {"t_0": 3}, IDS[0], True),
        ("__cluster_metadata-0-20261121", {"t_0": 3}, None, True),
        ("t.bak-0", {"t_0": 3}, IDS[0], True),
        # The broker lists it.
        ("t-0-1", {"t_0": 3, "t-0_1": 3}, None, False),
        # It may be new: a checkpoint is written every few seconds.
        ("u-0", {"t_0": 3}, IDS[1], False),
        ("u-0", {"t_0": 3}, None, False),
        ("t-1", {"t_0": 3}, IDS[0], False),
        ("v-0-1", {"t_0": 3}, None, False),
        # Which of the two is the copy, nothing tells.
        ("t.bak-0", {}, IDS[0], False),
    ],
)
def test_a_folder_that_somebody_copied_is_no_partition(
    tmp_path: Path, name: str, marks: dict[str, int], topic_id: str | None, copied: bool
) -> None:
    broker = directory(tmp_path, **marks)
    partition(broker / "t-0", 3, topic_id=IDS[0])
    partition(broker / name, 3, **({} if topic_id is None else {"topic_id": topic_id}))
    dump = collect([tmp_path])
    left_out = {one.path.split("/")[0] for one in dump.files if one.note == COPIED}
    assert left_out == ({name} if copied else set())
    assert len(dump.partitions) == 2 - copied
    assert (
        all(one.status == "skipped" for one in dump.files if one.path.startswith(f"{name}/"))
        == copied
    )
