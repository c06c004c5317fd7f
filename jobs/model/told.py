"""What the brokers of a fetched dump said of themselves, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

NONE = -1


class ProducerTold(NamedTuple):
    """A producer that a leader remembers (DescribeProducers); NONE for what it has not."""

    producer_id: int
    epoch: int
    last_sequence: int
    open_offset: int


class Answered(NamedTuple):
    """What a leader said of a partition at one moment; None for what nobody told.

    `leader_epoch`: NONE where the broker does not tell. `high_watermark` was asked first, then
    `stable` (the last stable offset), then `producers`.
    """

    broker: int
    leader_epoch: int
    high_watermark: int | None = None
    stable: int | None = None
    producers: tuple[ProducerTold, ...] | None = None


class PartitionTold(NamedTuple):
    """What one leader said of a partition at two moments.

    `answered_ms`: when the last answer of the first came, `asked_ms`: when the first question of
    the second was put, ms by the clock of who asked. What was fetched in between is bracketed.
    `topic_ids`: those that the topic had for the leader, None among them where it told none at one
    of the moments; empty where nobody was asked for them.
    """

    before: Answered
    after: Answered
    answered_ms: int
    asked_ms: int
    topic_ids: frozenset[str | None] = frozenset()


class TransactionTold(NamedTuple):
    """What the coordinator `broker` said of a transactional id before the fetch and after it."""

    transactional_id: str
    broker: int
    producer_id: int
    state: str


@dataclass(frozen=True)
class BrokersTold:
    """Facts of broker-answers.json; empty for what no broker said.

    `partitions`: topic -> number of partitions. `compacted`: topics whose cleanup.policy names
    compact. `expirations_ms`, `timeouts_ms`: each producer.id.expiration.ms and
    transaction.max.timeout.ms that a broker has. `states`: (topic, partition) -> what its leader
    said, for those whose leader stayed the same. `transactions`: see TransactionTold.
    """

    cluster_id: str | None
    partitions: dict[str, int]
    compacted: frozenset[str]
    expirations_ms: frozenset[int]
    timeouts_ms: frozenset[int]
    states: Mapping[tuple[str, int], PartitionTold] = field(default_factory=dict)
    transactions: tuple[TransactionTold, ...] = ()
