"""A small standalone Spark cluster on the loopback interface, for as long as it is needed."""

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark

from faults.processes import kill_all

WORKERS = 2
SECONDS_TO_START = 180
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
ANY_PORT = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")


@contextlib.contextmanager
def standalone(
    folder: Path, workers: int = WORKERS, memory: str = "1g", pinned: bool = False
) -> Iterator[tuple[str, list[int]]]:
    """The master's address, and the process ids of the workers; executors are below these.

    Each worker has one core for tasks, and `memory` for executors. `pinned`: all that it starts
    (JVM, compiler, Python) runs on one core of this machine, each worker's on another.
    """
    folder.mkdir()
    started: list[subprocess.Popen[bytes]] = []

    def daemon(name: str, *words: str) -> Path:
        log = folder / f"{name}.log"
        home = Path(pyspark.__file__).parent
        settings = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
        command, env = [home / "bin/spark-class", *words], os.environ | settings
        with log.open("wb") as told:
            started.append(
                subprocess.Popen(command, stdout=told, stderr=told, env=env, start_new_session=True)
            )
        return log

    try:
        master = _said(daemon("master", MASTER, *ANY_PORT), r"spark://127\.0\.0\.1:\d+")
        for number in range(workers):
            size = ("--cores", "1", "--memory", memory)
            there = ("--work-dir", str(folder / f"work-{number}"))
            with _on_core(number) if pinned else contextlib.nullcontext():
                log = daemon(f"worker-{number}", WORKER, *ANY_PORT, *size, *there, master)
            _said(log, "Successfully registered")
        yield master, [one.pid for one in started[1:]]
    finally:
        for one in started:
            kill_all(one.pid)
            one.wait()


@contextlib.contextmanager
def _on_core(number: int) -> Iterator[None]:
    """What this thread starts runs on one of the cores that it has, with all that it starts."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(before)[number]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _said(log: Path, pattern: str) -> str:
    """What a daemon says when it is ready."""
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:
        if found := re.search(pattern, log.read_text("utf-8", "replace")):
            return found[0]
        time.sleep(0.2)
    raise TimeoutError(f"it does not start: {log.read_text('utf-8', 'replace')[-2000:]}")
