"""Which partitions of a dump are replicas of one another, and where they are compared."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple

from jobs.model.dump import Dump, DumpPartition, cleaned_below
from schemas.topics import TXN_LOG_TOPIC
from udfs.rules.extent import MAX_OFFSET

# So many bytes of a copy hold the keys and producers of one bucket.
BUCKET_BYTES = 1 << 26


def clusters(dump: Dump) -> set[str]:
    """The clusters that `meta.properties` of the dump name."""
    return {one.cluster_id for one in dump.directories if one.cluster_id is not None}


def replica_sets(dump: Dump) -> list[list[DumpPartition]]:
    """Partitions of which the dump has copies of several brokers of one cluster.

    Where it holds more than one cluster, partitions of one name belong together only within one.
    Texts of kafka-dump-log hold no bytes to compare.
    """
    of_bytes = [one for one in dump.partitions if not any(segment.text for segment in one.segments)]
    named = _of_one_name(of_bytes, clusters(dump))
    return [copies for copies in named if len({one.broker for one in copies}) > 1]


def _of_one_name(
    partitions: Iterable[DumpPartition], found: Collection[str]
) -> Iterable[list[DumpPartition]]:
    """Partitions of one name, in one cluster where the dump has several (`found`)."""
    named: dict[tuple[str, int, str | None], list[DumpPartition]] = defaultdict(list)
    for one in partitions:
        cluster = one.cluster_id if len(found) > 1 else None
        named[one.topic, one.partition, cluster].append(one)
    return named.values()


def number_topics(dump: Dump) -> None:
    """Sets `incarnation` of the partitions: topics that had the same name, one after another.

    A broker that is down while a topic is deleted and created again keeps the folder of the old one
    until it starts (`ReplicationControlManager.deleteTopic` waits for nobody, `LogManager.loadLog`
    finds it then). So copies with different topic ids are none of each other; one without an id is
    none of either.
    """
    for copies in _of_one_name(dump.partitions, clusters(dump)):
        ids = sorted({one.topic_id for one in copies if one.topic_id is not None})
        for one in copies if len(ids) > 1 else ():
            unknown = -1 - one.partition_index
            one.incarnation = unknown if one.topic_id is None else 1 + ids.index(one.topic_id)


def coordinator_copies(dump: Dump) -> set[int]:
    """The partition_index of every partition of `__transaction_state` that the dump has twice.

    Whether of one cluster is not asked: a folder alone does not name its cluster.
    """
    of_topic = [one for one in dump.partitions if one.topic == TXN_LOG_TOPIC]
    times = Counter(one.partition for one in of_topic)
    return {one.partition_index for one in of_topic if times[one.partition] > 1}


def comparable_from(partition: DumpPartition) -> int:
    """First offset from which nothing was cleaned and no segment deleted, as far as is known.

    Below the reach of the cleaner on one copy another may have fetched what that left.
    """
    first = partition.segments[0].base_offset if partition.segments else None
    return max(first or 0, cleaned_below(partition), partition.cleaner_reach)


def cuts(replicas: list[DumpPartition]) -> list[int]:
    """Offsets at which blocks end, so that what two replicas both have is whole blocks.

    From the second lowest start to the second highest end: outside, there is nothing to compare
    with. Empty where no two replicas overlap.
    """
    with_files = [one for one in replicas if one.segments]
    starts = sorted(comparable_from(one) for one in with_files)
    ends = sorted(
        MAX_OFFSET if one.high_watermark is None else one.high_watermark for one in with_files
    )
    if len(with_files) < 2 or starts[1] >= ends[-2]:
        return []
    return sorted({at for at in starts + ends if starts[1] <= at <= ends[-2]})


class Cleaned(NamedTuple):
    """Copies of a partition that the cleaner has passed: reach (exclusive), number of buckets."""

    reach: int
    buckets: int


def cleaned(replicas: list[DumpPartition]) -> Cleaned | None:
    """Up to where copies are compared record by record; None where the cleaner passed none."""
    with_files = [one for one in replicas if one.segments]
    if len(with_files) < 2 or not with_files[0].cleaner_reach:
        return None
    largest = max(sum(file.size for file in one.segments) for one in with_files)
    return Cleaned(with_files[0].cleaner_reach, 1 + largest // BUCKET_BYTES)
