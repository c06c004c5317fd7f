"""`dump-manifest.json`: what is believed of it, and what is refused with a sentence."""

import json
from pathlib import Path
from typing import Any

import pytest

from jobs.collect.collect import collect
from jobs.collect.manifest import NAME, Copied, Manifest, ManifestError, read_manifest

ONE: dict[str, Any] = {
    "path": "orders-0", "topic": "orders", "partition": 0, "role": "data",
    "copy_start_ms": 1_700_000_000_000, "copy_end_ms": 1_700_000_060_000, "settled": True,
    "high_watermark": 7, "files": 1, "bytes": 0,
}  # fmt: skip


def write(folder: Path, *directories: dict[str, Any], **fields: Any) -> None:
    manifest = {"format": 1, "broker": 1, "directories": list(directories)} | fields
    (folder / NAME).write_text(json.dumps(manifest), encoding="utf-8")


def partition(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / f"{0:020}.log").write_bytes(b"")


def test_a_settled_copy_is_complete_up_to_its_start(tmp_path: Path) -> None:
    write(tmp_path, ONE, ONE | {"path": "orders-1", "settled": False})
    copied = Copied(1_700_000_000_000, 7, end_ms=1_700_000_060_000)
    assert read_manifest(tmp_path).copies == {"orders-0": copied}


def test_without_a_manifest_nothing_is_known(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) == Manifest()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('{"format": 2, "directories": []}', "format 2"),
        ("{", "damaged"),
        ("[]", "damaged"),
        ('{"format": 1, "directories": [{"path": "a-0"}]}', "damaged"),
        ('{"format": 1, "directories": 3}', "damaged"),
    ],
)
def test_a_manifest_that_cannot_be_used_says_why(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / NAME).write_text(content, encoding="utf-8")
    with pytest.raises(ManifestError, match=why):
        read_manifest(tmp_path)


def test_collect_dates_partitions_and_lists_the_earlier_copy(tmp_path: Path) -> None:
    partition(tmp_path / "orders-0")
    partition(tmp_path / "__transaction_state-3")
    partition(tmp_path / "before" / "__transaction_state-3")
    write(tmp_path, ONE)
    dump = collect([tmp_path])
    dated = {one.topic: (one.copied_at_ms, one.high_watermark) for one in dump.partitions}
    assert dated == {"orders": (1_700_000_000_000, 7), "__transaction_state": (None, None)}
    earlier = [file for file in dump.files if file.kind == "earlier_coordinator_log"]
    assert [(file.topic, file.partition) for file in earlier] == [("__transaction_state", 3)]
    assert not dump.unreadable


def test_a_damaged_manifest_makes_the_audit_incomplete_and_is_named(tmp_path: Path) -> None:
    partition(tmp_path / "orders-0")
    (tmp_path / NAME).write_text("{", encoding="utf-8")
    assert [NAME in sentence for sentence in collect([tmp_path]).unreadable] == [True]
