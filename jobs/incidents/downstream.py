"""Which partitions lie downstream of others, whatever was read of them. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

Partition = tuple[str, int]


class Reads(NamedTuple):
    """A group that commits offsets of a partition in transactions of a producer.

    Not `whole`: earlier commits of the group may be gone.
    """

    group: str
    partition: Partition
    producer: int
    whole: bool = True


def name(partition: Partition) -> str:
    """topic-partition."""
    return f"{partition[0]}-{partition[1]}"


def downstream(
    roots: Iterable[Partition], reads: Sequence[Reads], outputs: Mapping[int, set[Partition]]
) -> dict[Partition, tuple[str, ...]]:
    """Partition -> shortest path to it from a root: names of partitions and groups in turn."""
    readers: dict[Partition, list[Reads]] = {}
    for one in sorted(reads):
        readers.setdefault(one.partition, []).append(one)
    found: dict[Partition, tuple[str, ...]] = {
        root: (f"{root[0]}-{root[1]}",) for root in sorted(roots)
    }
    heads = set(found)
    turn = list(found)
    while turn:
        following = []
        for here in turn:
            for one in readers.get(here, ()):
                for output in sorted(outputs.get(one.producer, ())):
                    if output not in found:
                        found[output] = (*found[here], one.group, name(output))
                        following.append(output)
        turn = following
    return {place: path for place, path in found.items() if place not in heads}
