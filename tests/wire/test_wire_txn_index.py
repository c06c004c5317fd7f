"""`.txnindex` entries: vectors, positions, partial entries."""

import pytest
from wire.vectors import PARTITION_TXNINDEX, X1

from tests.wire_writer.txn_index import encode
from udfs.wire.side_files.txn_index import ENTRY_SIZE, AbortedTxnEntry, decode

X1_ENTRY = AbortedTxnEntry(0, 4002, 90, 103, 95)


def decoded(data: bytes) -> tuple[list[AbortedTxnEntry], int]:
    entries, partial = decode(data)
    return [AbortedTxnEntry(*entry) for entry in entries.tolist()], partial


def test_vector() -> None:
    assert decoded(X1) == ([X1_ENTRY], 0)
    assert encode([X1_ENTRY]) == X1


def test_index_of_the_whole_partition() -> None:
    entries = [AbortedTxnEntry(0, 1, 0, 4, 2), AbortedTxnEntry(0, 1, 5, 7, 8)]
    assert decoded(PARTITION_TXNINDEX) == (entries, 0)
    assert encode(entries) == PARTITION_TXNINDEX


def test_other_versions_are_left_to_the_checks() -> None:
    stored = X1_ENTRY._replace(version=7)
    assert decoded(encode([stored])) == ([stored], 0)


def test_empty_file_has_no_entries() -> None:
    assert decoded(b"") == ([], 0)


@pytest.mark.parametrize("size", range(len(PARTITION_TXNINDEX)))
def test_truncation_keeps_the_whole_entries(size: int) -> None:
    entries, partial = decode(PARTITION_TXNINDEX[:size])
    assert len(entries) == size // ENTRY_SIZE
    assert partial == size % ENTRY_SIZE
