"""Texts of snapshots and indexes: they tell what the dumped files hold, as far as they go."""

import io
import tarfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from split_rows import rows_of_split
from test_wire_text_dump import HEADERS, OPTIONS, split

from schemas import log_row
from udfs.arrow.batches import DecodeOptions
from udfs.arrow.producer_states import unpack_states
from udfs.wire.errors import WireError
from udfs.wire.side_files.producer_state import STATE, UNTOLD
from udfs.wire.side_files.snapshot_differences import COMPARED, Replayed, compare
from udfs.wire.text import text_dump
from udfs.wire.text.text_sections import sections
from udfs.wire.text.text_side_files import read_states

DUMPS = Path(__file__).resolve().parent.parent / "dumps"
KINDS = {
    "log": "segment",
    "snapshot": "producer_snapshot",
    "index": "offset_index",
    "timeindex": "time_index",
}
PLACES = {"position", "length", "entry_position", "entry_bytes"}


def items(text: bytes) -> list[text_dump.Item]:
    return list(text_dump.TextDump(io.BytesIO(text), 0, len(text), 1).items())


def rows(
    path: str, data: bytes, in_text: bool, options: DecodeOptions = OPTIONS, **more: Any
) -> list[dict[str, Any]]:
    """What a file says of producers and of entries, without places."""
    section = sections(io.BytesIO(data), len(data))[0] if in_text else None
    given = split(path, len(data), section) | {"kind": KINDS[path.rpartition(".")[2]]} | more
    found = []
    for row in rows_of_split(io.BytesIO(data), given, options):
        if told := row["producer_states"]:
            states = unpack_states(told.pop("states"))
            kept = [name for name in STATE.names or () if name not in PLACES]
            found.append(told | {name: states[name].tolist() for name in kept})
        elif told := row["side_fault"] or row["snapshot_fault"]:
            found.append({name: of for name, of in told.items() if name not in PLACES})
    return found


def beside(files: dict[str, bytes], path: str, in_text: bool) -> list[dict[str, Any]]:
    """The indexes of a segment."""
    stem, found = path.removesuffix("log"), []
    for suffix in ("index", "timeindex"):
        data = files.get(f"{stem}{suffix}")
        if data is not None:
            found.append(
                {
                    "kind": KINDS[suffix],
                    "file_index": 1,
                    "size": len(data),
                    "opened": partial(io.BytesIO, data),
                    "first_byte": 0 if in_text else None,
                    "first_line": 1 if in_text else None,
                }
            )
    return found


@pytest.mark.parametrize("name", ["v28-legacy-format", "v39-tv0"])
def test_a_text_tells_what_the_dumped_files_hold(name: str) -> None:
    stored: dict[str, bytes] = {}
    texts: dict[str, bytes] = {}
    with tarfile.open(DUMPS / f"{name}.tar.gz") as archive:
        for member in archive:
            opened = archive.extractfile(member)
            if opened is None or "__cluster_metadata" in member.name:
                continue
            if "/oracle/dump-log/" in member.name and member.name.endswith(".txt"):
                path = member.name.replace("/oracle/dump-log/", "/dump/broker-")
                texts[path.removesuffix(".txt")] = opened.read()
            elif "/dump/broker-" in member.name:
                stored[member.name] = opened.read()
    compared, states = dict.fromkeys(KINDS, 0), 0
    for path, text in texts.items():
        kind = path.rpartition(".")[2]
        if kind not in KINDS:
            continue
        folder = path.rpartition("/")[0] + "/"
        snapshots = [one for one in stored if one.startswith(folder) and one.endswith(".snapshot")]
        bounds = sorted({0} | {int(Path(one).stem) for one in snapshots})
        from_text, from_bytes = (
            rows(path, files[path], files is texts, snapshots=bounds,
                 beside=beside(files, path, files is texts))
            for files in (texts, stored)
        )  # fmt: skip
        if kind == "snapshot":
            if not sections(io.BytesIO(text), len(text))[0].of_side_file:
                assert not from_bytes[0]["number"]
                continue
            assert from_text[0].pop("in_text") and not from_bytes[0].pop("in_text")
            told = [time != UNTOLD for time in from_text[0]["timestamp"]]
            for one in (from_text, from_bytes):
                for column in ("timestamp", "data_timestamp"):
                    one[0][column] = np.where(told, one[0][column], UNTOLD).tolist()
            states += len(told)
        assert from_text == from_bytes, path
        compared[kind] += 1
    assert all(compared.values()) and states > 20


STATES = {
    "0.11": "producerId: 7 producerEpoch: 2 lastSequence: 5 lastOffset: 9 offsetDelta: 1 "
    "lastTimestamp: 17 coordinatorEpoch: 3 currentTxnFirstOffset: Some(8)",
    "1.0": "producerId: 7 producerEpoch: 2 coordinatorEpoch: 3 currentTxnFirstOffset: Some(8) "
    "firstSequence: 4 lastSequence: 5 lastOffset: 9 offsetDelta: 1 timestamp: 17",
    "3.5": "producerId: 7 producerEpoch: 2 coordinatorEpoch: 3 currentTxnFirstOffset: "
    "OptionalLong[8] lastTimestamp: 17 firstSequence: 4 lastSequence: 5 lastOffset: 9 "
    "offsetDelta: 1 timestamp: 17",
}


@pytest.mark.parametrize("release", STATES)
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_states_of_all_releases(release: str, line_break: str) -> None:
    (state,) = read_states(items(f"{STATES[release]}{line_break}".encode()), 0)
    assert [int(state[name]) for name in COMPARED] == [2, 5, 9, 1, 17, 3, 8]
    assert int(state["position"]) == 1


def test_a_marker_without_data_has_no_timestamp_up_to_3_0_and_is_not_compared_by_it() -> None:
    line = b"producerId: 7 producerEpoch: 2 coordinatorEpoch: 3 currentTxnFirstOffset: None \n"
    states = read_states(items(line), 0)
    assert [int(states[0][name]) for name in COMPARED] == [2, -1, -1, 0, UNTOLD, 3, -1]
    known = states.copy()
    known["timestamp"] = 17
    assert not compare(Replayed(known, known, 0, True, 0), states, 1 << 40).log.size
    known["last_offset"], known["last_sequence"], known["marker_offset"] = 4, 4, 5
    # A broker that had forgotten the producer before the marker writes the same.
    assert not compare(Replayed(known, known, 0, False, 0), states, 1 << 40).log.size
    known["marker_offset"] = 3
    assert compare(Replayed(known, known, 0, False, 0), states, 1 << 40).log.size == 1


SNAPSHOT = "orders-0/00000000000000000010.snapshot"
DUMPED = f"Dumping /k/{SNAPSHOT}\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Snapshot is corrupt (CRC is no longer valid). Stored crc: 1. Computed crc: 2",
         "told_unreadable"),
        ("Snapshot failed schema validation: null", "told_unreadable"),
        (STATES["3.5"] + "\n" + STATES["3.5"], "producer_repeated"),
    ],
)  # fmt: skip
def test_what_the_tool_says_of_a_bad_snapshot_is_told(line: str, reason: str) -> None:
    text = f"{DUMPED}{line}\n".encode()
    (fault,) = rows(SNAPSHOT, text, in_text=True, snapshots=[0, 10])
    assert fault["reason"] == reason and fault["newest"]


def test_states_where_the_log_begins_are_known_and_others_are_not() -> None:
    text = f"{DUMPED}{STATES['3.5']}\n".encode()
    (section,) = sections(io.BytesIO(text), len(text))
    given = split(SNAPSHOT, len(text), section) | {
        "kind": "producer_snapshot", "snapshots": [10], "log_base": 10,
    }  # fmt: skip
    found = rows_of_split(io.BytesIO(text), given, HEADERS)
    (run,) = [row for row in found if row["kind"] == log_row.RUN]
    assert (run["producer_id"], run["first_offset"], run["initial"]) == (7, 8, True)
    assert (run["first_position"], run["first_length"]) == (2, 1)
    # Nothing says that the text has all entries of the file.
    (summary,) = [row["summary"] for row in found if row["kind"] == log_row.SUMMARY]
    assert not summary["starts_log"] and summary["error"] is None


def test_a_line_cut_short_is_told() -> None:
    text = f"{DUMPED}{STATES['3.5']}".encode()
    (section,) = sections(io.BytesIO(text), len(text))
    given = split(SNAPSHOT, len(text), section) | {"kind": "producer_snapshot"}
    (row,) = rows_of_split(io.BytesIO(text), given, OPTIONS)
    assert "line 2" in row["summary"]["error"]


def test_numbers_that_no_snapshot_stores_are_no_line_of_the_tool() -> None:
    for name in ("producerEpoch: 2", "lastSequence: 5", "lastOffset: 9"):
        text = STATES["3.5"].replace(name, name.split()[0] + " " + "9" * 19) + "\n"
        assert not read_states(items(text.encode()), 0).size
    with pytest.raises(WireError, match="occurs twice"):
        read_states(items((STATES["0.11"] + "\n").encode() * 2), 0)


BATCH = (
    "baseOffset: {0} lastOffset: {0} count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 "
    "producerEpoch: -1 partitionLeaderEpoch: 0 isTransactional: false isControl: false position: "
    "{1} CreateTime: {2} size: 70 magic: 2 compresscodec: none crc: 1 isvalid: true\n"
)


def index_faults(entries: str, kind: str) -> list[tuple[str, int, int]]:
    """(what, line of the entry, line of the batch) of an index beside three batches."""
    log = "Dumping /k/orders-0/00000000000000000000.log\n" + "".join(
        BATCH.format(i, 70 * i, 17 + i) for i in range(3)
    )
    index = f"Dumping /k/orders-0/00000000000000000000.{kind}\n{entries}"
    named = beside({f"x.{kind}": index.encode()}, "x.log", in_text=True)
    (section,) = sections(io.BytesIO(log.encode()), len(log))
    given = split("orders-0/00000000000000000000.log", len(log), section) | {"beside": named}
    return [
        (row["side_fault"]["fault"], row["side_fault"]["entry_position"],
         row["side_fault"]["position"])
        for row in rows_of_split(io.BytesIO(log.encode()), given, HEADERS) if row["side_fault"]
    ]  # fmt: skip


def test_an_index_is_held_against_the_batches_that_another_section_tells() -> None:
    right = "offset: 1 position: 70\noffset: 2 position: 140\n"
    assert not index_faults(right, "index")
    assert not index_faults("offset: 0 position: 0\n", "index")
    assert index_faults(right.replace(": 140", ": 141"), "index") == [("no_batch", 3, 4)]
    assert not index_faults("timestamp: 18 offset: 1\n", "timeindex")
    assert index_faults("timestamp: 19 offset: 1\n", "timeindex") == [("not_of_batch", 2, 3)]
    # The tool's own opinion is no finding.
    said = f"Mismatches in :/k/a.index\n  Index offset: 1, log offset: 0\n{right}"
    assert not index_faults(said, "index")
