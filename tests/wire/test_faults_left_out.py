"""Of very many faults of one file some are rows, the rest is counted."""

import io
from collections import Counter
from typing import Any

import numpy as np
import pytest
from split_rows import rows_of_split

from jobs.audit.coverage import by_decoder
from jobs.model.cluster import Clusters
from schemas import log_row
from tests.wire.test_wire_odd_files import OPTIONS, samples
from tests.wire_writer import batches as writer
from udfs.arrow import segment, side_files

BATCHES = 7


def rows(kind: str, content: bytes) -> list[dict[str, Any]]:
    split = next(split for file, split, _ in samples() if file.kind == kind)
    whole = {"start": 0, "length": len(content), "file_size": len(content), "base_offset": 0}
    return rows_of_split(io.BytesIO(content), split | whole, OPTIONS)


def log(step: int) -> bytes:
    """Batches of one record; from one to the next as many offsets."""
    return b"".join(
        writer.batch(step * n, [writer.record(0, 0)], base_timestamp=9) for n in range(BATCHES)
    )


def gaps(found: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    steps = [one["offset_discontinuity"] for one in found
             if one["kind"] == log_row.OFFSET_DISCONTINUITY]  # fmt: skip
    return [
        (one["discontinuity"], one["previous_last_offset"], one["base_offset"]) for one in steps
    ]


def left_out(found: list[dict[str, Any]]) -> int:
    (summary,) = [one["summary"] for one in found if one["kind"] == log_row.SUMMARY]
    return int(summary["faults_left_out"])


def test_gaps_behind_the_last_that_is_told_are_one_range(monkeypatch: pytest.MonkeyPatch) -> None:
    found = rows("segment", log(10))
    assert [kind for kind, *_ in gaps(found)] == ["gap"] * (BATCHES - 1)
    assert left_out(found) == 0
    monkeypatch.setattr(segment, "MAX_DISCONTINUITIES", 2)
    found = rows("segment", log(10))
    rest = (log_row.GAPS_LEFT_OUT, 20, 60)
    assert gaps(found) == [("gap", 0, 10), ("gap", 10, 20), rest]
    assert left_out(found) == BATCHES - 3


def test_a_log_without_gaps_leaves_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment, "MAX_DISCONTINUITIES", 2)
    found = rows("segment", log(1))
    assert gaps(found) == []
    assert left_out(found) == 0


@pytest.mark.parametrize(("entries", "told"), [(2, 1), (6, 3)])
def test_wrong_entries_of_an_index_are_counted(
    monkeypatch: pytest.MonkeyPatch, entries: int, told: int
) -> None:
    monkeypatch.setattr(side_files, "MAX_FAULTS", 3)
    falling = np.array([[100 - n, 100 - n] for n in range(entries)], dtype=">i4").tobytes()
    found = rows("offset_index", falling)
    kinds = Counter(one["kind"] for one in found)
    assert kinds[log_row.SIDE_FAULT] == told
    assert left_out(found) == entries - 1 - told


@pytest.mark.parametrize(("number", "sentences"), [(0, 0), (12_345, 1)])
def test_what_is_only_counted_is_not_looked_at(number: int, sentences: int) -> None:
    class Made:
        skipped_group_records, faults_left_out, clusters = 0, number, Clusters()

    made: Any = Made()
    said = list(by_decoder(made))
    assert len(said) == sentences
    assert all(one.startswith("12,345 more places") for one in said)
