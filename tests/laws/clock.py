"""Laws about the clients' clocks: what a client puts into a record is its own affair.

CreateTime of data in client topics may be anything: event times, a clock that is wrong. The
batches keep everything else; the expiry of producer state goes by these times, so they only move
into the past (a state that has expired is more that a broker may have forgotten; into the future,
none of what it did forget could be excused). A snapshot tells the time of a producer's newest
batch: it moves along where the batch is there, else the snapshot is left out.
"""

from random import Random

from laws.dump_files import INTERNAL, Dump, Partition
from laws.log_batches import Batch, batches, rewritten, sound
from tests.wire_writer import producer_snapshot as snapshot_writer
from udfs.wire.batches import batch_layout as layout
from udfs.wire.errors import WireError
from udfs.wire.side_files import producer_snapshot

DAY_MS = 86_400_000


def _moved(batch: Batch, past: int, event_times: bool, rng: Random) -> int:
    """By how much a batch moves into the past, ms; 0 where its times are not a client's alone."""
    fixed = layout.CONTROL_MASK | layout.TIMESTAMP_TYPE_MASK | layout.DELETE_HORIZON_MASK
    if batch.magic < 2 or batch.attributes & fixed or batch.base_timestamp < 0:
        return 0
    asked = rng.randint(0, past) if event_times else past
    return min(asked, batch.base_timestamp)


def client_times(dump: Dump, rng: Random) -> int:
    """All client times of a topic's partitions are earlier, by one step or by any a batch."""
    seed = rng.random()
    return sum(
        client_time(one, Random(f"{seed} {one.place}"))
        for _, one in dump.copies()
        if one.topic not in INTERNAL
    )


def client_time(one: Partition, rng: Random) -> bool:
    """All client times of one copy of a partition are earlier."""
    past = rng.choice((60_000, 3_600_000, 10 * DAY_MS, 400 * DAY_MS))
    event_times = rng.random() < 0.5
    if not all(sound(one.segment(base)) for base in one.bases()):
        return False  # Checksums that are made anew would mend what is damaged.
    shifted: dict[tuple[int, int], int] = {}
    for base in one.bases():
        content, parts, size = one.segment(base), [], 0
        for batch in batches(content):
            # Copies of one partition hold the same batches, though perhaps not all of them.
            by = _moved(batch, past, event_times, Random(f"{past} {batch.base_offset}"))
            new = batch.content
            if by:
                first, highest = batch.base_timestamp - by, batch.max_timestamp - by
                new = rewritten(batch, base_timestamp=first, max_timestamp=highest)
            parts.append(new)
            size += len(batch.content)
            shifted[batch.producer_id, batch.max_timestamp] = by
        one.files[f"{base:020}.log"] = b"".join(parts) + content[size:]
        one.drop(base, (".timeindex",))
    _move_snapshots(one, shifted)
    return any(shifted.values())


def _move_snapshots(one: Partition, shifted: dict[tuple[int, int], int]) -> None:
    for offset in one.snapshots():
        name = f"{offset:020}.snapshot"
        try:
            entries = producer_snapshot.decode(one.files[name])
        except WireError:
            del one.files[name]
            continue
        known = [(entry.producer_id, entry.timestamp) in shifted for entry in entries]
        if not all(known):
            del one.files[name]
            continue
        one.files[name] = snapshot_writer.encode(
            entry._replace(timestamp=entry.timestamp - shifted[entry.producer_id, entry.timestamp])
            for entry in entries
        )
