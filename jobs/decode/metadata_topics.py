"""What a copy of `__cluster_metadata` says of topics."""

from collections import defaultdict

from jobs.decode.metadata_copy import MetadataCopy, Told
from udfs.arrow.metadata_rows import Assigned
from udfs.wire.metadata.metadata_log import (
    TOPIC_RESOURCE,
    Configured,
    CreatedPartition,
    CreatedTopic,
    RemovedTopic,
)

CLEANUP_POLICY = "cleanup.policy"


def topic_ids(copy: MetadataCopy) -> dict[str, str]:
    """Topic -> id of the newest topic of that name."""
    return {fact["name"]: fact["topic_id"] for fact in copy.of_kind(CreatedTopic)}


def deleted_ids(copy: MetadataCopy) -> frozenset[str]:
    """Ids of topics that the log says are deleted, or behind which another one has their name.

    One that it does not name may be newer than it, or be deleted before its snapshot was taken.
    """
    removed = {fact["topic_id"] for fact in copy.of_kind(RemovedTopic)}
    ids: dict[str, str] = {}
    for fact in copy.of_kind(CreatedTopic):
        before = ids.get(fact["name"], fact["topic_id"])
        if before != fact["topic_id"]:
            removed.add(before)
        ids[fact["name"]] = fact["topic_id"]
    return frozenset(removed)


def partition_numbers(copy: MetadataCopy) -> dict[str, int]:
    """Topic -> number of partitions of the newest topic of that name."""
    newest = topic_ids(copy)
    highest: dict[str, int] = defaultdict(lambda: -1)
    for fact in copy.of_kind(CreatedPartition):
        highest[fact["topic_id"]] = max(highest[fact["topic_id"]], fact["number"])
    return {name: highest[one] + 1 for name, one in newest.items() if one in highest}


def assigned_brokers(copy: MetadataCopy) -> dict[str, dict[int, frozenset[int]]]:
    """Topic -> partition -> brokers that the newest topic of that name is assigned to."""
    of_topic: dict[str, dict[int, frozenset[int]]] = defaultdict(dict)
    for fact in copy.facts:
        if fact["fact"] == Assigned.__name__:
            for one in fact["value"].split(" "):
                number, _, brokers = one.partition("=")
                known = frozenset(int(broker) for broker in brokers.split(",") if broker)
                of_topic[fact["topic_id"]][int(number)] = known
    return {name: of_topic[one] for name, one in topic_ids(copy).items() if one in of_topic}


def policies_given(copy: MetadataCopy) -> list[Told]:
    """Each cleanup.policy that a topic was given."""
    return [
        fact
        for fact in copy.of_kind(Configured)
        if fact["number"] == TOPIC_RESOURCE and fact["option"] == CLEANUP_POLICY
    ]


def always_with(copy: MetadataCopy, policy: str) -> frozenset[str]:
    """Topics that were created with this cleanup.policy, each time, and kept it.

    Without an own policy a topic has that of the broker, which may stand in its properties.
    """
    policies: dict[str, list[Told]] = defaultdict(list)
    for fact in policies_given(copy):
        policies[fact["name"]].append(fact)
    created: dict[str, list[Told]] = defaultdict(list)
    for fact in copy.of_kind(CreatedTopic):
        created[fact["name"]].append(fact)
    return frozenset(
        name
        for name, times in created.items()
        if all(fact["value"] == policy for fact in policies[name])
        and all(any(_together(time, fact) for fact in policies[name]) for time in times)
    )


def _together(one: Told, other: Told) -> bool:
    """Whether both stand in one batch, which takes effect as a whole."""
    return (one["file_index"], one["position"]) == (other["file_index"], other["position"])
