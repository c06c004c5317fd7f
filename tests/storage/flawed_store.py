"""An S3 store that misbehaves: slow answers, errors, broken connections, listings of the past.

It speaks as much of the protocol as a reader of a dump asks for (ListObjectsV2, HEAD, ranged GET),
checks no signature, and keeps the objects of one bucket in memory. What it does wrong is drawn from
a seed, request by request.
"""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

HOST, BUCKET = "127.0.0.1", "dumps"
SLOW, BUSY, BROKEN, RESET, SHORT = "slow", "busy", "broken", "reset", "short"
FLAWS = (SLOW, BUSY, BROKEN, RESET, SHORT)
LONGEST_WAIT_SECONDS = 0.2
STATUS = {BUSY: (503, "SlowDown"), BROKEN: (500, "InternalError")}
ERROR = '<?xml version="1.0"?><Error><Code>{}</Code><Message>told so</Message></Error>'
OBJECT = (
    "<Contents><Key>{}</Key><LastModified>2026-11-24T00:00:00.000Z</LastModified>"
    '<ETag>"0"</ETag><Size>{}</Size><StorageClass>STANDARD</StorageClass></Contents>'
)
LISTING = (
    '<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    "<Name>dumps</Name><Prefix>{}</Prefix><KeyCount>{}</KeyCount><MaxKeys>100000</MaxKeys>"
    "<IsTruncated>false</IsTruncated>{}</ListBucketResult>"
)


class FlawedStore:
    """Objects by key. `listed`: what listings show of them, the present where it is None.

    `share`: of the requests that go wrong; `made`: how many did, by flaw. `spoiled`: keys that
    are never given out.
    """

    def __init__(self, objects: Mapping[str, bytes], seed: int = 1, share: float = 0.0) -> None:
        self.objects = dict(objects)
        self.listed: Mapping[str, int] | None = None
        self.share = share
        self.flaws = FLAWS
        self.spoiled: set[str] = set()
        self.made: Counter[str] = Counter()
        self.endpoint = ""
        self._rng = Random(f"store {seed}")
        self._lock = threading.Lock()

    def uri(self, path: str) -> str:
        options = f"endpoint_override={self.endpoint}&scheme=http&region=us-east-1"
        return f"s3://{BUCKET}/{path}?{options}"

    def sizes(self) -> dict[str, int]:
        """What a listing shows now."""
        return {key: len(content) for key, content in self.objects.items()}

    def flaw(self) -> str | None:
        """What is wrong with the next answer."""
        with self._lock:
            drawn = self._rng.choice(self.flaws) if self._rng.random() < self.share else None
            self.made[drawn or "right"] += 1
        return drawn

    def listing(self, prefix: str) -> str:
        sizes = self.sizes() if self.listed is None else self.listed
        found = {key: size for key, size in sorted(sizes.items()) if key.startswith(prefix)}
        rows = [OBJECT.format(escape(key), size) for key, size in found.items()]
        return LISTING.format(escape(prefix), len(rows), "".join(rows))


def objects_of(folder: Path, path: str) -> dict[str, bytes]:
    """All files below a folder, as objects below a path."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {f"{path}/{file.relative_to(folder).as_posix()}": file.read_bytes() for file in files}


@contextlib.contextmanager
def running(store: FlawedStore) -> Iterator[FlawedStore]:
    """The store behind a port of its own."""

    class Handler(_Handler):
        of = store

    server = ThreadingHTTPServer((HOST, 0), Handler)
    server.daemon_threads = True
    store.endpoint = f"{HOST}:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    of: FlawedStore

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def log_message(self, *_: Any) -> None:
        """Nothing: a test has no use for it."""

    def _answer(self) -> None:
        flaw = self.of.flaw()
        if flaw == SLOW:
            time.sleep(LONGEST_WAIT_SECONDS)
        if flaw == RESET:
            self.close_connection = True
            return
        asked = urlsplit(self.path)
        key = unquote(asked.path).removeprefix(f"/{BUCKET}").lstrip("/")
        if key in self.of.spoiled and self.command == "GET":
            flaw = BUSY
        if flaw in STATUS:
            status, code = STATUS[flaw]
            self._send(status, ERROR.format(code).encode(), "application/xml")
            return
        if not key:
            prefix = parse_qs(asked.query).get("prefix", [""])[0]
            self._send(200, self.of.listing(prefix).encode(), "application/xml", flaw == SHORT)
        elif key not in self.of.objects:
            self._send(404, ERROR.format("NoSuchKey").encode(), "application/xml")
        else:
            self._send_object(self.of.objects[key], flaw == SHORT)

    def _send_object(self, content: bytes, short: bool) -> None:
        wanted = self.headers.get("Range")
        if wanted is None:
            self._send(200, content, "binary/octet-stream", short)
            return
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        part = content[int(first) : int(last) + 1 if last else None]
        if not part:
            self._send(416, ERROR.format("InvalidRange").encode(), "application/xml")
            return
        place = f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}"
        self._send(206, part, "binary/octet-stream", short, {"Content-Range": place})

    def _send(
        self,
        status: int,
        content: bytes,
        kind: str,
        short: bool = False,
        more: Mapping[str, str] | None = None,
    ) -> None:
        """`short`: the connection ends in the middle of what was promised."""
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(content)), "ETag": '"0"'}
        headers["Last-Modified"] = "Tue, 24 Nov 2026 00:00:00 GMT"
        for name, value in {**headers, **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[: len(content) // 2] if short else content)
        if short:
            self.close_connection = True
