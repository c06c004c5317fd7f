"""Topics of the brokers' own, and to which of their partitions an id or a group belongs."""

import struct

TXN_LOG, OFFSETS = "__transaction_state", "__consumer_offsets"


def placed(name: str, partitions: int) -> int:
    """The partition of a transactional id or group: Java's hash of it."""
    hashed = 0
    units = name.encode("utf-16-be", "surrogatepass")
    for (unit,) in struct.iter_unpack(">H", units):
        hashed = (31 * hashed + unit) & 0xFFFFFFFF
    signed = hashed - (1 << 32) if hashed >> 31 else hashed
    return (0 if signed == -(1 << 31) else abs(signed)) % partitions
