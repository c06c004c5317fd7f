"""A record of `__transaction_state`: its key, its value, and the states of a transaction."""

import struct
from typing import NamedTuple

from jobs.report.recheck.results import UndecidedError
from jobs.report.recheck.wire import counted, tagged

COORDINATOR_HEAD, COORDINATOR_TIMES = struct.Struct(">hqhib"), struct.Struct(">qq")
EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)
PREPARED, COMPLETE = (PREPARE_COMMIT, PREPARE_ABORT), (COMPLETE_COMMIT, COMPLETE_ABORT)
COMMITTED = (PREPARE_COMMIT, COMPLETE_COMMIT)
AT_REST = (EMPTY, *COMPLETE)
# Tags of a value: previous and next producer id, version of the client, next producer epoch.
KNOWN_TAGS, TAG_NEXT_PRODUCER, TAG_CLIENT_VERSION = (0, 1, 2, 3), 1, 2


class State(NamedTuple):
    """A value of `__transaction_state`; `places`: topic and partition of each that it lists.

    `announced`: the producer id that follows, -1 for none.
    """

    producer: int
    epoch: int
    timeout_ms: int
    state: int
    update_ms: int
    start_ms: int
    places: tuple[tuple[str, int], ...]
    client_version: int
    unknown_tags: tuple[int, ...]
    announced: int


def identity(key: bytes | None) -> str:
    """The transactional id of a key; raises ValueError where it is none."""
    if key is None or len(key) < 4:
        raise ValueError("no key of a transactional id")
    version, size = struct.unpack_from(">hh", key)
    if version != 0:
        raise UndecidedError(f"a key of version {version} is not known")
    if size < 0 or len(key) != 4 + size:
        raise ValueError("a key of another length")
    return key[4:].decode("utf-8", "replace")


def state_of(value: bytes | None) -> State | None:
    """A value of version 0 or 1, None for a tombstone; raises ValueError where it is none."""
    if value is None:
        return None
    if len(value) < COORDINATOR_HEAD.size:
        raise ValueError("too short")
    version, producer, epoch, timeout, state = COORDINATOR_HEAD.unpack_from(value)
    if version not in (0, 1):
        raise UndecidedError(f"a value of version {version} is not known")
    places, at = listed_places(value, COORDINATOR_HEAD.size, version == 1)
    if at + COORDINATOR_TIMES.size > len(value):
        raise ValueError("a value that is cut off")
    update, start = COORDINATOR_TIMES.unpack_from(value, at)
    at += COORDINATOR_TIMES.size
    tags: dict[int, bytes] = {}
    if version == 1:
        tags, at = tagged(value, at)
    if at != len(value):
        raise ValueError("bytes after the last field")
    client = int.from_bytes(tags.get(TAG_CLIENT_VERSION, b"\0"), "big")
    unknown = tuple(sorted(set(tags) - set(KNOWN_TAGS)))
    announced = int.from_bytes(tags.get(TAG_NEXT_PRODUCER, b"\xff"), "big", signed=True)
    return State(producer, epoch, timeout, state, update, start, places, client, unknown, announced)


def listed_places(data: bytes, at: int, flexible: bool) -> tuple[tuple[tuple[str, int], ...], int]:
    """The partitions of a value and where they end."""
    topics, at = counted(data, at, flexible, ">i")
    places: list[tuple[str, int]] = []
    for _ in range(topics):
        size, at = counted(data, at, flexible, ">h")
        topic, at = data[at : at + size].decode("utf-8", "replace"), at + size
        number, at = counted(data, at, flexible, ">i")
        if size < 0 or number < 0 or at + 4 * number > len(data):
            raise ValueError("a list that is cut off")
        places += [(topic, one) for one in struct.unpack_from(f">{number}i", data, at)]
        at += 4 * number
        if flexible:
            _, at = tagged(data, at)
    return tuple(places), at
