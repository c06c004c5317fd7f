"""What a listing is made of, before its files and partitions are numbered: immutable values."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from jobs.collect.log_directory import LogDirectory
from jobs.collect.manifest import Copied
from udfs.storage.dump_path import DumpPath
from udfs.wire.text.text_sections import Section


class Role(StrEnum):
    """What a folder is. With the name of a file it decides what the file is (classification.py)."""

    LOG_DIRECTORY = "log directory of a broker"
    PARTITION = "partition that is audited"
    METADATA_LOG = "copy of __cluster_metadata"
    EARLIER_COORDINATOR_LOG = "copy of __transaction_state taken before the data"
    NOT_AUDITED = "anything else"


@dataclass(frozen=True, eq=False)
class Folder:
    """A folder whose files are listed; a text of kafka-dump-log may stand for it.

    Two folders may have equal values, so each is equal only to itself. `directory`: the log
    directory around it, an empty one where there is none. `topic`, `partition`: from its name, None
    where that names none. `note`: why no file in it is audited. `copied`: when it was copied.
    """

    role: Role
    directory: LogDirectory
    topic: str | None = None
    partition: int | None = None
    note: str | None = None
    copied: Copied | None = None


class Classified(NamedTuple):
    """What a file is. `kind`, `status`: those of schemas/dump_file.py.

    `base_offset`: of a file whose name has one. `note`: why it is not audited. `of_partition`: its
    row names the topic and the partition of its folder.
    """

    kind: str
    base_offset: int | None
    status: str
    note: str | None
    of_partition: bool


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of the dump, or a folder that is not looked into, with what it is.

    `label`: its path below the dump, as it is shown. `size`: bytes. `text`: the section of a text
    of kafka-dump-log that stands for it; `path` is that of the text then.
    """

    path: DumpPath
    label: str
    folder: Folder
    classified: Classified
    size: int = 0
    text: Section | None = None


Item = LogDirectory | Folder | ListedFile
"""One step of a listing: a log directory, a folder named like a partition in it, or a file."""
