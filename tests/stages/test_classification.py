"""What a path of a dump is, by its folder and its name: over plain values, without files."""

from pathlib import Path

import pytest

from jobs.collect import classification
from jobs.collect.classification import classify, earlier_folder, partition_folder, why_not_read
from jobs.collect.listed import Folder, ListedFile, Role
from jobs.collect.log_directory import LogDirectory, Properties
from jobs.collect.rows import dump_of, listing_of
from jobs.collect.second_copies import SECOND_COPY
from jobs.model.dump import MissingPartition

BROKER = LogDirectory(label="b/", properties=Properties(9, 1, "c"))
LOG, INDEX = "00000000000000000005.log", "00000000000000000005.index"
SNAPSHOT, CHECKPOINT = (
    f"00000000000000000005{end}" for end in (".snapshot", "-0000000001.checkpoint")
)


def file(folder: Folder, name: str, size: int = 0) -> ListedFile:
    return ListedFile(Path(name), name, folder, classify(folder, name), size)


@pytest.mark.parametrize(
    ("name", "role", "note"),
    [
        ("orders-0", Role.PARTITION, None),
        ("__transaction_state-3", Role.PARTITION, None),
        ("__cluster_metadata-0", Role.METADATA_LOG, None),
        (f"orders-0.{'0' * 32}-future", Role.NOT_AUDITED, "folder marked -future"),
        ("orders", Role.NOT_AUDITED, classification.NO_PARTITION),
    ],
)
def test_the_name_of_a_folder_with_segments_gives_its_role(
    name: str, role: Role, note: str | None
) -> None:
    folder = partition_folder(name, BROKER)
    assert (folder.role, folder.note) == (role, note)


@pytest.mark.parametrize(
    ("folder", "name", "kind", "status", "note"),
    [
        ("orders-0", LOG, "segment", "audited", None),
        ("orders-0", INDEX, "offset_index", "audited", None),
        ("orders-0", "partition.metadata", "partition_metadata", "digest_only", None),
        ("orders", LOG, "segment", "skipped", classification.NO_PARTITION),
        ("__cluster_metadata-0", LOG, "metadata_log", "audited", None),
        ("__cluster_metadata-0", CHECKPOINT, "metadata_snapshot", "audited", None),
        (
            "__cluster_metadata-0",
            SNAPSHOT,
            "producer_snapshot",
            "skipped",
            classification.NO_TRANSACTIONS,
        ),
    ],
)
def test_a_file_is_what_its_folder_and_its_name_say(
    folder: str, name: str, kind: str, status: str, note: str | None
) -> None:
    found = classify(partition_folder(folder, BROKER), name)
    assert (found.kind, found.status, found.note) == (kind, status, note)


def test_of_an_earlier_copy_only_the_log_of_the_coordinator_counts() -> None:
    coordinator, other = (earlier_folder(name, BROKER) for name in ("__transaction_state-3", "t-0"))
    found = classify(coordinator, LOG)
    assert (found.kind, found.status) == ("earlier_coordinator_log", "audited")
    assert (classify(other, LOG).kind, classify(other, LOG).status) == ("segment", "skipped")


@pytest.mark.parametrize("folder", ["orders-0", "__cluster_metadata-0", "__transaction_state-3"])
def test_a_file_that_cannot_be_read_is_audited_nowhere(folder: str) -> None:
    for place in (partition_folder(folder, BROKER), earlier_folder(folder, BROKER)):
        found = classify(place, LOG, classification.NO_REGULAR_FILE)
        assert (found.status, found.note) == ("skipped", classification.NO_REGULAR_FILE)


def test_what_lies_there_decides_before_the_name() -> None:
    limit = classification.LARGEST_AS_A_WHOLE
    assert why_not_read(LOG, "segment", 2 * limit, regular=True) is None
    assert why_not_read(INDEX, "offset_index", limit, regular=True) is None
    large = why_not_read(INDEX, "offset_index", limit + 1, regular=True)
    assert large == classification.TOO_LARGE
    pipe = why_not_read("a\udcff", "offset_index", limit + 1, regular=False)
    assert pipe == classification.NO_REGULAR_FILE
    assert why_not_read("a\udcff", "other", 0, regular=True) == classification.NO_TEXT_NAME


def test_the_copy_that_was_still_written_is_numbered_and_the_other_one_left_out() -> None:
    old, alone, written = (partition_folder(name, BROKER) for name in ("t-0", "t-1", "t-0"))
    files = [file(old, LOG, 10), file(alone, LOG, 5), file(written, LOG, 20), file(written, INDEX)]
    dump = dump_of(listing_of([BROKER, old, alone, written, *files]))
    assert [(one.partition_index, one.partition) for one in dump.partitions] == [(0, 1), (1, 0)]
    assert [one.partition_index for one in dump.files] == [None, 0, 1, 1]
    assert [one.note for one in dump.files] == [SECOND_COPY, None, None, None]
    assert [one.file_index for one in dump.partitions[1].segments] == [2]


def test_without_a_broker_two_folders_are_two_partitions() -> None:
    folders = [partition_folder("t-0", LogDirectory()) for _ in range(2)]
    dump = dump_of(listing_of([*folders, *(file(one, LOG) for one in folders)]))
    assert [one.partition_index for one in dump.partitions] == [0, 1]


def test_a_partition_is_missing_where_no_log_directory_of_its_broker_has_a_folder() -> None:
    marks = {("t", 0): 4, ("t", 1): 6}
    first = LogDirectory(label="a/", properties=Properties(9, 1, "c"), high_watermarks=marks)
    folder = partition_folder("t-0", BROKER)
    dump = dump_of(listing_of([first, BROKER, folder, file(folder, LOG)]))
    assert dump.missing == [MissingPartition("t", 1, 1, "a/replication-offset-checkpoint")]
