"""What went wrong at a remote dump, as an OSError with a sentence that shows no secret.

pyarrow raises nearly all of it as OSError with a text of its own, without an error number.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from udfs.storage.places import redacted, shown

# What pyarrow raises: among its own exceptions is one for a path that it does not take.
OF_PYARROW = (OSError, pa.ArrowException)
Kind = tuple[type[OSError], int]
MISSING: Kind = (FileNotFoundError, errno.ENOENT)
DENIED: Kind = (PermissionError, errno.EACCES)
UNREACHABLE: Kind = (ConnectionError, errno.EHOSTUNREACH)
BUSY: Kind = (OSError, errno.EBUSY)
UNKNOWN: Kind = (OSError, errno.EIO)

NOT_THERE = os.strerror(errno.ENOENT)

# The first pattern that matches the text decides.
KNOWN: tuple[tuple[str, Kind, str], ...] = (
    (
        r"NO_SUCH_BUCKET|Bucket not found|bucket does not exist",
        MISSING,
        "there is no such bucket; check its name, the region and the endpoint",
    ),
    (
        r"INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|INVALID_CLIENT_TOKEN_ID|EXPIRED_TOKEN"
        r"|ExpiredToken|InvalidToken|UNAUTHENTICATED|INVALID_SIGNATURE",
        DENIED,
        "the credentials are not accepted; check those of the environment, the profile or the "
        "role of this machine",
    ),
    (
        r"ACCESS_DENIED|HTTP status 403|PERMISSION_DENIED|Permission denied|AccessControl",
        DENIED,
        "access is denied; the credentials (of the environment, a profile or the role of this "
        "machine) need permission to list the dump and to read its files",
    ),
    (
        r"HTTP status 301|PERMANENT_REDIRECT|AuthorizationHeaderMalformed",
        UNREACHABLE,
        "the bucket is in another region; name it with ?region=… or AWS_REGION",
    ),
    (
        r"INTERNAL_FAILURE|INTERNAL_ERROR|SERVICE_UNAVAILABLE|SLOW_?DOWN|HTTP status (?:429|5\d\d)",
        BUSY,
        "the store answers with errors, after several tries; run the same command again later",
    ),
    (
        r"NETWORK_CONNECTION|curlCode|UNAVAILABLE|could not (?:re)?connect|Connection refused"
        r"|UnknownHost|timed? ?out|Retry policy exhausted",
        UNREACHABLE,
        "the endpoint does not answer, after several tries; check ?endpoint_override=… or "
        "AWS_ENDPOINT_URL, and the network",
    ),
    (
        r"Unable to load lib(?:jvm|hdfs)",
        UNKNOWN,
        "Hadoop's client library cannot be loaded; set JAVA_HOME, HADOOP_HOME and CLASSPATH (to "
        "what `hadoop classpath --glob` prints)",
    ),
    (r"NOT_FOUND|HTTP status 404", MISSING, NOT_THERE),
)
ANY_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"]+")


def as_os_error(error: Exception, uri: str, below: str = "") -> OSError:
    """The same error with errno, a sentence in `strerror`, and in `filename` what may be shown.

    `below`: the file or folder that it is about, relative to the URI of the dump.
    """
    where = shown(uri, below)
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(errno.ENOENT, NOT_THERE, where)
    said = str(error)
    for pattern, (kind, number), sentence in KNOWN:
        if re.search(pattern, said, re.IGNORECASE):
            return kind(number, sentence, where)
    kind, number = UNKNOWN
    first = (said.splitlines() or [type(error).__name__])[0].replace(uri, redacted(uri))
    return kind(number, ANY_URI.sub(lambda found: redacted(found[0]), first), where)


def unreadable_uri(error: Exception, uri: str) -> OSError:
    """For a URI that pyarrow does not take; its own text may hold all of the URI."""
    option = re.search(r"(?i)query parameter in \w+ URI: '?(\w+)", str(error))
    if option:
        sentence = f"the option {option[1]} is not known; docs/remote-dumps.md lists those that are"
    elif "without" in str(error):
        sentence = "the pyarrow of this Python was built without it; install one from its makers"
    else:
        sentence = "the URI cannot be read; write a space and other special characters as %20"
    return OSError(errno.EINVAL, sentence, redacted(uri))


@contextmanager
def as_os_errors(uri: str, below: str = "") -> Iterator[None]:
    """Within it, errors of pyarrow are raised as `as_os_error` makes them."""
    try:
        yield
    except OF_PYARROW as error:
        raise as_os_error(error, uri, below) from None
