"""Opens a file of a dump, local or remote: the only way to its bytes, in driver and tasks."""

import errno
import io
import os
import stat
import time
from pathlib import Path
from typing import Any, BinaryIO, cast

from udfs.storage.connections import connect
from udfs.storage.errors import OF_PYARROW, as_os_error, as_os_errors
from udfs.storage.places import is_remote

# Left in the last byte of a buffer before it is filled; any other value would do as well.
NOT_FILLED = 0xA5
# Before a read of a store that has no answer is tried again.
PAUSES_SECONDS = (0.1, 0.5, 2.0)


class RemoteFile(io.RawIOBase):
    """Positioned reads of a remote file: each is one request, however much it asks for.

    Where the file has become shorter, it ends, as a local one does.
    """

    def __init__(self, uri: str, below: str) -> None:
        """Opens the file `below` the URI of a dump. Raises OSError."""
        connection = connect(uri)
        self._filesystem = connection.filesystem
        self._path = connection.path(below)
        self._place = uri, below
        with as_os_errors(uri, below):
            self._file: Any = self._filesystem.open_input_file(self._path)
        self._size: int = self._file.size()
        self._at = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """To a byte counted from the start, which may lie past the end."""
        if whence != io.SEEK_SET:
            raise io.UnsupportedOperation("only positions from the start")
        self._at = offset
        return offset

    def readinto(self, buffer: Any) -> int:
        """Fills the buffer as far as the file reaches; 0 at its end."""
        wanted = memoryview(buffer)[: max(self._size - self._at, 0)]
        if not wanted:
            return 0
        got = self._fill(wanted)
        self._at += got
        return got

    def readall(self) -> bytes:
        """All from here to the end, in one request too."""
        return self.read(max(self._size - self._at, 0)) or b""

    def _fill(self, wanted: memoryview) -> int:
        # pyarrow says that all bytes have come where the file ends before them since it was opened:
        # then the last one is as it was.
        wanted[-1] = NOT_FILLED
        failed: Exception | None = None
        got = 0
        # pyarrow gives up at the first error whose text is longer than what was asked for.
        for pause in (*PAUSES_SECONDS, None):
            try:
                self._file.seek(self._at)
                got, failed = int(self._file.readinto(wanted)), None
            except OF_PYARROW as error:
                failed = error
            if failed is None or pause is None or not _is_of_the_moment(failed):
                break
            time.sleep(pause)
        if failed or wanted[-1] == NOT_FILLED:
            there = max(self._size_now() - self._at, 0)
            if failed and there:
                raise as_os_error(failed, *self._place)
            got = min(got, there)
        return got

    def _size_now(self) -> int:
        with as_os_errors(*self._place):
            return self._filesystem.get_file_info(self._path).size or 0

    def close(self) -> None:
        """Lets go of the file."""
        if not self.closed:
            self._file.close()
        super().close()


def _is_of_the_moment(failed: Exception) -> bool:
    """Whether the store may answer the same request a moment later."""
    return as_os_error(failed, "").errno == errno.EBUSY


def open_file(root: str, below_root: str) -> BinaryIO:
    """Opens a file of a dump, unbuffered; `root` is a folder of this machine or a URI.

    Only what is a regular file, or a link to one, is opened: a pipe or a device may have no end, or
    never begin. Raises OSError, whose `strerror` is a sentence where the file is remote.
    """
    if not is_remote(root):
        return open(Path(root, below_root), "rb", buffering=0, opener=_regular)
    return cast(BinaryIO, RemoteFile(root, below_root))


def _regular(path: str, flags: int) -> int:
    # Without O_NONBLOCK the opening of a pipe waits for somebody who writes.
    opened = os.open(path, flags | os.O_NONBLOCK)
    kind = os.fstat(opened).st_mode
    if stat.S_ISREG(kind):
        return opened
    os.close(opened)
    what = "a folder where a file is expected" if stat.S_ISDIR(kind) else "not a regular file"
    raise OSError(errno.EINVAL, what, path)
