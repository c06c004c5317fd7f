"""What a path of a dump is: by the role of its folder, its name, and what lies there.

Pure functions; where nothing is audited they say why, in the words of `dump_file.note`.
"""

from jobs.collect.folders import is_text
from jobs.collect.listed import Classified, Folder, Role
from jobs.collect.log_directory import LogDirectory
from jobs.model.file_names import (
    AUDITED_KINDS,
    EARLIER_COORDINATOR_LOG,
    JUDGED_AS_A_WHOLE,
    METADATA_LOG,
    METADATA_SNAPSHOT_KIND,
    READ_ON_THE_DRIVER,
    UNKNOWN_FOLDER,
    name_file,
    name_folder,
)
from schemas.topics import METADATA_TOPIC, TXN_LOG_TOPIC
from udfs.wire.text.text_sections import Section

NO_PARTITION = "not a partition folder"
NO_SEGMENT = "in a folder named like a partition, without a segment"
NOT_LOOKED_INTO = "a folder that is not part of a log directory, not read"
OUTSIDE = "outside a log directory"
NO_TRANSACTIONS = "beside the metadata log of KRaft, which has no transactions"
REPLACED = "replaced by a .swap file, as at the start of a broker"
GONE = "it was there, and could not be looked at"
NO_REGULAR_FILE = "not a regular file"
NO_TEXT_NAME = "a name that is not valid UTF-8, which no broker writes"
TOO_LARGE = "more than such a file can have"
NO_DECODER = "text of __transaction_state without --transaction-log-decoder"
EMPTY_TEXT = "text without an entry: the file has none, or kafka-dump-log could not read it"
ONLY_BYTES = "text of a file that is checked only by its bytes"

# Bytes of a file of JUDGED_AS_A_WHOLE; the index of a segment of 2 GiB full of aborts has fewer.
LARGEST_AS_A_WHOLE = 1 << 29
SIDE_KINDS_IN_TEXTS = ("offset_index", "time_index", "producer_snapshot")
KINDS_IN_TEXTS = ("segment", "txn_index", *SIDE_KINDS_IN_TEXTS)
# role of the folder -> kind by the name of the file -> kind that it has there
KINDS_BY_ROLE = {
    Role.METADATA_LOG: {
        "segment": METADATA_LOG,
        METADATA_SNAPSHOT_KIND: METADATA_SNAPSHOT_KIND,
    },
    Role.EARLIER_COORDINATOR_LOG: {"segment": EARLIER_COORDINATOR_LOG},
}


def partition_folder(name: str, directory: LogDirectory) -> Folder:
    """A folder that holds segments, or the retired or misnamed one that it may be instead."""
    named = name_folder(name)
    if named is None:
        return Folder(Role.NOT_AUDITED, directory, note=NO_PARTITION)
    topic, partition, retired = named
    if retired is not None:
        # It is not the partition: that lies elsewhere, or nowhere (`LogManager`).
        return Folder(Role.NOT_AUDITED, directory, note=f"folder marked -{retired}")
    if topic == METADATA_TOPIC:
        return Folder(Role.METADATA_LOG, directory, topic, partition)
    return Folder(Role.PARTITION, directory, topic, partition, copied=directory.copies.get(name))


def earlier_folder(name: str, directory: LogDirectory) -> Folder:
    """A folder of the copy that was taken before the data: only the coordinator's log counts."""
    named = name_folder(name)
    if named is None or named[0] != TXN_LOG_TOPIC or named[2] is not None:
        return Folder(Role.LOG_DIRECTORY, directory)
    return Folder(Role.EARLIER_COORDINATOR_LOG, directory, *named[:2])


def folder_without_segments(name: str, directory: LogDirectory) -> Folder:
    """A folder of a log directory in which no segment lies, whatever its name."""
    note = NO_PARTITION if name_folder(name) is None else NO_SEGMENT
    return Folder(Role.NOT_AUDITED, directory, note=note)


def classify(folder: Folder, name: str, problem: str | None = None) -> Classified:
    """What a file is that has, or is taken to have, a name. `problem`: why it is not audited."""
    named = name_file(name)
    kind_there = KINDS_BY_ROLE.get(folder.role, {}).get(named.kind)
    other = folder.role is Role.METADATA_LOG and kind_there is None
    note = problem or folder.note or (NO_TRANSACTIONS if other else named.note)
    if kind_there is not None and note is None:
        return Classified(kind_there, named.base_offset, "audited", None, of_partition=True)
    in_partition = folder.role is Role.PARTITION
    if note is not None or (named.kind == "segment" and not in_partition):
        status = "skipped"
    elif named.kind in (*AUDITED_KINDS, *READ_ON_THE_DRIVER):
        status = "audited"
    else:
        status = "digest_only"
    return Classified(named.kind, named.base_offset, status, note, of_partition=in_partition)


def unknown_folder(name: str) -> Classified:
    """A folder that nothing is known of: one row, and what lies in it has none."""
    note = NOT_LOOKED_INTO if is_text(name) else NO_TEXT_NAME
    return Classified(UNKNOWN_FOLDER, None, "skipped", note, of_partition=False)


def why_not_read(name: str, kind: str, size: int, regular: bool) -> str | None:
    """Why a file cannot be read whatever its folder is; None for one that can.

    `kind`: by its name, or the one it is taken to have. `size`: bytes.
    """
    if not regular:
        return NO_REGULAR_FILE
    if not is_text(name):
        return NO_TEXT_NAME
    return TOO_LARGE if kind in JUDGED_AS_A_WHOLE and size > LARGEST_AS_A_WHOLE else None


def why_no_text(folder: str, kind: str, section: Section) -> str | None:
    """Why a section of a text is not audited; None for one that is. `folder`: of what it prints."""
    topic = folder.rpartition("-")[0]
    if topic == METADATA_TOPIC:
        return NO_TRANSACTIONS
    if topic == TXN_LOG_TOPIC and (section.lacks_records or not section.decoded):
        return NO_DECODER
    if kind in SIDE_KINDS_IN_TEXTS and not section.of_side_file:
        return EMPTY_TEXT
    return None if kind in KINDS_IN_TEXTS else ONLY_BYTES
