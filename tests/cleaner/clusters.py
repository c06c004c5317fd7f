"""Seeded clusters of the model (`model.world`), of which the topics were cleaned; all is legal.

The coordinators' logs are whole, so that an audit knows what was decided of each transaction. Of a
topic's copies each is cleaned for itself, some never. Between the passes there are DeleteRecords
and retention, where the policy has `delete`. Passes are broken off, or their map is full. Some
producers are forgotten (`producer.id.expiration.ms`), some brokers have come back without
snapshots, some copies are those of new followers, some brokers were killed.

Left out: the internal topics are not cleaned, and neither are magic 0 and 1 (the laws clean the
internal topics of real brokers). No copy lags behind when the dump is taken, none was truncated
(`LogCleanerManager.maybeTruncateCheckpoint`), none moved between disks (`alterCheckpointDir`), and
no policy was altered.
"""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from laws import head
from laws.dump_files import CLEAN_SHUTDOWN, METADATA, Directory, Dump, Partition
from laws.log_batches import batches
from laws.rename import BROKER_STEP, PRODUCER_STEP
from log_builder import LogBuilder
from model.world import METADATA_UNTIL_S, Plan, World, topic_of

from cleaner.copies import Copy
from cleaner.log_cleaner import ANY_SIZE, DELETE_RETENTION_MS, Pass, records_of
from tests.wire_writer import batches as writer

KEYS, TOMBSTONES = 25, 0.12
DAY_MS = 86_400_000
# For so long nothing was appended before the dump was taken.
IDLE_MS = 60_000
# None: no ConfigRecord tells it, the brokers' own `log.cleanup.policy` holds.
POLICIES = ("compact", "compact,delete", "compact,delete", None)


class Made(NamedTuple):
    """A dump; `moment`: its last, ms; `took`: what the cleaners took."""

    dump: Dump
    moment: int
    took: Counter[str]


def clusters(seed: str, count: int) -> Made:
    """So many clusters, side by side in one dump."""
    made: list[Directory] = []
    brokers, policies, moment = [], [], 0
    took: Counter[str] = Counter()
    for index in range(count):
        rng = Random(f"{seed} {index} cleaner")
        plan = _plan(rng)
        world = World(f"{seed} {index}", plan, index, count)
        directories = list(world.directories())
        policies.append(rng.choice(POLICIES))
        took += _age(world, directories, policies[-1] or "compact,delete", rng)
        brokers.append(plan.copies)
        moment = max(moment, world.now + IDLE_MS)
        made += directories
    made[0].partitions.append(_metadata(brokers, policies))
    return Made(Dump(made), moment, took)


def _plan(rng: Random) -> Plan:
    return Plan(
        ids=rng.choice((4, 8)),
        transactions=rng.choice((3, 8, 14)),
        segment_bytes=rng.choice((1_500, 3_000, 9_000)),
        left_open=rng.choice((0.0, 0.0, 0.0, 0.3)),
        versions=rng.choice(((0, 1, 2, 2), (2,), (1,))),
        copies=rng.choice((1, 2, 2, 3)),
        pace=rng.choice((1, 20, 60)),
    )


def _metadata(brokers: Sequence[int], policies: Sequence[str | None]) -> Partition:
    """`__cluster_metadata`, as `model.world.metadata_of` writes it, with these policies."""
    log = LogBuilder()
    for index, copies in enumerate(brokers):
        for copy in range(copies):
            log.register_broker(index * BROKER_STEP + copy + 1)
    for index, policy in enumerate(policies):
        log.create_topic(topic_of(index), policy)
    log.add(f"ids {(1 + len(brokers)) * PRODUCER_STEP} at={METADATA_UNTIL_S}")
    files = {f"{base:020}.log": bytes(content) for base, content in log.segments.items()}
    return Partition(METADATA, 0, files)


def _age(world: World, directories: Sequence[Directory], policy: str, rng: Random) -> Counter[str]:
    """Cleans the topic of a world, a partition after the other."""
    release = rng.choice(((3, 9), (4, 0)))
    retention_ms = rng.choice((DELETE_RETENTION_MS, DELETE_RETENTION_MS, 60_000, DAY_MS))
    took: Counter[str] = Counter()
    for number in range(world.plan.partitions):
        place = topic_of(world.index), number
        found = [(at, one) for at in directories for one in at.partitions if one.place == place]
        with_keys(found[0][1], rng)
        written = {n: b for n, b in found[0][1].files.items() if n.endswith(".log")}
        copies = []
        for directory, one in found:
            one.files |= written
            head.roll(directory, one, rng, rng.choice((0, 4, 8, 12)))
            copies.append(Copy(directory, one))
        starts = []
        if "delete" in policy and rng.random() < 0.4:
            starts = [rng.choice(copies[0].bounds())]
        for copy in copies:
            # Only one that is not the leader's may be behind.
            behind = copy is not copies[0] and rng.random() < 0.4
            moments = _moments(copy, world.now, behind, rng)
            asked = Pass(release, 0, 0, {}, retention_ms)
            _live(copy, moments, asked, starts, "delete" in policy, rng)
        if len(copies) > 1 and rng.random() < 0.3:
            copies[1].fetch_from(copies[0], rng)
        for copy in copies:
            copy.store()
            took += copy.took
    if rng.random() < 0.1:
        for directory in directories:
            directory.files.pop(CLEAN_SHUTDOWN, None)
    return took


def with_keys(one: Partition, rng: Random) -> None:
    """Gives all records of clients keys that come again, and takes the values of some."""
    for base in one.bases():
        parts = []
        for batch in batches(one.segment(base)):
            if batch.control:
                parts.append(batch.content)
                continue
            records = [
                writer.record(
                    old.offset_delta, old.timestamp_delta, b"k%d" % rng.randrange(KEYS),
                    None if rng.random() < TOMBSTONES else b"v%d" % rng.randrange(10**9),
                )
                for old in records_of(batch)
            ]  # fmt: skip
            parts.append(
                writer.batch(
                    batch.base_offset, records, base_timestamp=batch.base_timestamp,
                    producer_id=batch.producer_id, producer_epoch=batch.producer_epoch,
                    base_sequence=batch.base_sequence, transactional=batch.transactional,
                    partition_leader_epoch=batch.leader_epoch, max_timestamp=batch.max_timestamp,
                )
            )  # fmt: skip
        one.files[f"{base:020}.log"] = b"".join(parts)


def _live(
    copy: Copy,
    moments: Sequence[tuple[int, int]],
    asked: Pass,
    starts: Sequence[int],
    deletes: bool,
    rng: Random,
) -> None:
    """What happens to a copy until the dump.

    `moments`: of its passes, as `_moments` has them; `starts`: where DeleteRecords moves the log
    start; `deletes`: whether the policy has retention.
    """
    waiting = list(starts)
    if rng.random() < 0.3:
        copy.expires_ms = rng.choice((DELETE_RETENTION_MS, IDLE_MS, 10 * IDLE_MS))
    for end, at in moments:
        while waiting and waiting[0] <= end and rng.random() < 0.6:
            copy.delete_records(waiting.pop(0))
            if rng.random() < 0.5:
                copy.delete_below_start()
        copy.clean(end, _drawn(asked._replace(now=at), copy, rng), rng)
        if deletes and rng.random() < 0.12:
            copy.retention(end, rng)
    for to in waiting:
        copy.delete_records(to)
    if rng.random() < 0.3:
        copy.delete_below_start()
    if copy.expires_ms is not None:
        copy.stop(
            copy.known(copy.end, max([copy.appended_at(copy.end), *(at for _, at in moments)]))
        )
    elif rng.random() < 0.3:
        copy.restart()


def _moments(copy: Copy, now: int, behind: bool, rng: Random) -> list[tuple[int, int]]:
    """Of each pass where the log ended, and when it was, ms; none of a copy never cleaned.

    `now`: of the last append to the leader's log; a follower that is behind comes to its batches
    later. At the end nothing becomes dirty but what a pass before has left so.
    """
    if rng.random() < 0.12:
        return []
    early = sorted(rng.choice(copy.bounds()) for _ in range(rng.choice((1, 2, 4, 8))))
    ends = [*early, *[copy.end] * rng.choice((1, 1, 2))]
    return [
        (end, now + 2 * DELETE_RETENTION_MS * (index + 1))
        if behind or index >= len(early)
        else (end, copy.appended_at(end))
        for index, end in enumerate(ends)
    ]


def _drawn(asked: Pass, copy: Copy, rng: Random) -> Pass:
    """A pass with groups of any size, at times with a small map, at times broken off."""
    sizes = [segment.size for segment in copy.log.segments]
    return asked._replace(
        segment_bytes=rng.choice((0, *sizes, 2 * max(sizes), sum(sizes))),
        slots=rng.choice((ANY_SIZE, ANY_SIZE, ANY_SIZE, 12)),
        groups=rng.randrange(len(sizes)) if rng.random() < 0.25 else None,
        told=rng.random() < 0.7,
    )
