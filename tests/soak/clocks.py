"""Clocks of brokers that are apart from each other, and that somebody sets while they run.

libfaketime, a package of every distribution (`faketime` in Debian's), tells a process another time
than the machine's. It reads the offset from a file each time, so that a clock can be set.
"""

from collections.abc import Mapping
from pathlib import Path

FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/local/lib")
# That for programs of several threads.
LIBRARY = "libfaketimeMT.so.1"


def library() -> Path | None:
    """Where libfaketime is; None where it is not installed."""
    found = (path for one in FOLDERS for path in Path(one).glob(f"**/faketime/{LIBRARY}"))
    return next(found, None)


def environment(clock: Path) -> Mapping[str, str]:
    """Variables of a process whose clock is apart by what the file says; see `set_clock`."""
    return {
        "LD_PRELOAD": str(library()),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        # Seconds after which the file is read again: each reading costs three calls of the kernel.
        "FAKETIME_CACHE_DURATION": "1",
        # Durations go on as they are, and files have the times of the machine. Without the second
        # one a wait of the JVM ends at once.
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",
        "NO_FAKE_STAT": "1",
    }


def set_clock(clock: Path, seconds: float) -> None:
    """Sets a clock apart from the machine's by so many seconds."""
    made = clock.with_suffix(".new")
    made.write_text(f"{seconds:+.3f}\n")
    made.replace(clock)
