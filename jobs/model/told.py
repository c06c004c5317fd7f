"""What the brokers of a fetched dump said of their configuration, as plain values."""

from dataclasses import dataclass


@dataclass(frozen=True)
class BrokersTold:
    """Facts of broker-answers.json; empty for what no broker said.

    `partitions`: topic -> number of partitions. `compacted`: topics whose cleanup.policy names
    compact. `expirations_ms`, `timeouts_ms`: each producer.id.expiration.ms and
    transaction.max.timeout.ms that a broker has.
    """

    cluster_id: str | None
    partitions: dict[str, int]
    compacted: frozenset[str]
    expirations_ms: frozenset[int]
    timeouts_ms: frozenset[int]
