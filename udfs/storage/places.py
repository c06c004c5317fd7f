"""Where a dump lies: a folder of this machine, or a URI of a remote one."""

import re
from pathlib import Path

# What pyarrow has a file system for, and we speak of in docs/remote-dumps.md.
SCHEMES = ("s3", "gs", "hdfs")
URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)


def is_remote(place: str) -> bool:
    """Whether a place is a URI; everything else is a path of this machine."""
    return URI.match(place) is not None


def scheme(uri: str) -> str:
    """The scheme of a URI; empty for a path."""
    found = URI.match(uri)
    return found["scheme"] if found else ""


def has_password(uri: str) -> bool:
    """Whether something stands in a URI that may be a secret: a colon that begins no port."""
    found = URI.match(uri)
    if not found:
        return False
    authority = re.split(r"[/?#]", found["rest"], maxsplit=1)[0]
    return re.search(r":(?!\d{1,5}$)", authority) is not None or (
        scheme(uri) != "hdfs" and ":" in authority
    )


def redacted(uri: str) -> str:
    """A URI as tables, reports and messages may show it: no user, no password, no query."""
    found = URI.match(uri)
    if not found:
        return uri
    if has_password(uri):
        return f"{found['scheme']}://…"
    path = re.split(r"[?#]", found["rest"], maxsplit=1)[0]
    return f"{found['scheme']}://{re.sub(r'^[^/@]*@', '', path)}"


def shown(uri: str, below: str = "") -> str:
    """A file or folder below a URI, redacted as well; the URI itself for ""."""
    return f"{redacted(uri).rstrip('/')}/{below}" if below else redacted(uri)


def last_name(uri: str) -> str:
    """The last folder that a URI names; the bucket or host where it names none."""
    return redacted(uri).rstrip("/").rpartition("/")[2]


def nearest_there(place: Path) -> Path:
    """A place of this machine, or the nearest folder above it that is there."""
    return next(one for one in (place, *place.parents) if one.exists())
