"""Progress on stderr while the audit runs: stage, bytes, rate, tasks done."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

TICK_SECONDS = 5.0


class Progress:
    """Writes a line when a stage begins and ends, and one every few seconds in between."""

    def __init__(self, spark: SparkSession | None, quiet: bool = False) -> None:
        """`spark` gives the number of tasks done; without it only times are shown."""
        self._spark = spark
        self._quiet = quiet
        self.seconds: dict[str, float] = {}

    def _say(self, line: str) -> None:
        if not self._quiet:
            sys.stderr.write(f"eosaudit: {line}\n")
            sys.stderr.flush()

    def _tasks(self) -> str:
        if self._spark is None:
            return ""
        tracker = self._spark.sparkContext.statusTracker()
        done = total = 0
        for number in tracker.getActiveStageIds():
            info = tracker.getStageInfo(number)
            if info is not None:
                done += info.numCompletedTasks
                total += info.numTasks
        return f", {done:,} of {total:,} tasks" if total else ""

    def _tick(self, name: str, start: float, done: threading.Event) -> None:
        while not done.wait(TICK_SECONDS):
            self._say(f"{name}: {time.monotonic() - start:.0f} s{self._tasks()}")

    @contextmanager
    def stage(self, name: str, size: int = 0) -> Iterator[Callable[[str], None]]:
        """A stage; the yielded function notes what its closing line says. `size` in bytes."""
        notes: list[str] = []
        start, done = time.monotonic(), threading.Event()
        ticker = threading.Thread(target=self._tick, args=(name, start, done), daemon=True)
        self._say(f"{name} …")
        ticker.start()
        try:
            yield notes.append
        finally:
            done.set()
            ticker.join()
        seconds = time.monotonic() - start
        self.seconds[name] = seconds
        rate = f", {size / 1e6 / max(seconds, 1e-3):,.0f} MB/s" if size else ""
        self._say(f"{name}: {seconds:.1f} s{rate}{''.join(f', {note}' for note in notes)}")
