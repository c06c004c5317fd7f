"""Facts of `__cluster_metadata` about the clusters of a dump, as plain values."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from jobs.model.dump import DumpFile
from jobs.model.told import BrokersTold


class Block(NamedTuple):
    """Where a block of producer ids was given out; position and length in bytes."""

    file: DumpFile
    offset: int
    position: int
    length: int
    next_producer_id: int


@dataclass(frozen=True)
class Cluster:
    """A cluster by its longest `__cluster_metadata`; unknown facts are None or empty.

    `next_producer_id`: before `up_to_ms` (ms, the controller's clock) no id from it on was given
    out. `partitions`: topic -> number of partitions; `topic_ids`: -> id of the topic that has the
    name; `replicas`: topic -> partition -> brokers that it is assigned to; `deleted`: ids of topics
    that are deleted. `created_once`: topics of which there never was another one of that name;
    `created_again`: those of which there was. `never_compacted`: topics that never had another
    cleanup.policy than delete; `never_deleted`: than compact. `compacted`: topics that had compact
    among theirs at some time. `expirations_ms`: each producer.id.expiration.ms that a broker was
    given. `kraft_only`: by its `__cluster_metadata` it was not migrated from ZooKeeper.
    `registered`: the ids of all brokers that it had up to `registered_up_to_ms` (ms, the
    controller's clock); None for that moment: all of them had stopped, and had no other to the end
    of their logs.
    """

    up_to_ms: int | None = None
    next_producer_id: int | None = None
    partitions: Mapping[str, int] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    replicas: Mapping[str, Mapping[int, frozenset[int]]] = field(default_factory=dict)
    deleted: frozenset[str] = frozenset()
    created_once: frozenset[str] = frozenset()
    created_again: frozenset[str] = frozenset()
    never_compacted: frozenset[str] = frozenset()
    never_deleted: frozenset[str] = frozenset()
    compacted: frozenset[str] = frozenset()
    expirations_ms: frozenset[int] = frozenset()
    kraft_only: bool = False
    registered: frozenset[int] = frozenset()
    registered_up_to_ms: int | None = None


@dataclass(frozen=True)
class Clusters:
    """The clusters of a dump by cluster id.

    `regressions`: in any copy, a block of producer ids and the one before that it does not lie
    behind. `unreadable`: records, damage and gaps of the copies that may hide more facts.
    `furthest`: cluster id, None for unknown -> numbers of the files of the copy that the facts of
    the cluster are from; none if something of that is missing, which may be a change of a leader.
    """

    by_id: Mapping[str, Cluster] = field(default_factory=dict)
    regressions: Sequence[tuple[Block, Block]] = ()
    unreadable: int = 0
    furthest: Mapping[str | None, frozenset[int]] = field(default_factory=dict)

    def of(self, cluster_id: str | None) -> Cluster:
        """The cluster; where the dump has no copy of its metadata, one that nothing is known of."""
        return Cluster() if cluster_id is None else self.by_id.get(cluster_id, Cluster())

    def with_told(self, told: Sequence[BrokersTold]) -> "Clusters":
        """Knows also what brokers said of their clusters; `__cluster_metadata` takes precedence."""
        by_id = defaultdict(Cluster, self.by_id)
        for one in told:
            if one.cluster_id is not None:
                known = by_id[one.cluster_id]
                by_id[one.cluster_id] = replace(
                    known,
                    partitions={**one.partitions, **known.partitions},
                    expirations_ms=known.expirations_ms | one.expirations_ms,
                )
        return replace(self, by_id=dict(by_id))

    def shortest_expiration_ms(self, assumed: int) -> int:
        """After how long a broker may have forgotten a producer, at the earliest."""
        configured = [value for one in self.by_id.values() for value in one.expirations_ms]
        return min([assumed, *configured])
