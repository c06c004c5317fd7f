"""Partitions of the brokers of a dump that it has no folder of, whoever lists them."""

from collections.abc import Iterator

from jobs.model.cluster import Clusters
from jobs.model.dump import Dump, MissingPartition
from schemas.topics import METADATA_TOPIC


def not_there(dump: Dump, clusters: Clusters) -> list[MissingPartition]:
    """What checkpoints list, and what `__cluster_metadata` assigns to a broker beside that.

    That may have come or gone between the copies, or lie in a log directory that was not copied.
    """
    return [*dump.missing, *_assigned(dump, clusters)]


def _assigned(dump: Dump, clusters: Clusters) -> Iterator[MissingPartition]:
    told = {(one.broker, one.topic, one.partition) for one in dump.missing}
    for one in dump.brokers:
        for topic, replicas in sorted(clusters.of(one.cluster_id).replicas.items()):
            for number, brokers in sorted(replicas.items()):
                there = (topic, number) in one.partitions
                if one.broker in brokers and not there and (one.broker, topic, number) not in told:
                    asked = one.was_asked_for(topic)
                    yield MissingPartition(topic, number, one.broker, METADATA_TOPIC, asked)
