"""A dump on an S3 server is listed and read as the same dump in a folder, in few requests."""

import shutil
import tarfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from storage.s3_server import S3Server

from jobs.collect.collect import collect
from jobs.decode.decode import decode_options
from jobs.decode.splits import pack_splits, plan_splits
from jobs.model.dump import Dump
from jobs.model.settings import load
from schemas.record import EXPORT_SPLIT
from udfs.arrow.export_split import export_splits
from udfs.arrow.read_pack import read_packs
from udfs.storage.dump_path import dump_at
from udfs.storage.open_file import open_file

pytestmark = pytest.mark.usefixtures("reader")

DUMPS = Path(__file__).parents[1] / "dumps"
OPTIONS = decode_options(load(), "records")
SPLIT_BYTES = 1 << 20
LOG = "00000000000000000000.log"


@contextmanager
def counted(s3: S3Server) -> Iterator[Counter[str]]:
    """The requests that are made within it."""
    before, made = s3.requests(), Counter[str]()
    yield made
    made.update(s3.requests() - before)


def listing(dump: Dump) -> Any:
    """All that a listing tells, without where the files are opened."""
    return _without_places(asdict(dump))


def _without_places(told: Any) -> Any:
    if isinstance(told, list):
        return [_without_places(one) for one in told]
    if not isinstance(told, dict):
        return told
    return {
        name: _without_places(one)
        for name, one in told.items()
        if name not in ("root", "below_root")
    }


def read(dump: Dump, split_bytes: int = SPLIT_BYTES) -> list[pa.RecordBatch]:
    """What the tasks of the decoder make of a dump, without Spark."""
    return list(read_packs(pack_splits(plan_splits(dump, split_bytes), 1), OPTIONS))


def summaries(dump: Dump) -> dict[str, dict[str, Any]]:
    """Path of each file that was read whole -> its summary."""
    paths = {file.file_index: file.path for file in dump.files}
    rows = [row for batch in read(dump) for row in batch.to_pylist()]
    return {paths[row["file_index"]]: row["summary"] for row in rows if row["summary"]}


@pytest.fixture(scope="module")
def compaction(s3: S3Server, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A dump with three brokers, in a folder and on the server."""
    folder = tmp_path_factory.mktemp("compaction")
    with tarfile.open(DUMPS / "tv2-compaction.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    (dump,) = folder.glob("**/dump")
    s3.put_folder(dump, "compaction")
    return dump, s3.uri("compaction")


def test_a_remote_dump_is_listed_like_the_local_one_in_few_requests(
    s3: S3Server, compaction: tuple[Path, str]
) -> None:
    local, uri = compaction
    there = dump_at(uri)
    with counted(s3) as made:
        remote = collect([there])
    assert listing(remote) == listing(collect([local]))
    assert made["LIST"] == 1
    # Each file that the driver reads is asked for its size and for its bytes.
    small = [file for file in remote.files if file.size <= 4096 and file.base_offset is None]
    assert 0 < made["GET"] <= 2 * len(small)
    with counted(s3) as made:
        assert listing(collect([there])) == listing(remote)
    assert made.total() == 0


def test_thousands_of_partitions_are_listed_a_thousand_a_request(
    s3: S3Server, tmp_path: Path
) -> None:
    for number in range(1100):
        folder = tmp_path / "wide" / f"orders-{number}"
        folder.mkdir(parents=True)
        (folder / LOG).touch()
    s3.put_folder(tmp_path / "wide", "wide")
    with counted(s3) as made:
        dump = collect([dump_at(s3.uri("wide"))])
    assert len(dump.partitions) == 1100
    assert made["LIST"] <= 3


def test_a_side_file_is_one_request_however_large(s3: S3Server) -> None:
    content = b"0123456789" * 20_000
    s3.put("side/replication-offset-checkpoint", content)
    with counted(s3) as made:
        assert (dump_at(s3.uri("side")) / "replication-offset-checkpoint").read_bytes() == content
    assert made == {"LIST": 1, "GET": 2}  # its size, and its bytes


def test_small_files_of_one_name_are_read_together(s3: S3Server) -> None:
    for number in range(5):
        s3.put(f"together/{number}/partition.metadata", b"version: 0\ntopic_id: %d\n" % number)
    dump = dump_at(s3.uri("together"))
    with counted(s3) as made:
        assert b"topic_id: 3" in (dump / "3" / "partition.metadata").read_bytes()
    assert made["GET"] == 10
    with counted(s3) as made:
        assert b"topic_id: 4" in (dump / "4" / "partition.metadata").read_bytes()
    assert made.total() == 0


def test_a_pack_reads_the_same_rows_with_two_requests_a_split(
    s3: S3Server, compaction: tuple[Path, str]
) -> None:
    local, uri = compaction
    dump = collect([dump_at(uri)])
    splits = plan_splits(dump, SPLIT_BYTES)
    filled = [split for split in splits if split["length"]]
    with counted(s3) as made:
        rows = read(dump)
    assert rows == read(collect([local]))
    assert sum(batch.num_rows for batch in rows) > len(splits)
    # One for the size, one for the bytes: those of a megabyte behind it come along.
    assert made["GET"] <= len(splits) + len(filled)


def test_splits_in_the_middle_of_a_segment_read_the_same(compaction: tuple[Path, str]) -> None:
    local, uri = compaction
    there, here = collect([dump_at(uri)]), collect([local])
    largest = max(here.files, key=lambda file: file.size if file.kind == "segment" else 0)
    for dump in (there, here):
        dump.files = [file for file in dump.files if file.path == largest.path]
    assert largest.size > 4096
    assert read(there, 4096) == read(here, 4096)


def test_records_are_exported_the_same(compaction: tuple[Path, str]) -> None:
    local, uri = compaction

    def exported(dump: Dump) -> list[pa.RecordBatch]:
        plan = {
            "from_offset": 0, "end_offset": 1 << 62, "committed": True,
            "aborted_behind": None, "outcomes_told": None,
        }  # fmt: skip
        splits = [
            {name: (split | plan)[name] for name in EXPORT_SPLIT.names}
            for split in plan_splits(dump, SPLIT_BYTES)
            if split["kind"] == "segment" and split["length"]
        ]
        return list(export_splits(iter([pa.RecordBatch.from_pylist(splits)]), OPTIONS))

    rows = exported(collect([dump_at(uri)]))
    assert rows == exported(collect([local]))
    assert rows


def test_a_file_that_is_gone_or_shorter_is_told_as_on_disk(s3: S3Server, tmp_path: Path) -> None:
    names = ("gone-0", "shorter-0", "empty-0", "whole-0")
    sample = (DUMPS / "hanging-sample/broker-0/h-0" / LOG).read_bytes()
    for name in names:
        (tmp_path / "dump" / name).mkdir(parents=True)
        (tmp_path / "dump" / name / LOG).write_bytes(sample)
    s3.put_folder(tmp_path / "dump", "shrinking")
    here, there = collect([tmp_path / "dump"]), collect([dump_at(s3.uri("shrinking"))])
    shutil.rmtree(tmp_path / "dump" / "gone-0")
    s3.remove(f"shrinking/gone-0/{LOG}")
    for name, size in (("shorter-0", 5000), ("empty-0", 0)):
        (tmp_path / "dump" / name / LOG).write_bytes(sample[:size])
        s3.put(f"shrinking/{name}/{LOG}", sample[:size])
    told = summaries(there)
    assert told == summaries(here)
    assert told[f"gone-0/{LOG}"]["error"] == "FileNotFoundError: No such file or directory"
    assert [told[f"{name}/{LOG}"]["shrank"] for name in names[1:]] == [True, True, False]


@pytest.mark.parametrize("size", [0, 100, 4999])
def test_a_file_that_becomes_shorter_while_it_is_open_ends_there(s3: S3Server, size: int) -> None:
    content = bytes([1]) * 5000
    s3.put("open/file", content)
    with open_file(s3.uri("open"), "file") as file:
        assert file.read(100) == content[:100]
        s3.put("open/file", content[:size])
        file.seek(50)
        assert file.read(5000) == content[50:size]
        file.seek(4999)
        assert file.read(1) == b""


def test_bytes_that_look_as_if_they_had_not_come_are_read(s3: S3Server) -> None:
    content = bytes(range(256)) * 4
    s3.put("open/all", content)
    with open_file(s3.uri("open"), "all") as file:
        for end in range(160, 170):
            file.seek(0)
            assert file.read(end) == content[:end]
