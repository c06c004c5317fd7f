"""All laws by name: what is done to which copies. A law of copies takes each for itself."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from laws import absent, clean, clock, head, tail
from laws.dump_files import Directory, Dump, Partition

Change = Callable[[Dump, Directory, Partition, Random], bool]


@dataclass(frozen=True)
class Source:
    """What a law may know of a dump: the release of its brokers, the moment of its copy, ms."""

    release: tuple[int, ...]
    moment: int


OF_COPIES: dict[str, Change] = {
    "roll": head.rolled,
    "retention": head.retention,
    "delete_records": head.delete_records,
    "earlier": tail.earlier,
    "follower": tail.follower,
    "side_files": absent.side_files,
    "crash": absent.crash,
}
OF_DUMPS: dict[str, Callable[[Dump, Random], int]] = {
    "client_time": clock.client_times,
    "checkpoints": absent.checkpoints,
    "partitions": absent.partitions,
}
# They leave the coordinator's log of the whole dump with a gap, so they are audited apart.
OF_COORDINATOR = {"coordinator": absent.coordinator}
RENAME = "rename"
CLEAN = "clean"
MIXED = "mixed"
SINGLE = (*OF_COPIES, CLEAN, *OF_DUMPS)
# What a copy lacks its broker had: a cleaner without `.txnindex` would keep what was aborted.
AT_COPYING = ("side_files", "checkpoints", "partitions")
LAWS = (RENAME, *SINGLE, MIXED)
ALONE = tuple(OF_COORDINATOR)
# Share of the copies that a law touches where it is applied.
SHARE = 0.85


def apply(law: str, dump: Dump, source: Source, rng: Random) -> int:
    """Changes a dump after a law; how many copies of partitions were degraded."""
    if law == RENAME:
        return sum(1 for _ in dump.copies())
    if law == MIXED:
        chosen = rng.sample(SINGLE, rng.choice((2, 2, 3)))
        in_order = sorted(chosen, key=lambda one: one in AT_COPYING)
        return max(apply(one, dump, source, rng) for one in in_order)
    if law in OF_DUMPS or law in OF_COORDINATOR:
        return (OF_DUMPS | OF_COORDINATOR)[law](dump, rng)
    change = OF_COPIES.get(law)
    if law == CLEAN:
        change = partial(clean.clean, release=source.release, moment=source.moment)
    assert change is not None
    return sum(
        change(dump, directory, one, rng)
        for directory, one in list(dump.copies())
        if rng.random() < SHARE
    )
