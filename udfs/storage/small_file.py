"""The one reader of small files beside a log: bounded in size and in time, whatever lies there."""

import errno
import time
from typing import BinaryIO

from udfs.storage.dump_path import DumpPath, root_and_below
from udfs.storage.open_file import open_file
from udfs.storage.remote_path import RemotePath

# A checkpoint of 100,000 partitions has some 5 MiB.
LARGEST_BYTES = 1 << 24
# Some files of a kernel look regular and never end, or come a byte at a time.
LONGEST_SECONDS = 60.0
CHUNK_BYTES = 1 << 20


def read_small(path: DumpPath, largest: int = LARGEST_BYTES) -> bytes:
    """All of a regular file of at most `largest` bytes; a link to one is followed.

    Raises OSError, whose `strerror` is a sentence; FileNotFoundError where nothing is there.
    """
    if isinstance(path, RemotePath):
        if path.is_dir():
            raise OSError(errno.EISDIR, "a folder where a file is expected", str(path))
        size = path.stat().st_size
        if size > largest:
            raise _too_large(path, largest)
        return path.read_bytes()
    with open_file(*root_and_below(path)) as file:
        content = _read(file, largest + 1)
    if len(content) > largest:
        raise _too_large(path, largest)
    return content


def _read(file: BinaryIO, most: int) -> bytes:
    parts: list[bytes] = []
    size, until = 0, time.monotonic() + LONGEST_SECONDS
    while size < most:
        part = file.read(min(CHUNK_BYTES, most - size))
        if not part:
            break
        parts.append(part)
        size += len(part)
        if time.monotonic() > until:
            raise TimeoutError(errno.ETIMEDOUT, f"not read after {LONGEST_SECONDS:.0f} s")
    return b"".join(parts)


def _too_large(path: DumpPath, largest: int) -> OSError:
    why = f"more than {largest:,} bytes, which no such file has; not read"
    return OSError(errno.EFBIG, why, str(path))
