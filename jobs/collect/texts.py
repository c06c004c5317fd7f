"""Texts of kafka-dump-log in place of a broker's files: finds them, and the file of each.

A text names the files that were dumped, so it is listed as if they were there.
"""

import re
from functools import lru_cache
from pathlib import Path

from jobs.model.errors import UsageError
from udfs.wire.text.text_dump import is_text_dump, is_utf_16_text_dump
from udfs.wire.text.text_sections import Section, sections

# Folders are searched so deep: broker, partition, segment and one more.
DEEPEST = 4
HEAD_BYTES = 1 << 16
SEPARATOR = re.compile(r"[\\/]+")


def text_files(dump: Path) -> tuple[list[Path], list[Path]]:
    """(texts, files that are none) at or below `dump`, each in the order of their paths.

    Raises UsageError where one is not in UTF-8.
    """
    found = [dump] if dump.is_file() else []
    folders = [dump]
    for _ in range(DEEPEST):
        below: list[Path] = []
        for folder in folders:
            below += _entries(folder)
        found += [path for path in below if path.is_file()]
        folders = [path for path in below if path.is_dir()]
    texts = {path for path in found if _is_text(path)}
    return sorted(texts), sorted(set(found) - texts)


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _is_text(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return False
    if is_utf_16_text_dump(head):
        raise UsageError(
            f"{path} is a text of kafka-dump-log in UTF-16, which cannot be read: convert it with "
            "`iconv -f UTF-16 -t UTF-8`, or in PowerShell with `Out-File -Encoding utf8`."
        )
    return is_text_dump(head)


def sections_of(path: Path) -> tuple[Section, ...]:
    """The sections of a text. Raises UsageError where it leaves out what records are."""
    status = path.stat()
    found = _sections(path, status.st_size, status.st_mtime_ns)
    for section in found:
        if section.without_metadata and not section.with_records:
            raise UsageError(
                f"{path} was printed with --skip-record-metadata, which omits offsets and the "
                "content of markers: print it again without that option."
            )
    return found


@lru_cache(maxsize=1024)
def _sections(path: Path, size: int, modified_ns: int) -> tuple[Section, ...]:
    """A command lists its dump more than once, and a text must be read to be listed."""
    with path.open("rb") as file:
        return tuple(sections(file, size))


def dumped_file(section: Section, text: Path) -> tuple[str, str, str]:
    """(log directory, partition folder, file name) of what was dumped; empty where not known.

    Where the tool was run in the partition folder itself, the text's own folder may name it.
    """
    *above, name = SEPARATOR.split(section.path)
    if not above or above[-1] in ("", "."):
        return "", text.parent.name, name
    return "/".join(above[:-1]), above[-1], name
