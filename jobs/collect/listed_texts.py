"""Lists texts of kafka-dump-log: the files that they print, as if those were there."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from jobs.collect.classification import classify, partition_folder, why_no_text
from jobs.collect.listed import Folder, Item, ListedFile, Role
from jobs.collect.log_directory import LogDirectory
from jobs.collect.texts import dumped_file, sections_of
from jobs.model.errors import UsageError
from jobs.model.file_names import name_file
from schemas.dump_file import IN_TEXT
from udfs.wire.text.text_sections import Section

PRINTED_TWICE = "already in another text of the dump"
NO_BROKER = LogDirectory()


def files_in_texts(dump: Path, label: str, texts: Sequence[Path]) -> Iterator[Item]:
    """One file a section, each partition before its first one. `label`: prefix of their paths.

    Texts of one folder below the dump are of one broker, as are paths that begin alike. Raises
    UsageError where no text names a partition.
    """
    folders: dict[tuple[str, str, str], Folder] = {}
    printed: set[tuple[str, str, str, str]] = set()
    for path in texts:
        below = Path(path.name) if path == dump else path.relative_to(dump)
        broker = below.parts[0] if len(below.parts) > 1 else ""
        for section in sections_of(path):
            directory, folder_name, name = dumped_file(section, path)
            key = (broker, directory, folder_name)
            twice = (*key, name) in printed
            printed.add((*key, name))
            folder = _folder(section, folder_name, name, twice)
            if folder.role is Role.PARTITION:
                if key not in folders:
                    folders[key] = folder
                    yield folder
                folder = folders[key]
            place = f"{label}{below.as_posix()}{IN_TEXT}{folder_name}/{name}"
            size = section.end_byte - section.first_byte
            yield ListedFile(path, place, folder, classify(folder, name), size, section)
    if not folders:
        raise UsageError(
            f"--dump {dump}: its texts do not name their partition; run kafka-dump-log with "
            "paths like /var/lib/kafka/orders-0/00000000000000000000.log."
        )


def _folder(section: Section, folder_name: str, name: str, twice: bool) -> Folder:
    """The partition that a section belongs to, or why it is not audited."""
    folder = partition_folder(folder_name, NO_BROKER)
    named = name_file(name)
    note = folder.note or why_no_text(folder_name, named.kind, section) or named.note
    note = PRINTED_TWICE if twice else note
    return Folder(Role.NOT_AUDITED, NO_BROKER, note=note) if note else folder
