"""Real brokers for tests: KRaft, on the loopback interface, from the jars of fetch_kafka.sh."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = "AAAAAAAAAAAAAAAAAAAAAQ"
START_SECONDS = 600.0


def jars(version: str) -> str:
    """The class path of a version; skips the test where it cannot be had."""
    folder = ROOT / ".kafka" / version
    if not (folder / ".done").exists():
        if not (shutil.which("mvn") and shutil.which("java")):
            pytest.skip("a broker needs java, and mvn to bring its jars")
        done = subprocess.run(
            [ROOT / "scripts/fetch_kafka.sh", version], check=False, capture_output=True, text=True
        )
        if done.returncode:
            pytest.skip(f"no jars of a broker: {done.stderr.strip()}")
    return f"{folder}/*"


def free_ports(number: int) -> list[int]:
    """Ports that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    """Brokers of one cluster, each a controller too; `ports`: of their listeners."""

    def __init__(
        self,
        version: str,
        folder: Path,
        brokers: int = 1,
        properties: Mapping[str, object] | None = None,
        users: Sequence[str] = (),
        controllers: int | None = None,
        directories: int = 1,
    ) -> None:
        """Formats the log directories.

        `users`: of SCRAM, as kafka-storage.sh takes them. `controllers`: so many brokers, the first
        ones, are controllers too (default: all). `directories`: log directories of each broker.
        """
        self.folder, self.classes, self.directories = folder, jars(version), directories
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        # Of each broker, beside those of this process.
        self.variables: dict[int, Mapping[str, str]] = {}
        self._format(brokers, properties or {}, users, controllers or brokers)

    def _format(
        self, brokers: int, properties: Mapping[str, object], users: Sequence[str], voters: int
    ) -> None:
        """Writes the properties of each broker and formats its log directories."""
        free = free_ports(2 * brokers)
        self.ports, controllers = free[:brokers], free[brokers:]
        copies = min(brokers, 3)
        shared = self._shared(copies) | {
            "controller.quorum.voters": ",".join(
                f"{n}@127.0.0.1:{port}" for n, port in enumerate(controllers[:voters], start=1)
            ),
            "controller.listener.names": "CONTROLLER",
        }
        for number, (port, controller) in enumerate(
            zip(self.ports, controllers, strict=True), start=1
        ):
            plain = f"PLAINTEXT://127.0.0.1:{port}"
            votes = number <= voters
            own = {
                "process.roles": "broker,controller" if votes else "broker",
                "node.id": number,
                "listeners": f"{plain},CONTROLLER://127.0.0.1:{controller}" if votes else plain,
                "log.dirs": self._log_dirs(number),
            }
            self._write_properties(number, shared | own | properties)
            scram = [word for user in users for word in ("--add-scram", user)]
            self._java("kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", number, *scram)

    @staticmethod
    def _shared(copies: int) -> dict[str, object]:
        """Properties of all brokers, however they are governed."""
        return {
            "offsets.topic.replication.factor": copies,
            "offsets.topic.num.partitions": 3,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": 1,
            "transaction.state.log.num.partitions": 3,
            "group.initial.rebalance.delay.ms": 0,
            "log.segment.bytes": 1 << 20,
            "log.cleaner.backoff.ms": 500,
            "replica.high.watermark.checkpoint.interval.ms": 200,
        }

    def _write_properties(self, number: int, properties: Mapping[str, object]) -> None:
        self._file(number).write_text("".join(f"{k}={v}\n" for k, v in properties.items()))

    def _log_dirs(self, number: int) -> str:
        return ",".join(str(self.data(number, one)) for one in range(self.directories))

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def data(self, number: int = 1, directory: int = 0) -> Path:
        """A log directory of a broker."""
        return self.folder / (f"data-{number}" + (f"-{directory}" if directory else ""))

    def _file(self, number: int) -> Path:
        return self.folder / f"server-{number}.properties"

    def _java(self, main: str, *words: object) -> None:
        named = [str(self._file(w)) if isinstance(w, int) else str(w) for w in words]
        subprocess.run(["java", "-cp", self.classes, main, *named], check=True, capture_output=True)

    def start(self, number: int = 1) -> None:
        """Starts a broker; `wait` tells when it serves."""
        with (self.folder / f"server-{number}.log").open("ab") as log:
            self._running[number] = subprocess.Popen(
                ["java", "-Xmx512m", "-cp", self.classes, "kafka.Kafka", self._file(number)],
                stdout=log,
                stderr=log,
                env=os.environ
                | {"LOG_DIR": str(self.folder)}
                | dict(self.variables.get(number, {})),
            )

    def start_all(self) -> "Cluster":
        """All brokers, serving."""
        for number in range(1, len(self.ports) + 1):
            self.start(number)
        self.wait()
        return self

    def wait(self) -> None:
        """Until all running brokers take connections."""
        for number, process in self._running.items():
            self._wait_for(self._port(number), process)

    def _port(self, number: int) -> int:
        return self.ports[number - 1]

    @staticmethod
    def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
        until = time.monotonic() + START_SECONDS
        while True:
            assert process.poll() is None, f"what should listen on port {port} has ended"
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                assert time.monotonic() < until, f"nobody listens on port {port}"
                time.sleep(0.2)

    def stop(self, number: int, how: int = signal.SIGTERM, seconds: float = 20) -> None:
        """Ends a broker; one that does not stop in time is killed."""
        process = self._running.pop(number)
        process.send_signal(how)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def stop_all(self) -> None:
        """Ends all brokers."""
        for number in list(self._running):
            self.stop(number, signal.SIGKILL)
