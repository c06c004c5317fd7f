"""Byte layout of a message of magic 0 or 1 (`LegacyRecord`, Kafka up to 0.10; KIP-32).

The first 17 bytes are those of every batch, but for a CRC-32 in place of the leader epoch. Magic 1
has a timestamp before the key, magic 0 has none. Key and value are an int32 length, -1 for null,
and that many bytes. Positions are bytes from the start of the message, integers big endian.
"""

from udfs.wire.batches import batch_layout

CRC = batch_layout.LOG_OVERHEAD
ATTRIBUTES = batch_layout.MAGIC + 1
TIMESTAMP = ATTRIBUTES + 1
KEY_V0 = TIMESTAMP
KEY_V1 = TIMESTAMP + 8
LENGTH_SIZE = 4

KNOWN_ATTRIBUTES_V0 = batch_layout.CODEC_MASK
KNOWN_ATTRIBUTES_V1 = batch_layout.CODEC_MASK | batch_layout.TIMESTAMP_TYPE_MASK
# There was no zstd yet: none, gzip, snappy, lz4.
HIGHEST_CODEC = 3

NO_TIMESTAMP = -1
