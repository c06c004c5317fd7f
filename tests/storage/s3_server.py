"""A real S3 server on this machine, for as long as the tests need it: SeaweedFS in one process."""

import contextlib
import json
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

HOST = "127.0.0.1"
BUCKET = "dumps"
CLOSED_BUCKET = "closed"
KEY, SECRET = "reader-key", "reader-secret"
# A user who may read one bucket, as an audit needs it.
IDENTITIES = {
    "identities": [
        {
            "name": "reader",
            "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
            "actions": [f"Read:{BUCKET}", f"List:{BUCKET}"],
        }
    ]
}
PORTS = ("master", "volume", "filer", "s3")
SECONDS_TO_START = 60
UPLOADS = 8


@dataclass(frozen=True)
class S3Server:
    """Files are put in by the server's own door, so that all requests counted are the reader's."""

    endpoint: str
    filer: str
    metrics: str

    def uri(self, path: str, bucket: str = BUCKET) -> str:
        """The URI of a dump in a bucket, with the options that lead to this server."""
        options = f"endpoint_override={self.endpoint}&scheme=http&region=us-east-1"
        return f"s3://{bucket}/{path}?{options}"

    def requests(self) -> Counter[str]:
        """How many requests of each kind were answered since the start; HEAD counts as GET."""
        with urllib.request.urlopen(self.metrics, timeout=10) as answer:
            text = answer.read().decode()
        counted: Counter[str] = Counter()
        for labels, number in re.findall(
            r"^SeaweedFS_s3_request_total\{(.*)\} (\S+)$", text, re.MULTILINE
        ):
            counted[re.search(r'type="(\w+)"', labels)[1]] += int(float(number))
        return counted

    def put(self, path: str, content: bytes, bucket: str = BUCKET) -> None:
        """Stores one file, replacing it; the bucket is made with its first file."""
        self._send("PUT", f"{bucket}/{path}", content)

    def remove(self, path: str) -> None:
        """Removes one file."""
        self._send("DELETE", f"{BUCKET}/{path}", None)

    def put_folder(self, folder: Path, path: str) -> None:
        """Stores all files below a folder."""
        files = [file for file in folder.rglob("*") if file.is_file()]

        def put(file: Path) -> None:
            self.put(f"{path}/{file.relative_to(folder)}", file.read_bytes())

        with ThreadPoolExecutor(UPLOADS) as uploads:
            list(uploads.map(put, files))

    def _send(self, method: str, path: str, content: bytes | None) -> None:
        url = f"{self.filer}/buckets/{quote(path)}"
        kind = {"Content-Type": "application/octet-stream"} if content is not None else {}
        asked = urllib.request.Request(url, data=content, method=method, headers=kind)
        with urllib.request.urlopen(asked, timeout=30):
            pass


def _free_ports(number: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind((HOST, 0))
        return [one.getsockname()[1] for one in sockets]


def program() -> str | None:
    """The server, installed with the extra `dev`; None where it is not."""
    beside = Path(sys.executable).with_name("weed")
    return str(beside) if beside.exists() else shutil.which("weed")


def _command(folder: Path, ports: dict[str, int]) -> list[str]:
    options = {
        "dir": folder / "data",
        "ip": HOST,
        "ip.bind": HOST,
        "master.telemetry": "false",
        "master.volumeSizeLimitMB": 64,
        "volume.max": 40,
        "volume.preStopSeconds": 0,
        "filer": "true",
        "filer.localSocket": folder / "filer.sock",
        "s3": "true",
        "s3.config": folder / "s3.json",
        "s3.iam": "false",
        "s3.localSocket": folder / "s3.sock",
        "s3.port.iceberg": 0,
        "s3.port.lance": 0,
        "metricsPort": ports["metrics"],
    }
    for name in PORTS:
        options |= {f"{name}.port": ports[name], f"{name}.port.grpc": ports[f"{name}.grpc"]}
    return [
        program() or "weed",
        "-logtostderr=true",
        "server",
        *(f"-{k}={v}" for k, v in options.items()),
    ]


@contextlib.contextmanager
def running(folder: Path) -> Iterator[S3Server]:
    """The server, with its files in `folder`."""
    (folder / "data").mkdir()
    (folder / "s3.json").write_text(json.dumps(IDENTITIES), encoding="utf-8")
    names = [*PORTS, *(f"{name}.grpc" for name in PORTS), "metrics"]
    ports = dict(zip(names, _free_ports(len(names)), strict=True))
    address = {name: f"{HOST}:{port}" for name, port in ports.items()}
    server = S3Server(
        address["s3"], f"http://{address['filer']}", f"http://{address['metrics']}/metrics"
    )
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            _command(folder, ports), stdout=output, stderr=subprocess.STDOUT, cwd=folder
        )
        try:
            _wait(server, process, log)
            yield server
        finally:
            process.kill()  # what it stored is not needed any more
            process.wait(20)


def _wait(server: S3Server, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until it stores a file and answers at its S3 door."""
    end = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError):
            for bucket in (BUCKET, CLOSED_BUCKET):
                server.put("ready", b"yes", bucket)
            try:
                urllib.request.urlopen(f"http://{server.endpoint}/", timeout=5).close()
            except urllib.error.HTTPError as refused:  # it answers, and wants a signature
                refused.close()
            return
        time.sleep(0.2)
    raise RuntimeError("the S3 server does not start:\n" + log.read_text("utf-8")[-3000:])
