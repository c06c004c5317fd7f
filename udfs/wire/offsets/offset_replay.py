"""Offset commits of a split in the order in which they took effect (`OffsetMetadataManager`).

A plain commit takes effect at once. A transactional one is pending until the marker of its
producer: COMMIT makes it the committed offset if no record after it in the log has become that
before, ABORT drops it. Both loaders and both coordinators agree on this.
"""

from typing import NamedTuple

import numpy as np

from udfs.rules.offset_commit import Commit, is_late, takes_effect
from udfs.wire.batches.batch_headers import Bools, Int64s

# Of each key with transactional commits so many at either end may meet those of other splits.
EDGE = 2
# Of a key with plain ones only: all they can do is stand between others.
PLAIN_EDGE = 1


class Commits(NamedTuple):
    """Offset commits in log order, one array element a record; `key` numbers group and partition.

    `producer_id` is -1 for a plain commit; `committed` means nothing where `tombstone` holds.
    """

    key: Int64s
    offset: Int64s
    producer_id: Int64s
    committed: Int64s
    tombstone: Bools


class Markers(NamedTuple):
    """Markers in log order."""

    offset: Int64s
    producer_id: Int64s
    commit: Bools


class InEffect(NamedTuple):
    """Commits that took effect, by key and order: index in `Commits`, and the offset where.

    `ordinal`: its number among those of its key; `number`: how many its key has; `edge`: how many
    of its key at either end are worth keeping.
    """

    record: Int64s
    effective: Int64s
    ordinal: Int64s
    number: Int64s
    edge: Int64s

    @property
    def at_edge(self) -> Bools:
        """Whether what stands before or after it may lie outside the split."""
        near: Bools = (self.ordinal < self.edge) | (self.ordinal >= self.number - self.edge)
        return near


def _settle(commits: Commits, markers: Markers, chosen: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """(record, effective offset, records still pending) of the chosen records, one by one."""
    pending: dict[int, dict[int, int]] = {}
    newest: dict[int, int] = {}
    applied: list[tuple[int, int]] = []
    offsets = np.concatenate((commits.offset[chosen], markers.offset))
    owners = np.concatenate((commits.producer_id[chosen], markers.producer_id)).tolist()
    key = commits.key.tolist()
    for event in np.argsort(offsets, kind="stable").tolist():
        owner = owners[event]
        if event < chosen.size:
            record = int(chosen[event])
            if owner >= 0:
                pending.setdefault(owner, {})[key[record]] = record
            else:
                newest[key[record]] = record
                applied.append((record, int(offsets[event])))
            continue
        ended = pending.pop(owner, {})
        if not markers.commit[event - chosen.size]:
            continue
        for number, record in ended.items():
            # Records are in log order: a smaller index lies before.
            if takes_effect(record, newest.get(number, -1)):
                newest[number] = record
                applied.append((record, int(offsets[event])))
    left = sorted(record for of_producer in pending.values() for record in of_producer.values())
    pairs = np.array(applied, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1], np.array(left, dtype=np.int64)


def take_effect(commits: Commits, markers: Markers) -> tuple[InEffect, Int64s]:
    """What took effect in the split, and the records that are still pending at its end.

    Only keys with a transactional commit are gone through one by one.
    """
    transactional = np.unique(commits.key[commits.producer_id >= 0])
    one_by_one = np.isin(commits.key, transactional)
    plain = np.flatnonzero(~one_by_one)
    record, effective, pending = _settle(commits, markers, np.flatnonzero(one_by_one))
    record = np.concatenate((plain, record))
    effective = np.concatenate((commits.offset[plain], effective))
    order = np.lexsort((effective, commits.key[record]))
    record, effective = record[order], effective[order]
    _, first, number = np.unique(commits.key[record], return_index=True, return_counts=True)
    number_of_key = np.repeat(number, number)
    ordinal = np.arange(record.size) - np.repeat(first, number)
    edge = np.where(one_by_one[record], EDGE, PLAIN_EDGE)
    return InEffect(record, effective, ordinal, number_of_key, edge), pending


def went_back(commits: Commits, effect: InEffect) -> Int64s:
    """Indices in `effect` of transactional commits that look like late ones."""
    here = np.arange(1, effect.record.size - 1)
    middle = (effect.ordinal[here] > 0) & (effect.ordinal[here] < effect.number[here] - 1)
    here = here[middle]
    before, now, after = (effect.record[here + step] for step in (-1, 0, 1))
    none_deleted = ~(commits.tombstone[before] | commits.tombstone[now] | commits.tombstone[after])
    three = (Commit(commits.producer_id[at], commits.committed[at]) for at in (before, now, after))
    found: Int64s = here[none_deleted & is_late(*three)]
    return found
