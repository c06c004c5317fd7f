"""The far side of take_dump.py: a log directory behind a shell. It is only read."""

import re
import shlex
import stat
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

SAFE_NAME = re.compile(r"[A-Za-z0-9._-]+")
VANISHED = 8
# Listed: type and mode, inode, bytes, seconds since 1970, name. GNU and BusyBox know all of it.
LOOK = """\
LC_ALL=C; export LC_ALL
cd {directory} || exit 9
date +%s
grep -e {line} replication-offset-checkpoint 2>/dev/null || echo
cd ./{folder} 2>/dev/null || exit 8
find . -maxdepth 1 -exec stat -c '%f %i %s %Y %n' {{}} +
true
"""
READ = """\
cd {directory} && cat ./{name}
"""
SEND = """\
LC_ALL=C; export LC_ALL
cd {directory} && cd ./{folder} 2>/dev/null || exit 8
tar -c -f - {names}
"""


class CopyError(Exception):
    """A copy that cannot go on: one sentence for the user."""


class VanishedError(Exception):
    """The folder is not there any more: its topic was deleted, or its replica moved."""


@dataclass(frozen=True)
class Seen:
    """A file of the source: what changes when another file takes its name. `mtime` in seconds."""

    inode: int
    size: int
    mtime: int


@dataclass(frozen=True)
class Look:
    """A folder of the source at one moment: ms by the clock of the source, rounded down."""

    moment: int
    high_watermark: int | None
    files: dict[str, Seen]
    folders: list[str]


@dataclass(frozen=True)
class Source:
    """A log directory here, or on a host where the command `through` runs a shell."""

    host: str | None
    directory: str
    through: str

    def __str__(self) -> str:
        return f"{self.host}:{self.directory}" if self.host else self.directory

    def read(self, name: str) -> str:
        """Text of a small file of the log directory. Raises CopyError where there is none."""
        script = READ.format(directory=shlex.quote(self.directory), name=name)
        with self._shell(script) as answer:
            return answer.read().decode("utf-8", "replace")

    def look(self, folder: str = ".", partition: tuple[str, int] | None = None) -> Look:
        """Lists a folder; for a partition also reads the high watermark the broker wrote last.

        Raises VanishedError, and CopyError where the source does not answer.
        """
        line = f"{partition[0].replace('.', '[.]')} {partition[1]} " if partition else "$"
        script = LOOK.format(
            directory=shlex.quote(self.directory),
            folder=shlex.quote(folder),
            line=shlex.quote(f"^{line}"),
        )
        with self._shell(script) as answer:
            lines = answer.read().decode("utf-8", "replace").splitlines()
        try:
            return _parse(lines)
        except (IndexError, ValueError) as error:
            raise CopyError(f"{self}: date, find or stat answer in another way: {lines}") from error

    @contextmanager
    def send(self, folder: str, names: list[str]) -> Iterator[IO[bytes]]:
        """The stream of a tar of these files, while it is made.

        That a file vanishes or shrinks meanwhile is no error here: the next look tells.
        """
        script = SEND.format(
            directory=shlex.quote(self.directory),
            folder=shlex.quote(folder),
            names=" ".join(f"./{name}" for name in names),
        )
        with self._shell(script, fine=(0, 1, 2)) as stream:
            yield stream

    @contextmanager
    def _shell(self, script: str, fine: tuple[int, ...] = (0,)) -> Iterator[IO[bytes]]:
        """Runs a script on the far side. It travels on stdin, so that nothing is quoted twice."""
        words = shlex.split(self.through) if self.host else ["sh", "-s"]
        command = [word.replace("{host}", self.host or "") for word in words]
        broken = None
        with tempfile.TemporaryFile() as complaints, tempfile.TemporaryFile() as program:
            program.write(script.encode())
            program.seek(0)
            try:
                shell = subprocess.Popen(
                    command, stdin=program, stdout=subprocess.PIPE, stderr=complaints
                )
            except OSError as error:
                raise CopyError(f"cannot start {command[0]}: {error.strerror}") from error
            with shell:  # waits for its end
                assert shell.stdout is not None
                try:
                    yield shell.stdout
                    shell.stdout.read()
                except tarfile.TarError as error:
                    broken = error
            code = shell.returncode
            complaints.seek(0)
            said = complaints.read().decode("utf-8", "replace").strip().splitlines()
        if code == VANISHED:
            raise VanishedError(self.directory)
        if broken or code not in fine:
            why = said[-1] if said else broken or f"its shell ended with {code}"
            raise CopyError(f"{self}: {why}") from broken


def _parse(lines: list[str]) -> Look:
    """Reads the answer to LOOK. Raises ValueError and IndexError for anything else."""
    files, folders = {}, []
    for line in lines[2:]:
        mode, inode, size, mtime, path = line.split(" ", 4)
        name = path.removeprefix("./")
        if stat.S_ISDIR(int(mode, 16)):
            folders.append(name)
        elif stat.S_ISREG(int(mode, 16)) and SAFE_NAME.fullmatch(name):
            files[name] = Seen(int(inode), int(size), int(mtime))
    folders.remove(".")  # listed always; its absence is a ValueError
    return Look(
        moment=int(lines[0]) * 1000,
        high_watermark=int(lines[1].split()[2]) if lines[1].strip() else None,
        files=files,
        folders=sorted(name for name in folders if SAFE_NAME.fullmatch(name)),
    )
