"""How fast a dump over the protocol goes, and how it tells so."""

import threading
import time
from collections.abc import Callable

TELL_SECONDS = 5.0
MEGABYTE = 1_000_000


class Progress:
    """Counts of all jobs. Slows them down to a rate, and tells where they are.

    `rate`: bytes a second over all jobs, None for no limit. `offsets`: how many are to be fetched,
    as far as known.
    """

    def __init__(
        self, tell: Callable[[str], None], rate: int | None, partitions: int, offsets: int
    ) -> None:
        self._tell, self._rate = tell, rate
        self._partitions, self._offsets = partitions, offsets
        self._lock = threading.Lock()
        self._begun = self._told = time.monotonic()
        self.bytes = self._moved = self._done = 0

    def spent(self, size: int) -> None:
        """So many bytes came; returns when the rate allows the next ones."""
        with self._lock:
            self.bytes += size
            ahead = self.bytes / self._rate - self._seconds() if self._rate else 0.0
            self._tell_now_and_then()
        if ahead > 0:
            time.sleep(ahead)

    def moved(self, offsets: int) -> None:
        """So many offsets are behind us."""
        with self._lock:
            self._moved += offsets

    def done(self) -> None:
        """A partition is fetched."""
        with self._lock:
            self._done += 1
            self._tell_now_and_then()

    def _seconds(self) -> float:
        return max(time.monotonic() - self._begun, 1e-6)

    def _tell_now_and_then(self) -> None:
        if time.monotonic() - self._told < TELL_SECONDS:
            return
        self._told = time.monotonic()
        self._tell(self.line())

    def line(self) -> str:
        """Where the jobs are."""
        seconds = self._seconds()
        words = [
            f"{self._done:,} of {self._partitions:,} partitions",
            f"{self.bytes / MEGABYTE:,.0f} MB",
            f"{self.bytes / MEGABYTE / seconds:,.1f} MB/s",
        ]
        if 0 < self._moved < self._offsets:
            left = seconds * (self._offsets / self._moved - 1)
            words.append(
                f"about {left / 60:,.0f} min left" if left > 90 else f"about {left:.0f} s left"
            )
        return ", ".join(words)
