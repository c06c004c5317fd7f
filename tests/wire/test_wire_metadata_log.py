"""What records of `__cluster_metadata` tell; the values are of Kafka 3.9.1 and 4.3.0."""

import pytest

from udfs.wire.metadata.metadata_log import (
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    Configured,
    CreatedPartition,
    CreatedTopic,
    Fact,
    Migrated,
    ProducerIds,
    RegisteredBroker,
    RemovedTopic,
    Undecodable,
    decode,
)

CREATED = "010200076f7264657273514ff87db6a24cb680d5daf5bd3aff3c00"
TOPIC_ID = "UU_4fbaiTLaA1dr1vTr_PA"


@pytest.mark.parametrize(
    ("value", "fact"),
    [
        (
            "0100040000000100c53723393d494c3692ef6cd89ad63f08000000000000000c020a504c41494e",
            RegisteredBroker(1),
        ),
        ("0100030000000000404484e3607d4ee7b16961e9f083f509", RegisteredBroker(0)),
        (CREATED, CreatedTopic("orders", TOPIC_ID)),
        ("010900514ff87db6a24cb680d5daf5bd3aff3c00", RemovedTopic(TOPIC_ID)),
        (
            "01030200000000514ff87db6a24cb680d5daf5bd3aff3c020000000102000000010101000000010000",
            CreatedPartition(TOPIC_ID, 0, (1,)),
        ),
        (
            "010400020c7061792e6d656e74732d7811636f6d7072657373696f6e2e74797065057a73746400",
            Configured(TOPIC_RESOURCE, "pay.ments-x", "compression.type", "zstd"),
        ),
        (
            "0104000401146d696e2e696e73796e632e7265706c69636173023100",
            Configured(BROKER_RESOURCE, "", "min.insync.replicas", "1"),
        ),
        ("0104000202610262" + "0000", Configured(TOPIC_RESOURCE, "a", "b", None)),
        ("010f0000000001000000000000000c00000000000003e800", ProducerIds(1000)),
        ("0115000000", Migrated(0)),
    ],
)
def test_what_a_record_tells(value: str, fact: Fact) -> None:
    assert decode(bytes.fromhex(value)) == fact


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        bytes.fromhex("01140000"),  # NoOpRecord
        bytes.fromhex("01050200000000514ff87db6a24cb680d5daf5bd3aff3c0400"),  # a leader changed
        bytes.fromhex("01ff7f0000"),  # a kind that nobody knows
    ],
)
def test_what_is_of_no_interest_tells_nothing(value: bytes | None) -> None:
    assert decode(value) is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("02" + CREATED[2:], "frame_version_unknown"),
        ("010201" + CREATED[6:], "version_unknown"),
        ("01190001", "transaction_aborted"),
        ("0180", "varint_underflow"),
    ],
)
def test_what_might_tell_something_is_no_silence(value: str, reason: str) -> None:
    assert decode(bytes.fromhex(value)) == Undecodable(reason)


@pytest.mark.parametrize("size", range(3, len(CREATED) // 2 - 1))
def test_a_cut_record_is_undecodable(size: int) -> None:
    assert isinstance(decode(bytes.fromhex(CREATED)[:size]), Undecodable)
