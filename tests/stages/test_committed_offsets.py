"""Committed offsets as they stand at the end of `__consumer_offsets`, against the broker's answer.

Without Spark: what the decoder makes of all segments of a partition, put together.
"""

import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import pytest
from stages.test_dumps import BESIDE, COMMITTED, name_of

from schemas.topics import OFFSETS_TOPIC
from udfs.arrow.batches import DecodeOptions, decode_batches
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.frames import FrameWalker
from udfs.arrow.offsets_split import OffsetsSplit, offsets_split
from udfs.wire.offsets.offset_replay import Commits, Markers, take_effect

OPTIONS = DecodeOptions(oracle.LIMIT, oracle.LIMIT, 0, with_records=True)

Key = tuple[str, str, int]


def read(path: Path, partition: int) -> OffsetsSplit:
    size = path.stat().st_size
    split = {"start": 0, "partition": partition, "topic_partitions": 1, "file_index": 0}
    with path.open("rb", buffering=0) as file:
        source = ByteRange(file, 0, size, size)
        frames = FrameWalker(source, oracle.LIMIT, 0, 1 << 62).walk()
    decoded = decode_batches(source, frames.positions, OFFSETS_TOPIC, OPTIONS)
    return offsets_split(source, decoded, split, oracle.LIMIT)


def committed(folder: Path) -> dict[Key, int]:
    """What is committed at the end of a partition; what is pending is not."""
    keys: dict[Key, int] = {}
    parts: list[tuple[Commits, Markers]] = []
    for path in sorted(folder.glob("*.log")):
        split = read(path, int(folder.name.rpartition("-")[2]))
        commits, record = split.commits()
        assert list(split.faults()) == []
        names = [tuple(split.names(int(one)).values()) for one in record]
        numbers = [keys.setdefault(name, len(keys)) for name in names]
        parts.append((commits._replace(key=np.array(numbers, dtype=np.int64)), split.markers()))
    if not parts:
        return {}
    commits = Commits(*map(np.concatenate, zip(*[part for part, _ in parts], strict=True)))
    markers = Markers(*map(np.concatenate, zip(*[part for _, part in parts], strict=True)))
    effect, _ = take_effect(commits, markers)
    last = effect.record[effect.ordinal == effect.number - 1]
    named = {number: key for key, number in keys.items()}
    return {
        named[int(commits.key[i])]: int(commits.committed[i])
        for i in last
        if not commits.tombstone[i]
    }


@pytest.mark.parametrize("path", COMMITTED + BESIDE, ids=name_of)
def test_groups_have_committed_what_the_broker_answers(path: Path, tmp_path: Path) -> None:
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    scenario = tmp_path / name_of(path)
    answer: list[dict[str, Any]] = json.loads((scenario / "oracle/groups.json").read_text())
    if oracle.about(scenario)["dump"] != "clean_stop" or not answer:
        pytest.skip("the broker was asked at another moment, or no group has committed")
    told: dict[Key, int] = {}
    for one in oracle.partitions(scenario):
        if one["topic"] == OFFSETS_TOPIC:
            name = f"{one['topic']}-{one['partition']}"
            told |= committed(oracle.folder_of(scenario, one["leader"], name))
    answered = {(one["group"], one["topic"], one["partition"]): one["offset"] for one in answer}
    assert {key: told[key] for key in answered} == answered
