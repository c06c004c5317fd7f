"""Side files of any content: a value, or the one error that is told, never another exception."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.collect.collect import collect
from jobs.collect.manifest import NAME, ManifestError, read_manifest
from udfs.wire import bounds
from udfs.wire.errors import WireError
from udfs.wire.side_files import checkpoints, leader_epochs
from udfs.wire.text import text_offsets

WORDS = st.sampled_from(
    ["0", "1", "-1", "2", "t", "²", "٣", "9" * 5000, str(1 << 63), str((1 << 63) - 1), str(1 << 31),
     "\0", "\ufffd", " ", "\n", "\r\n", "\t", "\f", "\\", "\\u", "\\uZZ", "\\ud800", "\\u0041",
     "=", ":", "#", "!", "node.id", "broker.id", "cluster.id", "1e999"]
)  # fmt: skip
TEXTS = st.lists(WORDS, max_size=40).map("".join) | st.text()
LINES = st.lists(st.lists(WORDS, min_size=1, max_size=4).map(" ".join)).map("\n".join)
FILES = st.binary() | TEXTS.map(str.encode) | LINES.map(str.encode)


@settings(deadline=None)
@given(TEXTS | LINES)
def test_parsers(text: str) -> None:
    for parse in (
        checkpoints.parse_offset_checkpoint, checkpoints.parse_leader_epochs,
        checkpoints.parse_properties, leader_epochs.decode,
    ):  # fmt: skip
        try:
            told = parse(text)
        except WireError as error:
            assert len(error.detail) < 600
            continue
        if isinstance(told, dict):
            for key, value in told.items():
                str(key).encode()
                str(value).encode()
                assert isinstance(value, str) or bounds.LOWEST <= value <= bounds.HIGHEST


@given(st.lists(st.tuples(st.integers(0, 99), st.integers())))
def test_numbers_of_a_checkpoint(entries: list[tuple[int, int]]) -> None:
    lines = [f"t{index} {number} {offset}" for index, (number, offset) in enumerate(entries)]
    try:
        told = checkpoints.parse_offset_checkpoint("\n".join(["0", str(len(lines)), *lines]))
    except WireError as error:
        assert error.reason == "not_a_number"
        return
    assert all(bounds.LOWEST <= offset <= bounds.HIGHEST for offset in told.values())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
ENTRY = st.fixed_dictionaries(
    {"path": st.just("t-0") | JSON, "copy_start_ms": st.integers() | JSON},
    optional={"settled": st.booleans(), "high_watermark": st.integers() | JSON},
)
MANIFESTS = st.fixed_dictionaries(
    {"format": st.just(1) | JSON, "directories": st.lists(ENTRY) | JSON}
)


def manifest(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        (Path(folder) / NAME).write_bytes(content)
        try:
            told = read_manifest(Path(folder))
        except ManifestError as error:
            assert len(str(error)) < 600
            return
    for one in told.copies.values():
        assert 0 <= one.at_ms <= bounds.LATEST
        assert one.high_watermark is None or 0 <= one.high_watermark <= bounds.HIGHEST


@settings(deadline=None)
@given(MANIFESTS | JSON)
def test_manifests(value: Any) -> None:
    manifest(json.dumps(value).encode())


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 1_000_000,
        b'{"format":1,"directories":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"format":1,"directories":[{"path":"t-0","copy_start_ms":1e999}]}',
        b'{"format":1,"directories":[{"path":"t-0","copy_start_ms":10000000000000000000000000}]}',
        b'{"format":1,"directories":[{"path":"t-0","copy_start_ms":' + b"9" * 5000 + b"}]}",
        b'{"format":1,"directories":[{"path":["t-0"],"copy_start_ms":1}]}',
        b'{"format":1,"directories":[{"path":"\\ud800","copy_start_ms":1}]}',
        b'{"format":NaN,"directories":Infinity}',
        b"\xff\xfe\0\0",
        b"",
    ],
)
def test_odd_manifests(content: bytes) -> None:
    manifest(content)


@settings(deadline=None)
@given(FILES, FILES, FILES)
def test_a_log_directory_of_odd_files(properties: bytes, checkpoint: bytes, copies: bytes) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "t-0").mkdir()
        (folder / "t-0" / "00000000000000000000.log").touch()
        (folder / "meta.properties").write_bytes(properties)
        (folder / "dump-manifest.json").write_bytes(copies)
        for kind in ("replication-offset", "log-start-offset", "cleaner-offset"):
            (folder / f"{kind}-checkpoint").write_bytes(checkpoint)
        (one,) = collect([folder]).partitions
    assert one.broker is None or 0 <= one.broker < 1 << 31
    (one.cluster_id or "").encode()


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "9" * 5000])
def test_numbers_of_a_printed_record_that_are_none(number: str) -> None:
    offset = f'{{"version":"3","data":{{"offset":{number}}}}}'
    with pytest.raises(WireError):
        text_offsets.read_offset(offset.encode())
    key = f'{{"type":"1","data":{{"group":"g","topic":"t","partition":{number}}}}}'
    with pytest.raises(WireError):
        text_offsets.read_key(key.encode())
