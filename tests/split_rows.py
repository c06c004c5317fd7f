"""Rows of one split, as a task gives them to Spark."""

from typing import Any, BinaryIO

from udfs.arrow.batches import DecodeOptions
from udfs.arrow.read_pack import read_split
from udfs.arrow.rows import whole_rows


def rows_of_split(
    file: BinaryIO, split: dict[str, Any], options: DecodeOptions
) -> list[dict[str, Any]]:
    """Rows of `schemas.log_row.LOG_ROW`, those of a kind in their order."""
    rows: list[dict[str, Any]] = whole_rows(read_split(file, split, options)).to_pylist()
    return rows
