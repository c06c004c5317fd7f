"""States of producers: stretch by stretch as batch by batch, and as real brokers stored them."""

import itertools
import tarfile
from pathlib import Path, PurePosixPath

import pytest
from changed_states import NOBODY, states_behind
from hypothesis import given
from hypothesis import strategies as st
from snapshot_files import replay

from tests.wire_writer.batches import CONTROL_KEY, MARKER_VALUE, batch, record
from tests.wire_writer.producer_snapshot import encode
from udfs.wire.side_files.producer_snapshot import read_entries
from udfs.wire.side_files.producer_state import States, follow
from udfs.wire.side_files.snapshot_differences import (
    COMPARED,
    Differences,
    Replayed,
    compare,
    stored_states,
)

DUMPS = Path(__file__).resolve().parents[1] / "dumps"


def differences(log: States, snapshot: States) -> Differences:
    """What differs where nothing was taken from the log, and nothing can have expired."""
    return compare(Replayed(log, log, 0, True, -1), snapshot, 1 << 40)


event = st.tuples(
    st.integers(1, 3),  # producer id
    st.integers(0, 2),  # epoch
    st.sampled_from(("data", "txn", "commit", "abort")),
    st.integers(1, 3),  # records
)


def built(events: list[tuple[int, int, str, int]]) -> list[bytes]:
    """One batch an event; what a healthy producer would never write is in it too."""
    log, offset = [], 0
    for moment, (producer_id, epoch, what, size) in enumerate(events):
        marker = what in ("commit", "abort")
        section = [record(i, 0, b"k", b"v") for i in range(1 if marker else size)]
        if marker:
            kind = CONTROL_KEY.pack(0, int(what == "commit"))
            section = [record(0, 0, kind, MARKER_VALUE.pack(0, moment))]
        log.append(
            batch(
                offset,
                section,
                base_timestamp=moment,
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=-1 if marker else moment,
                transactional=what != "data",
                control=marker,
            )
        )
        offset += len(section)
    return log


@given(st.lists(event, max_size=30), st.lists(st.integers(0, 30), max_size=4))
def test_stretches_give_what_the_batches_give_one_by_one(
    events: list[tuple[int, int, str, int]], cuts: list[int]
) -> None:
    log = built(events)
    bounds = sorted({0, len(log), *(cut for cut in cuts if cut < len(log))})
    states = NOBODY
    for first, end in itertools.pairwise(bounds):
        states = follow(states, states_behind(b"".join(log[first:end])))
    expected = stored_states(read_entries(encode(replay(log, [], 0, 1 << 60))), 0)
    assert differences(states, expected).log.size == 0


@pytest.mark.parametrize("name", ["tv2-basic", "tv2-operator", "v39-hanging", "mixed-clients"])
def test_snapshots_of_real_brokers_hold_what_their_logs_lead_to_and_no_change_passes(
    name: str,
) -> None:
    logs: dict[PurePosixPath, dict[str, bytes]] = {}
    cleaned: list[str] = []
    with tarfile.open(DUMPS / f"{name}.tar.gz") as archive:
        for member in archive:
            path, content = PurePosixPath(member.name), archive.extractfile(member)
            if path.suffix in (".log", ".snapshot") and content:
                logs.setdefault(path.parent, {})[path.name] = content.read()
            if path.name == "cleaner-offset-checkpoint" and content:
                lines = content.read().decode().splitlines()[2:]
                cleaned += ["-".join(line.split()[:2]) for line in lines]
    compared = 0
    for folder, files in logs.items():
        if folder.name in cleaned or folder.name.startswith("__"):
            continue
        log = b"".join(files[one] for one in sorted(files) if one.endswith(".log"))
        for one in (one for one in files if one.endswith(".snapshot")):
            right = replay([log], [], 0, int(one[:20]))
            stored = stored_states(read_entries(files[one]), 0)
            replayed = stored_states(read_entries(encode(right)), 0)
            assert differences(replayed, stored).log.size == 0, one
            compared += stored.size
            for field in COMPARED if stored.size else ():
                changed = stored.copy()
                changed[field][-1] += 7
                told = differences(replayed, changed)
                assert told.forgotten.tolist() == [False], (one, field)
    assert compared > 20
