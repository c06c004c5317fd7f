"""Records of `__cluster_metadata` (KRaft, KIP-500): which brokers were ever registered.

A value is an unsigned varint frame version, api key and api version, then the message
(`MetadataRecordSerde`). RegisterBrokerRecord is api key 0 and begins with the broker id, int32.
"""

import struct

from udfs.wire.errors import WireError
from udfs.wire.varint import decode_unsigned_varint

REGISTER_BROKER = 0
# Frame version 1 and api key 0, as every such value begins: a batch without them has none.
REGISTRATION_START = b"\x01\x00"


def registered_broker(value: bytes | None) -> int | None:
    """Broker id of a registration, None for any other record."""
    if not value:
        return None
    try:
        _, at = decode_unsigned_varint(value, 0)
        api_key, at = decode_unsigned_varint(value, at)
        _, at = decode_unsigned_varint(value, at)
    except WireError:
        return None
    if api_key != REGISTER_BROKER or len(value) < at + 4:
        return None
    broker: int = struct.unpack_from(">i", value, at)[0]
    return broker
