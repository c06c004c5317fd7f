"""Changes of brokers and leaders in `__cluster_metadata`, beside what Kafka's own tool prints."""

import json
import re
import tarfile
from pathlib import Path

import pytest

from tests.wire_writer.fields import encode_tagged_fields
from udfs.wire.metadata.changes import (
    FENCED,
    REGISTERED,
    STOPPING,
    UNFENCED,
    BrokerChange,
    PartitionChange,
    decode_change,
)

DUMPS = Path(__file__).resolve().parents[1] / "dumps"
PAYLOAD = re.compile(r"CreateTime: (\d+).*?payload: (\{.*\})")
FENCING = {-1: UNFENCED, 1: FENCED}


def change(api_key: int, fields: bytes, tags: list[tuple[int, bytes]] | None = None) -> bytes:
    return bytes([1, api_key, 0]) + fields + encode_tagged_fields(tags or [])


ZERO_ID = bytes(16)
BROKER_7 = (7).to_bytes(4, "big")
EPOCH = bytes(8)
NONE, ONE = b"\x01", b"\x02\x00\x00\x00\x01"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (change(0, BROKER_7), BrokerChange(7, REGISTERED)),
        (change(7, BROKER_7 + EPOCH), BrokerChange(7, FENCED)),
        (change(8, BROKER_7 + EPOCH), BrokerChange(7, UNFENCED)),
        (change(17, BROKER_7 + EPOCH, [(0, b"\x01")]), BrokerChange(7, FENCED)),
        (change(17, BROKER_7 + EPOCH, [(0, b"\xff")]), BrokerChange(7, UNFENCED)),
        (change(17, BROKER_7 + EPOCH, [(1, b"\x01")]), BrokerChange(7, STOPPING)),
        (change(17, BROKER_7 + EPOCH), None),
        (
            change(5, BROKER_7 + ZERO_ID, [(1, (2).to_bytes(4, "big")), (5, b"\x01")]),
            PartitionChange("A" * 22, 7, 2, recovering=True),
        ),
        (change(5, BROKER_7 + ZERO_ID, [(1, b"\xff" * 4)]), PartitionChange("A" * 22, 7, -1)),
        (
            change(5, BROKER_7 + ZERO_ID, [(0, ONE)]),
            PartitionChange("A" * 22, 7, in_sync=(1,)),
        ),
        # Elected uncleanly while the partition was recovering; the same by an assignment of one.
        (
            change(5, BROKER_7 + ZERO_ID, [(0, ONE), (1, (1).to_bytes(4, "big"))]),
            PartitionChange("A" * 22, 7, 1, in_sync=(1,), alone=True),
        ),
        (
            change(5, BROKER_7 + ZERO_ID, [(0, ONE), (1, (1).to_bytes(4, "big")), (2, ONE)]),
            PartitionChange("A" * 22, 7, 1, in_sync=(1,)),
        ),
        # Nobody is in sync: the last one that was, unless there are eligible replicas.
        (
            change(5, BROKER_7 + ZERO_ID, [(0, NONE), (1, b"\xff" * 4), (7, ONE)]),
            PartitionChange("A" * 22, 7, -1, in_sync=(1,)),
        ),
        (
            change(5, BROKER_7 + ZERO_ID, [(0, NONE), (1, b"\xff" * 4), (6, ONE), (7, ONE)]),
            PartitionChange("A" * 22, 7, -1, eligible=(1,)),
        ),
        (change(5, BROKER_7 + ZERO_ID, [(0, ONE[:2])]), None),
        (change(3, BROKER_7 + ZERO_ID + NONE + ONE), PartitionChange("A" * 22, 7, in_sync=(1,))),
        (change(2, b""), None),
        (change(5, b"\x00"), None),
        (b"\x02\x05\x00", None),
        (b"", None),
        (None, None),
    ],
)
def test_a_record_and_its_twins(value: bytes | None, expected: object) -> None:
    assert decode_change(value) == expected


def printed(text: str) -> list[object]:
    """The changes that kafka-dump-log prints."""
    found: list[object] = []
    for line in text.splitlines():
        match = PAYLOAD.search(line)
        if match is None:
            continue
        record = json.loads(match.group(2))
        kind, data = record["type"], record["data"]
        if kind == "REGISTER_BROKER_RECORD":
            found.append(BrokerChange(data["brokerId"], REGISTERED))
        elif kind == "BROKER_REGISTRATION_CHANGE_RECORD" and data.get("fenced"):
            found.append(BrokerChange(data["brokerId"], FENCING[data["fenced"]]))
        elif kind == "BROKER_REGISTRATION_CHANGE_RECORD" and data.get("inControlledShutdown"):
            found.append(BrokerChange(data["brokerId"], STOPPING))
        elif kind == "PARTITION_RECORD":
            place = (data["topicId"], data["partitionId"])
            found.append(PartitionChange(*place, in_sync=tuple(data["isr"])))
        elif kind == "PARTITION_CHANGE_RECORD":
            place = (data["topicId"], data["partitionId"])
            lists = [data.get(name) for name in ("isr", "eligibleLeaderReplicas", "lastKnownElr")]
            isr, eligible, last = [None if one is None else tuple(one) for one in lists]
            in_sync = isr or (None if eligible else last) or None
            recovering = data.get("leaderRecoveryState") == 1
            leader = data.get("leader")
            alone = isr == (leader,)
            found.append(PartitionChange(*place, leader, recovering, in_sync, eligible, alone))
    return found


def test_a_real_log_is_read_as_kafka_prints_it() -> None:
    with tarfile.open(DUMPS / "tv2-skipped-markers.tar.gz") as archive:
        names = [name for name in archive.getnames() if "__cluster_metadata-0/0000" in name]
        (log,) = [name for name in names if name.endswith(f"{0:020d}.log") and "/dump/" in name]
        (text,) = [name for name in names if name.endswith(f"{0:020d}.log.txt")]
        files = [archive.extractfile(name) for name in (log, text)]
        data, told = [file.read() for file in files if file is not None]
    expected = printed(told.decode())
    assert {type(one) for one in expected} == {BrokerChange, PartitionChange}
    found = [decode_change(value) for value in values(data)]
    assert [one for one in found if one is not None] == expected


def values(data: bytes) -> list[bytes]:
    """The values of all records of a log, read without the code under test."""
    found, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at + 8 : at + 12], "big") + 12
        control = data[at + 22] & 0x20
        number = int.from_bytes(data[at + 57 : at + 61], "big")
        here = at + 61
        for _ in range(0 if control else number):
            length, here = varint(data, here)
            end, here = here + length, here + 1
            _, here = varint(data, here)
            _, here = varint(data, here)
            key, here = varint(data, here)
            here += max(key, 0)
            length, here = varint(data, here)
            found.append(data[here : here + max(length, 0)])
            here = end
        at += size
    return found


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
