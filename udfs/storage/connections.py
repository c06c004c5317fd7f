"""File systems of remote dumps: made from the URI where they are needed, once a process.

Credentials are found as the libraries of the provider find them (environment, profile, the role
of the machine). Nothing of this can be sent to another process, and nothing has to be.
"""

import atexit
import errno
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pyarrow as pa

from udfs.storage.errors import as_os_error, unreadable_uri
from udfs.storage.places import redacted, scheme

# Google's client tries for 15 minutes where nobody says otherwise.
GS_RETRY = "retry_limit_seconds"
GS_RETRY_SECONDS = 60


class Connection(NamedTuple):
    """A pyarrow file system, and the path of the dump in it."""

    filesystem: Any
    base: str

    def path(self, below: str) -> str:
        """The path of a file or folder of the dump; `below` is relative to it, "" for itself."""
        return f"{self.base.rstrip('/')}/{below}" if below else self.base


@cache
def connect(uri: str) -> Connection:
    """The file system of a dump. Raises OSError with a sentence in `strerror`."""
    # Imported by those only who read a remote dump: it starts the threads of Amazon's library.
    from pyarrow import fs  # noqa: PLC0415

    # pyarrow shuts that library down at exit and waits for those who still use it. What is
    # registered later runs earlier, so the file systems are gone by then.
    atexit.unregister(connect.cache_clear)
    atexit.register(connect.cache_clear)
    try:
        filesystem, base = fs.FileSystem.from_uri(_with_retry_limit(uri))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise unreadable_uri(error, uri) from None
    except OSError as error:
        raise as_os_error(error, uri) from None
    if not base and scheme(uri) != "hdfs":
        raise OSError(errno.EINVAL, "the URI names no bucket", redacted(uri))
    return Connection(filesystem, base.rstrip("/") or "/")


def _with_retry_limit(uri: str) -> str:
    if scheme(uri) != "gs" or GS_RETRY in uri:
        return uri
    return f"{uri}{'&' if urlsplit(uri).query else '?'}{GS_RETRY}={GS_RETRY_SECONDS}"
