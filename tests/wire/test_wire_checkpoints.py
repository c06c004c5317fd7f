"""Checkpoint and properties files: what brokers write, and one malformed case a field."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.wire.errors import WireError
from udfs.wire.side_files.checkpoints import (
    parse_leader_epochs,
    parse_offset_checkpoint,
    parse_properties,
)

MALFORMED_OFFSETS = [
    ("version 1", "1\n0\n", "unknown_version"),
    ("version is no number", "x\n0\n", "not_a_number"),
    ("version of other digits", "\u0660\n0\n", "not_a_number"),
    ("no count", "0\n", "count_mismatch"),
    ("count is no number", "0\n1_0\n", "not_a_number"),
    ("count too large", "0\n2\nt 0 5\n", "count_mismatch"),
    ("count too small", "0\n0\nt 0 5\n", "count_mismatch"),
    ("two words", "0\n1\nt 0\n", "malformed_line"),
    ("four words", "0\n1\nt 0 5 6\n", "malformed_line"),
    ("blank line", "0\n1\n\nt 0 5\n", "malformed_line"),
    ("partition is no number", "0\n1\nt p 5\n", "not_a_number"),
    ("offset is no number", "0\n1\nt 0 5.0\n", "not_a_number"),
    ("offset beyond 64 bits", "0\n1\nt 0 9223372036854775808\n", "not_a_number"),
    ("partition twice", "0\n2\nt 0 5\nt 0 6\n", "duplicate_entry"),
]


def test_offset_checkpoint() -> None:
    text = "0\n3\norders 0 100\npay.ments-x 1 9187343239835811840\nt 12 -1\n"
    assert parse_offset_checkpoint(text) == {
        ("orders", 0): 100,
        ("pay.ments-x", 1): 9187343239835811840,
        ("t", 12): -1,
    }


@pytest.mark.parametrize("text", ["0\n1\nt 0 5", "0\r\n1\r\nt\t0  5\r\n"])
def test_line_ends_and_white_space_of_other_writers(text: str) -> None:
    assert parse_offset_checkpoint(text) == {("t", 0): 5}


@pytest.mark.parametrize("text", ["", "0\n0\n"])
def test_no_entries(text: str) -> None:
    assert parse_offset_checkpoint(text) == {}
    assert parse_leader_epochs(text) == []


def test_leader_epochs_keep_the_order_of_the_file() -> None:
    assert parse_leader_epochs("0\n3\n0 0\n5 120\n3 80\n") == [(0, 0), (5, 120), (3, 80)]


@pytest.mark.parametrize(("what", "text", "reason"), MALFORMED_OFFSETS)
def test_malformed_offset_checkpoint(what: str, text: str, reason: str) -> None:
    with pytest.raises(WireError) as caught:
        parse_offset_checkpoint(text)
    assert caught.value.reason == reason, what


@pytest.mark.parametrize(
    ("text", "reason"),
    [("0\n1\n5\n", "malformed_line"), ("0\n1\n5 x\n", "not_a_number")],
)
def test_malformed_leader_epochs(text: str, reason: str) -> None:
    with pytest.raises(WireError) as caught:
        parse_leader_epochs(text)
    assert caught.value.reason == reason


def test_meta_properties() -> None:
    text = (
        "#\n#Tue Nov 14 22:13:20 UTC 2023\ncluster.id=4L6g3nShT-eMCtK--X86sw\n"
        "directory.id=9PdPbMUGT7CWHkZNyUZOMg\nversion=1\nnode.id=1\n"
    )
    assert parse_properties(text) == {
        "cluster.id": "4L6g3nShT-eMCtK--X86sw",
        "directory.id": "9PdPbMUGT7CWHkZNyUZOMg",
        "version": "1",
        "node.id": "1",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a : b", {"a": "b"}),
        ("a b c", {"a": "b c"}),
        ("a", {"a": ""}),
        ("  a=  b ", {"a": "b "}),
        ("! comment\n\na=#b", {"a": "#b"}),
        ("a\\=b=c\\:d", {"a=b": "c:d"}),
        ("a=b\\\n   c", {"a": "bc"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=\\u00e9\\t", {"a": "é\t"}),
        ("a=1\na=2", {"a": "2"}),
    ],
)
def test_properties_syntax(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


def test_malformed_property_escape() -> None:
    with pytest.raises(WireError) as caught:
        parse_properties("a=\\u00g0")
    assert caught.value.reason == "bad_escape"


@given(st.text(max_size=60))
def test_arbitrary_text_gives_a_result_or_a_wire_error(text: str) -> None:
    for parse in (parse_offset_checkpoint, parse_leader_epochs, parse_properties):
        with suppress(WireError):
            parse(text)
