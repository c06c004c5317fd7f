"""The reader of side files: it ends, with content or with an error, whatever lies there."""

import os
from pathlib import Path

import pytest

from udfs.storage import small_file
from udfs.storage.open_file import open_file
from udfs.storage.small_file import read_small


def test_a_file_and_a_link_to_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("file")
    assert read_small(tmp_path / "file") == read_small(tmp_path / "link", 3) == b"abc"
    with pytest.raises(FileNotFoundError):
        read_small(tmp_path / "none")


@pytest.mark.parametrize("what", ["fifo", "zero", "null", "folder", "loop", "to_fifo", "socket"])
def test_no_regular_file(tmp_path: Path, what: str) -> None:
    path = tmp_path / what
    if what == "fifo":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "to_fifo":
        os.mkfifo(tmp_path / "end")
        path.symlink_to("end")
    elif what == "socket":
        os.mknod(path, 0o140600)
    else:
        path.symlink_to({"zero": "/dev/zero", "null": "/dev/null", "loop": "loop"}[what])
    with pytest.raises(OSError) as raised:
        read_small(path)
    assert raised.value.strerror
    assert not isinstance(raised.value, FileNotFoundError)
    with pytest.raises(OSError, match=raised.value.strerror):
        open_file(str(tmp_path), what)


@pytest.mark.parametrize("size", [10, 8 << 30])
def test_too_large(tmp_path: Path, size: int) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.truncate(size)
    with pytest.raises(OSError, match="more than 9 bytes"):
        read_small(tmp_path / "file", 9)


def test_too_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    monkeypatch.setattr(small_file, "LONGEST_SECONDS", -1.0)
    with pytest.raises(TimeoutError):
        read_small(tmp_path / "file")
