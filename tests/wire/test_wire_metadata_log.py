"""Which brokers `__cluster_metadata` registers."""

import pytest

from udfs.wire.metadata_log import REGISTRATION_START, registered_broker


@pytest.mark.parametrize("version", ["03", "04"])  # Kafka 3.9 and 4.x
def test_a_registration_names_its_broker(version: str) -> None:
    value = bytes.fromhex(f"0100{version}00000007") + b"rest of the message"
    assert value.startswith(REGISTRATION_START)
    assert registered_broker(value) == 7


@pytest.mark.parametrize(
    "value", [None, b"", bytes.fromhex("011400"), bytes.fromhex("0100030000"), b"\x01\x80"]
)
def test_other_records_and_cut_ones_name_none(value: bytes | None) -> None:
    assert registered_broker(value) is None
