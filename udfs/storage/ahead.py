"""Small remote files are fetched ahead of their turn, so that a task waits for few of them."""

import io
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, BinaryIO

from udfs.storage.open_file import open_file
from udfs.storage.places import is_remote

# Files under way at a time, and the largest of them: together they bound the memory.
FILES_AHEAD = 16
FETCHED_BYTES = 1 << 20

Opener = Callable[[], BinaryIO]


def opened_ahead(splits: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Opener]]:
    """Each split of `schemas.log_row.SPLIT` with what opens its file, or raises OSError.

    Local files and large ones are opened when they are asked for, and read from there.
    """
    waiting: deque[tuple[dict[str, Any], Opener]] = deque()
    with ThreadPoolExecutor(FILES_AHEAD) as readers:
        for split in splits:
            root, below_root = split["root"], split["path"]
            if is_remote(root) and split["file_size"] <= FETCHED_BYTES:
                waiting.append((split, readers.submit(_fetched, root, below_root).result))
            else:
                waiting.append((split, partial(open_file, root, below_root)))
            if len(waiting) > FILES_AHEAD:
                yield waiting.popleft()
        yield from waiting


def _fetched(root: str, below_root: str) -> BinaryIO:
    with open_file(root, below_root) as file:
        return io.BytesIO(file.read())
