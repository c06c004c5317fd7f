"""The bytes of evidence, taken apart from the sample dump."""

from pathlib import Path

import made_facts
import pytest
from wire.vectors import L1, L2

from jobs.report.evidence import MAX_PROOFS, NO_DUMP, with_bytes
from jobs.report.facts import Evidence

SAMPLE = Path(__file__).resolve().parents[1] / "dumps/hanging-sample"
LOG = "broker-0/h-0/00000000000000000000.log"
INDEX = "broker-0/h-0/00000000000000000000.txnindex"


def in_the_sample(name: str) -> tuple[str, str]:
    return str(SAMPLE), name


def dumped(proof: Evidence) -> Evidence:
    (told,) = with_bytes([made_facts.finding(evidence=(proof,))], in_the_sample)
    return told.evidence[0]


def values(proof: Evidence) -> dict[str, str]:
    return {field.name: field.value for field in proof.fields}


def test_a_batch_header_is_told_field_by_field() -> None:
    told = dumped(Evidence(LOG, 4976, 91, "first batch"))
    seen = values(told)
    assert (seen["base offset"], seen["producer id"], seen["magic"]) == ("59", "5", "2")
    assert seen["attributes"] == "19: codec lz4, transactional"
    assert [field.byte_position for field in told.fields][:3] == [4976, 4984, 4988]
    assert told.fields[0].hex == "00 00 00 00 00 00 00 3b"


def test_a_message_of_magic_1_is_told_field_by_field(tmp_path: Path) -> None:
    (tmp_path / "old.log").write_bytes(b"\0" + L1 + L2)
    finding = made_facts.finding(
        evidence=(
            Evidence("old.log", 1, len(L1), "plain"),
            Evidence("old.log", 1 + len(L1), 99, "zip"),
        )
    )
    (told,) = with_bytes([finding], lambda name: (str(tmp_path), name))
    plain, wrapper = (values(proof) for proof in told.evidence)
    assert (plain["offset"], plain["magic"]) == ("8", "1")
    assert (plain["CRC-32"], plain["message attributes"]) == ("0xc1672ac5", "0: codec none")
    assert plain["timestamp"].endswith("(2023-11-14 22:13:20 UTC)")
    assert wrapper["message attributes"] == "1: codec gzip"


def test_entries_of_indexes_are_told_field_by_field(tmp_path: Path) -> None:
    (tmp_path / "7.index").write_bytes(bytes(8) + b"\0\0\0\x05\0\0\x10\x04")
    (tmp_path / "7.timeindex.swap").write_bytes((1_700_000_000_000).to_bytes(8) + b"\0\0\0\x05")
    proofs = (Evidence("7.index", 8, 8, "entry"), Evidence("7.timeindex.swap", 0, 12, "entry"))
    (told,) = with_bytes([made_facts.finding(evidence=proofs)], lambda name: (str(tmp_path), name))
    offset, time = (values(proof) for proof in told.evidence)
    assert offset == {"relative offset": "5", "position": "4100"}
    assert time["timestamp"] == "1700000000000 (2023-11-14 22:13:20 UTC)"


def test_a_marker_is_told_with_its_coordinator_epoch() -> None:
    data = (SAMPLE / LOG).read_bytes()
    position, size = 0, 0
    while data[position + 21 : position + 23] != b"\x00\x30":  # transactional and control
        position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
        assert position < len(data)
    size = 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    seen = values(dumped(Evidence(LOG, position, size, "marker")))
    assert seen["control type"] in ("0: ABORT", "1: COMMIT")
    assert int(seen["coordinator epoch"]) >= 0


def test_an_index_entry_is_told_field_by_field() -> None:
    told = dumped(Evidence(INDEX, 0, 34, "entry"))
    assert [field.name for field in told.fields] == [
        "version", "producer id", "first offset", "last offset", "last stable offset",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "position", "said"),
    [
        ("broker-0/nowhere.log", 0, "could not be read: No such file or directory"),
        ("broker-0/h-0", 0, "could not be read: not a regular file"),
        (LOG, 10**12, "the file now ends before these bytes"),
    ],
)
def test_what_cannot_be_read_is_told(name: str, position: int, said: str) -> None:
    assert said in str(dumped(Evidence(name, position, 91, "x")).unread)


def test_damaged_and_cut_off_bytes_are_shown_as_they_are() -> None:
    end = (SAMPLE / LOG).stat().st_size
    for proof in (Evidence(LOG, end - 20, 91, "cut"), Evidence(LOG, 3, 91, "in the middle")):
        assert dumped(proof).fields[-1].name == "bytes"
    assert values(dumped(Evidence("broker-0/meta.properties", 0, 9, "text")))["bytes"] == ""


def test_without_the_dump_it_is_said_and_no_more_than_a_bound_is_read() -> None:
    (told,) = with_bytes([made_facts.finding()], lambda _: None)
    assert told.evidence[0].unread == NO_DUMP
    many = with_bytes([made_facts.finding()] * (MAX_PROOFS + 10), in_the_sample)
    assert len(many) == MAX_PROOFS + 10
    assert sum(bool(finding.evidence[0].fields) for finding in many) == MAX_PROOFS
