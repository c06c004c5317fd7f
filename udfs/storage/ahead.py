"""Small remote files are fetched ahead of their turn, so that a task waits for few of them."""

import io
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, BinaryIO

from udfs.storage.open_file import open_file
from udfs.storage.places import is_remote

# Files under way at a time, and the largest of them: together they bound the memory.
FILES_AHEAD = 16
FETCHED_BYTES = 1 << 20
# Files that are held in case they are asked for again.
FILES_KEPT = 64

Opener = Callable[[], BinaryIO]


def opened_ahead(splits: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Opener]]:
    """Each split of `schemas.log_row.SPLIT` with what opens its file, or raises OSError.

    Local files and large ones are opened when they are asked for, and read from there. The small
    remote ones of the column `beside` get `opened`, too.
    """
    waiting: deque[tuple[dict[str, Any], Opener]] = deque()
    with ThreadPoolExecutor(FILES_AHEAD) as readers:
        small = _SmallFiles(readers)
        for split in splits:
            opened = small.opener(split["root"], split["path"], split["file_size"])
            beside = [
                named | {"opened": small.opener(split["root"], named["path"], named["size"])}
                for named in split.get("beside") or ()
            ]
            waiting.append((split | {"beside": beside}, opened))
            if len(waiting) > FILES_AHEAD:
                yield waiting.popleft()
        yield from waiting


class _SmallFiles:
    """Fetches small remote files: a side file is asked for itself and with its segments."""

    def __init__(self, readers: ThreadPoolExecutor) -> None:
        self._readers = readers
        self._kept: OrderedDict[tuple[str, str], Future[bytes]] = OrderedDict()

    def opener(self, root: str, below_root: str, size: int) -> Opener:
        """What opens a file of `size` bytes."""
        if not is_remote(root) or size > FETCHED_BYTES:
            return partial(open_file, root, below_root)
        place = root, below_root
        if place not in self._kept:
            self._kept[place] = self._readers.submit(_content, root, below_root)
            if len(self._kept) > FILES_KEPT:
                self._kept.popitem(last=False)
        content = self._kept[place]
        return lambda: io.BytesIO(content.result())


def _content(root: str, below_root: str) -> bytes:
    with open_file(root, below_root) as file:
        return file.read()
