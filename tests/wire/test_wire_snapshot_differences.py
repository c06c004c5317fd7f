"""A producer snapshot beside a log in which batches are missing: what is left may deny it."""

from collections.abc import Iterable

import numpy as np
import pytest
from changed_states import states_behind
from hypothesis import given
from hypothesis import strategies as st
from snapshot_files import replay

from tests.wire_writer.batches import CONTROL_KEY, MARKER_VALUE, batch, record
from tests.wire_writer.producer_snapshot import encode
from udfs.wire.side_files.producer_snapshot import ProducerSnapshotEntry, read_entries
from udfs.wire.side_files.producer_state import NONE, States
from udfs.wire.side_files.snapshot_differences import (
    Differences,
    Replayed,
    Unread,
    compare,
    stored_states,
)

# Producer 3 has no transactions.
TRANSACTIONAL = (1, 2)
END = 1 << 60

Batches = list[tuple[int, int, bytes]]
step = st.tuples(
    st.integers(1, 3),  # producer id
    st.sampled_from(("data", "data", "end", "fence")),
    st.integers(1, 3),  # records
)


def healthy(steps: Iterable[tuple[int, str, int]]) -> Batches:
    """(first offset, offset behind, bytes) of each batch.

    A marker ends what its producer has open: of the same epoch, or of the next one.
    """
    log: Batches = []
    offset, epochs, sequences = 0, dict.fromkeys((1, 2, 3), 0), dict.fromkeys((1, 2, 3), 0)
    for moment, (producer, what, size) in enumerate(steps):
        marker = producer in TRANSACTIONAL and what != "data"
        if what == "fence":
            epochs[producer], sequences[producer] = epochs[producer] + 1, 0
        content = [record(i, 0, b"k", b"v") for i in range(1 if marker else size)]
        if marker:
            content = [record(0, 0, CONTROL_KEY.pack(0, 1), MARKER_VALUE.pack(0, moment))]
        data = batch(
            offset,
            content,
            base_timestamp=moment,
            producer_id=producer,
            producer_epoch=epochs[producer],
            base_sequence=-1 if marker else sequences[producer],
            transactional=producer in TRANSACTIONAL,
            control=marker,
        )
        log.append((offset, offset + len(content), data))
        offset += len(content)
        sequences[producer] += 0 if marker else size
    return log


def changed_by(batches: Batches) -> States:
    """What batches change."""
    return states_behind(b"".join(data for *_, data in batches))


def stored(entries: list[ProducerSnapshotEntry]) -> States:
    """The entries as the snapshot of a broker has them."""
    return stored_states(read_entries(encode(entries)), 0)


def unread_of(missing: Batches) -> Unread:
    """Those of missing batches, which may be anybody's."""
    first, end = ([one[i] for one in missing] for i in (0, 1))
    return Unread(
        np.array(first, dtype=np.int64),
        np.array(end, dtype=np.int64),
        np.full(len(missing), NONE, dtype=np.int64),
        np.full(len(missing), NONE, dtype=np.int64),
    )


def beside(
    log: Batches, missing: set[int], snapshot: States, log_start: int = 0, start: int = 0
) -> Differences:
    """What differs where the batches of these numbers are missing, and no state is known before."""
    there = [one for i, one in enumerate(log) if i not in missing]
    gone = unread_of([one for i, one in enumerate(log) if i in missing])
    kept = changed_by([one for one in there if one[1] > log_start])
    return compare(
        Replayed(changed_by(there), kept, log_start, False, -1, start, gone), snapshot, 1 << 40
    )


@given(
    st.lists(step, min_size=1, max_size=25),
    st.sets(st.integers(0, 24)),
    st.integers(0, 24),
    st.sets(st.integers(1, 3)),
)
def test_no_right_snapshot_is_denied_whatever_is_missing(
    steps: list[tuple[int, str, int]], missing: set[int], moment: int, idle: set[int]
) -> None:
    log = healthy(steps)
    offset = log[min(moment, len(log) - 1)][0]
    data = [content for *_, content in log]
    # A broker forgets producers that have nothing open.
    then = [
        one
        for one in replay(data, [], 0, offset)
        if one.producer_id not in idle or one.current_txn_first_offset >= 0
    ]
    right = stored(replay(data, then, offset, END))
    assert beside(log, missing, right).log.size == 0
    # The log that is left begins there, and what lay before is not known.
    later = [one for one in log if one[0] >= offset]
    gone = {i - (len(log) - len(later)) for i in missing}
    assert beside(later, gone, right, start=offset).log.size == 0


@given(st.lists(step, min_size=1, max_size=25), st.sets(st.integers(0, 24)), st.integers(0, 24))
def test_no_snapshot_of_a_broker_that_rebuilt_from_the_log_start_is_denied(
    steps: list[tuple[int, str, int]], missing: set[int], moment: int
) -> None:
    log = healthy(steps)
    offset = log[min(moment, len(log) - 1)][0]
    rebuilt = stored(replay([content for *_, content in log], [], offset, END))
    assert beside(log, missing, rebuilt, log_start=offset).log.size == 0


LOST = {0}
LEADS = [(3, "data", 2)]


@pytest.mark.parametrize(
    ("steps", "field", "value"),
    [
        ([(1, "data", 2)], "producer_epoch", 4),
        ([(1, "data", 2)], "last_sequence", 9),
        ([(1, "data", 2)], "last_offset", 9),
        ([(1, "data", 2)], "offset_delta", 0),
        ([(1, "data", 2)], "current_txn_first_offset", -1),
        ([(1, "data", 2), (1, "data", 1)], "current_txn_first_offset", 4),
        ([(2, "data", 1), (1, "data", 2)], "current_txn_first_offset", 2),
        ([(1, "data", 2), (1, "end", 1)], "current_txn_first_offset", 2),
        ([(1, "data", 2), (1, "end", 1)], "coordinator_epoch", 7),
        ([(1, "data", 2), (1, "end", 1)], "last_sequence", 9),
        ([(1, "data", 2), (1, "fence", 1)], "producer_epoch", 0),
    ],
)
def test_the_newest_batches_deny_whatever_is_missing_before(
    steps: list[tuple[int, str, int]], field: str, value: int
) -> None:
    log = healthy(LEADS + steps)
    right = replay([content for *_, content in log], [], 0, END)
    wrong = [one._replace(**{field: value}) if one.producer_id == 1 else one for one in right]
    assert beside(log, LOST, stored(right)).log.size == 0
    assert beside(log, LOST, stored(wrong)).log["producer_id"].tolist() == [1]


def test_a_forgotten_transaction_is_told_where_its_marker_cannot_be_missing() -> None:
    log = healthy([(3, "data", 1), (1, "data", 1), (3, "data", 1)])
    without = stored([one for one in replay([c for *_, c in log], [], 0, END) if one[0] != 1])
    assert beside(log, {0}, without).log["producer_id"].tolist() == [1]
    assert beside(log, {0, 2}, without).log.size == 0
    states = changed_by(log[1:])
    for owner, told in ((NONE, []), (1, []), (3, [1])):
        unread = Unread(*(np.array([one], dtype=np.int64) for one in (2, 3, owner, NONE)))
        known = Replayed(states, states, 0, False, -1, 1, unread)
        assert compare(known, without, 1 << 40).log["producer_id"].tolist() == told
    # A text may lack the entry, and where nobody knows what is missing nothing is told.
    for cautious in (known._replace(lists_all=False), known._replace(unread=None)):
        assert compare(cautious, without, 1 << 40).log.size == 0
