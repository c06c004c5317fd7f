"""What side files say of the partitions of `__transaction_state`."""

from dataclasses import dataclass

from jobs.model.cluster import Clusters
from jobs.model.dump import Dump, coordinator_partitions
from schemas.topics import TXN_LOG_TOPIC


@dataclass(frozen=True)
class CoordinatorListing:
    """Facts of side files about the partitions of `__transaction_state`.

    `number`: those in the dump, 0 where they are not all numbers from 0 on. `total`: how many there
    are by `__cluster_metadata`, None where it does not say. `listed`: checkpoints of brokers list
    the same ones; `beyond`: they list one that the dump does not have.
    """

    number: int
    total: int | None
    listed: bool
    beyond: bool

    @property
    def may_be_complete(self) -> bool:
        """Whether nothing says that there are other partitions than those in the dump."""
        return self.number > 0 and not self.beyond and self.total in (None, self.number)


def coordinator_listing(dump: Dump, clusters: Clusters) -> CoordinatorListing:
    """The listing of a dump."""
    numbers = {one.partition for one in dump.partitions if one.topic == TXN_LOG_TOPIC}
    listings = [
        one.coordinator_partitions
        for one in dump.directories
        if one.coordinator_partitions is not None
    ]
    listed = frozenset[int]().union(*listings)
    totals = {
        one.partitions[TXN_LOG_TOPIC]
        for one in clusters.by_id.values()
        if TXN_LOG_TOPIC in one.partitions
    }
    return CoordinatorListing(
        number=coordinator_partitions(dump) or 0,
        total=max(totals, default=None),
        listed=bool(numbers) and listed == numbers,
        beyond=bool(listed - numbers),
    )
