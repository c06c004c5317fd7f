"""`make fuzz`: feeds changed files to all decoders, seeded, bounded in time and memory.

    python -m fuzz.run --inputs 1000000 [--seed 1] [--seconds 3600]

Input number N of seed S is always the same bytes for the same target. A worker process takes them
one after another; it is watched from outside, so that a crash of the interpreter or an input that
never returns is a failure, too. Failures are written to `tests/fuzz/failures` and are a test from
then on. Exit code 1 where any input failed.
"""

import argparse
import hashlib
import multiprocessing
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from types import FrameType

from fuzz.mutate import changed
from fuzz.seeds import Seed, seeds
from fuzz.targets import Target, targets

FAILURES = Path(__file__).parent / "failures"
# Processor time an input may take; and how long the worker may be silent, which is machine time.
SECONDS_AN_INPUT = 5.0
SILENT_SECONDS = 300
# What the worker may take on top of what it has when it begins.
MEMORY_BYTES = 1 << 30
TOLD_EVERY = 20_000


class SlowError(BaseException):
    """An input took too long."""


def too_slow(_: int, __: FrameType | None) -> None:
    raise SlowError(f"more than {SECONDS_AN_INPUT} s")


def made(all_targets: list[Target], seed: int, number: int) -> tuple[Target, Seed, bytes]:
    """Input `number` of a seed: its target, what it was made from, and its bytes."""
    chance = random.Random(f"{seed}.{number}")
    (target,) = chance.choices(all_targets, [one.weight for one in all_targets])
    known = seeds()
    given = [one for kind in target.kinds for one in known.get(kind, ())]
    chosen = chance.choice(given)
    return target, chosen, changed(chance, chosen, given)


def feed(target: Target, origin: Seed, data: bytes) -> str | None:
    """Feeds one input; what went wrong, None where nothing did."""
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS_AN_INPUT)
    try:
        target.feed(data, origin)
    except target.documented:
        return None
    except (Exception, SlowError) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        name = Path(where.filename).name
        return f"{type(error).__name__}: {str(error)[:200]} ({name}:{where.lineno})"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return None


def keep(target: Target, origin: Seed, data: bytes, what: str) -> Path:
    """Writes an input down: a line that says what it is, then its bytes."""
    name = f"{target.name.replace(' ', '_')}-{hashlib.sha256(data).hexdigest()[:12]}.bin"
    head = f"{target.name}|{origin.kind}|{origin.topic}|{origin.base}|{what}".replace("\n", " ")
    (FAILURES / name).write_bytes(head.encode()[:500] + b"\n" + data)
    return FAILURES / name


def kept(path: Path) -> tuple[str, Seed, bytes]:
    """The target, the seed without bytes, and the input of a past failure."""
    head, _, data = path.read_bytes().partition(b"\n")
    target, kind, topic, base, *_ = head.decode().split("|")
    return target, Seed(kind, b"", topic, int(base)), data


def ready() -> list[Target]:
    """The targets, with the alarm of a slow input; compiled code is loaded."""
    signal.signal(signal.SIGVTALRM, too_slow)
    all_targets = targets()
    for one in all_targets:
        for kind in one.kinds:
            for origin in seeds().get(kind, ())[:2]:
                try:
                    one.feed(origin.data, origin)
                except one.documented:
                    continue
    return all_targets


def bound_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def work(
    seed: int,
    first: int,
    last: int,
    done: "Synchronized[int]",
    results: "multiprocessing.Queue",  # type: ignore[type-arg]
) -> None:
    """The worker: inputs [first, last)."""
    all_targets = ready()
    bound_memory()
    fed: Counter[str] = Counter()
    for number in range(first, last):
        done.value = number
        target, origin, data = made(all_targets, seed, number)
        fed[target.name] += 1
        what = feed(target, origin, data)
        if what:
            keep(target, origin, data, what)
            results.put(("failed", number, f"{target.name}: {what}"))
        if number % TOLD_EVERY == TOLD_EVERY - 1:
            results.put(("fed", number, dict(fed)))
            fed.clear()
    done.value = last
    results.put(("fed", last, dict(fed)))


class Watch:
    """Runs workers until all inputs are done or the time is up."""

    def __init__(self, seed: int, first: int, inputs: int, seconds: float) -> None:
        self.seed, self.next, self.last = seed, first, first + inputs
        self.until = time.monotonic() + seconds
        self.fed: Counter[str] = Counter()
        self.failures: list[str] = []
        self.peak_bytes = 0

    def run(self) -> None:
        context = multiprocessing.get_context("spawn")
        while self.next < self.last and time.monotonic() < self.until:
            done, results = context.Value("q", self.next - 1), context.Queue()
            given = (self.seed, self.next, self.last, done, results)
            worker = context.Process(target=work, args=given, daemon=True)
            worker.start()
            reason = self._watched(worker, done, results)
            at = done.value
            if reason and at < self.last:
                all_targets = targets()
                target, origin, data = made(all_targets, self.seed, at)
                keep(target, origin, data, reason)
                self.failures.append(f"input {at}: {target.name}: {reason}")
            self.next = at + 1
        self.peak_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024

    def _watched(self, worker, done, results) -> str | None:  # type: ignore[no-untyped-def]
        """Waits for a worker; why it ended before its time, None where it did not."""
        seen, since, began = done.value, time.monotonic(), time.monotonic()
        first = self.next
        while True:
            worker.join(0.5)
            self._take(results, began, first)
            if not worker.is_alive():
                self._take(results, began, first)
                return None if worker.exitcode == 0 else f"worker ended with {worker.exitcode}"
            if done.value != seen:
                seen, since = done.value, time.monotonic()
            if time.monotonic() > self.until:
                worker.kill()
                worker.join()
                self.last = done.value
                return None
            if time.monotonic() - since > SILENT_SECONDS:
                worker.kill()
                worker.join()
                return f"no answer for {SILENT_SECONDS} s"

    def _take(self, results, began: float, first: int) -> None:  # type: ignore[no-untyped-def]
        while not results.empty():
            kind, number, told = results.get()
            if kind == "failed":
                self.failures.append(f"input {number}: {told}")
                say(f"FAILED input {number}: {told}")
            else:
                self.fed.update(told)
                rate = (number - first + 1) / (time.monotonic() - began)
                total = sum(self.fed.values())
                say(f"{total:,} inputs, {len(self.failures)} failures, {rate:,.0f} a second")


def say(told: str) -> None:
    sys.stdout.write(told + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9)
    asked = parser.parse_args()
    watch = Watch(asked.seed, asked.first, asked.inputs, asked.seconds)
    watch.run()
    for name, number in sorted(watch.fed.items()):
        say(f"{number:>9,}  {name}")
    say(
        f"{sum(watch.fed.values()):,} inputs of seed {asked.seed}, {len(watch.failures)} failures, "
        f"largest worker {watch.peak_bytes / 2**20:,.0f} MiB"
    )
    return 1 if watch.failures else 0


if __name__ == "__main__":
    sys.exit(main())
