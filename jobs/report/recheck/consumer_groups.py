"""Claims about records of `__consumer_offsets`: offset commits and classic groups."""

import struct

from jobs.report.recheck.batches import Batch, Record
from jobs.report.recheck.cases import Case
from jobs.report.recheck.internal_topics import placed
from jobs.report.recheck.results import HoldsError
from jobs.report.recheck.wire import counted, sized, tagged


def misplaced_group(case: Case) -> bool | None:
    """The group of a record belongs to another partition, if the dump has all of them."""
    numbers = {int(o.name.rpartition("-")[2]) for o in case.dump.copies_of(case.place[0])}
    if numbers != set(range(len(numbers))):
        raise HoldsError(
            "the bytes are there and whole; how many partitions there are is not known"
        )
    for record in case.proofs[-1].batch.records():
        if case.finding.get("offset_first") in (None, record.offset):
            return placed(group_of(record.key), len(numbers)) != case.place[1]
    return False


def group_of(key: bytes | None) -> str:
    """The group of a key of `__consumer_offsets`."""
    if key is None or len(key) < 4:
        raise ValueError("no key of a group")
    (size,) = struct.unpack_from(">h", key, 2)
    if size < 0 or len(key) < 4 + size:
        raise ValueError("a key that is cut off")
    return key[4 : 4 + size].decode("utf-8", "replace")


def read_group(record: Record) -> None:
    """Reads an offset commit or a classic group; raises ValueError where it is none."""
    if record.key is None:
        raise ValueError("no key")
    (kind,) = struct.unpack_from(">h", record.key)
    if not 0 <= kind <= 2:
        return
    at = text(record.key, 2, False)
    if kind < 2:
        at = text(record.key, at, False) + 4
    if at != len(record.key):
        raise ValueError("a key of another length")
    if record.value is not None:
        end = commit_end(record.value) if kind < 2 else group_end(record.value)
        if end != len(record.value):
            raise ValueError("a value of another length")


def text(data: bytes, at: int, flexible: bool, null: bool = False) -> int:
    """Where a string ends; raises ValueError where it is null and must not be."""
    content, at = sized(data, at, ">h", flexible)
    if content is None and not null:
        raise ValueError("a string that is null")
    (content or b"").decode()
    return at


def commit_end(value: bytes) -> int:
    """Where the value of an offset commit ends; any bytes count as its metadata."""
    (version,) = struct.unpack_from(">h", value)
    if version not in range(5):
        raise ValueError("a version that is not known")
    metadata, at = sized(value, 14 if version >= 3 else 10, ">h", version >= 4)
    if metadata is None:
        raise ValueError("metadata that are null")
    at += 16 if version == 1 else 8
    if version >= 4:
        tags, at = tagged(value, at)
        if len(tags.get(0, bytes(16))) != 16:
            raise ValueError("a topic id of another size")
    return at


def group_end(value: bytes) -> int:
    """Where the value of a classic group ends."""
    (version,) = struct.unpack_from(">h", value)
    if version not in range(5):
        raise ValueError("a version that is not known")
    flexible = version >= 4
    at = text(value, 2, flexible) + 4
    at = text(value, text(value, at, flexible, null=True), flexible, null=True)
    members, at = counted(value, at + (8 if version >= 2 else 0), flexible, ">i")
    if members < 0:
        raise ValueError("no members")
    for _ in range(members):
        at = text(value, at, flexible)
        if version >= 3:
            at = text(value, at, flexible, null=True)
        at = text(value, text(value, at, flexible), flexible) + (8 if version >= 1 else 4)
        for _ in range(2):
            content, at = sized(value, at, ">i", flexible)
            if content is None:
                raise ValueError("bytes that are null")
        at = tagged(value, at)[1] if flexible else at
    return tagged(value, at)[1] if flexible else at


def committed(batch: Batch) -> dict[bytes, int]:
    """Offsets by key of a batch of `__consumer_offsets`; other records are left out."""
    found = {}
    for one in batch.records():
        if one.key and one.value and one.key[:2] in (b"\0\0", b"\0\1") and len(one.value) >= 10:
            (found[one.key],) = struct.unpack_from(">q", one.value, 2)
    return found


def went_back(case: Case) -> bool | None:
    """One committed offset is lower than the one before, and the next one is higher than both."""
    if len(case.proofs) < 3:
        return None
    before, lower, after = (committed(one.batch) for one in case.proofs)
    keys = before.keys() & lower.keys() & after.keys()
    return any(lower[key] < before[key] < after[key] for key in keys)


def committed_of(key: bytes) -> tuple[str, int]:
    """Topic and partition of the key of an offset commit."""
    at = text(key, 2, False)
    end = text(key, at, False)
    (number,) = struct.unpack_from(">i", key, end)
    return key[at + 2 : end].decode("utf-8", "replace"), number


def beyond_end(case: Case) -> bool | None:
    """A committed offset lies behind the end of each copy of its partition."""
    topic, number = case.place
    ends = [case.dump.copy(one).end for one in case.dump.folders(f"{topic}-{number}")]
    told = committed(case.proofs[-1].batch)
    mine = [offset for key, offset in told.items() if committed_of(key) == case.place]
    return bool(ends) and any(offset > max(ends) for offset in mine)
