"""Rows of small splits are joined before they leave the task."""

import pyarrow as pa
import pytest

from schemas import log_row
from udfs.arrow import read_pack
from udfs.arrow.rows import ARROW_SCHEMA, RowBuilder, Rows, whole_rows


def parts() -> list[Rows]:
    """Of three files each a summary, and damage of different sizes."""
    made = []
    for number in range(3):
        rows = RowBuilder({"partition_index": None, "file_index": number, "start": number * 7})
        damage = [{"first_byte": one, "reason": "x" * one} for one in range(number)]
        made += [
            rows.nested(log_row.FAILURE, "failure", damage),
            rows.nested(log_row.SUMMARY, "summary", [{"length": number, "error": None}]),
        ]
    return made


@pytest.mark.parametrize(
    ("held_parts", "held_bytes", "number"), [(200, 1 << 20, 1), (2, 1 << 20, 3), (200, 1, 5)]
)
def test_all_rows_are_there_in_fewer_batches(
    monkeypatch: pytest.MonkeyPatch, held_parts: int, held_bytes: int, number: int
) -> None:
    monkeypatch.setattr(read_pack, "JOINED_PARTS", held_parts)
    monkeypatch.setattr(read_pack, "JOINED_BYTES", held_bytes)
    joined = list(read_pack._joined(iter(parts())))
    assert len(joined) == number
    for one in joined:
        one.validate(full=True)
        assert one.schema == ARROW_SCHEMA

    def rows(of: list[pa.RecordBatch]) -> list[str]:
        told = [row for batch in of for row in batch.to_pylist()]
        return sorted(repr({k: v for k, v in row.items() if v is not None}) for row in told)

    assert rows(joined) == rows([whole_rows([part]) for part in parts() if part.size])
    kinds = joined[0].column("kind").to_pylist()
    assert kinds == sorted(kinds), "those of a kind lie together"


def test_no_rows_are_no_batch() -> None:
    assert list(read_pack._joined(iter([]))) == []
