"""Bytes of a file that the decoder has read before: what was found is looked up once more."""

import errno
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from udfs.arrow.byte_range import ByteRange
from udfs.storage.open_file import open_file

SHORTER = "became shorter while it was audited"


@contextmanager
def read_again(
    root: str, below_root: str, start: int, length: int, size: int
) -> Iterator[ByteRange]:
    """The range [start, start + length) of a file of `size` bytes, as `ByteRange` has it.

    Raises OSError where the file has fewer by now: what a task makes of a part of it is no answer.
    """
    with open_file(root, below_root) as file:
        source = ByteRange(file, start, length, size)
        yield source
        if source.shrank:
            raise OSError(errno.EIO, f"{below_root} {SHORTER}")


def split_again(split: dict[str, Any]) -> AbstractContextManager[ByteRange]:
    """The same of a split of `schemas.log_row.SPLIT`."""
    place = split["root"], split["path"]
    return read_again(*place, split["start"], split["length"], split["file_size"])
