"""Fault bits that the decoder sets on a batch, one bit a batch-local rule.

A batch with a fault is never folded into a run, and gives one `frame` row. Exception: what the
cleaner legally leaves behind, below its checkpoint. The checks of `jobs/verify/checks/batch` read
the bits.
"""

CODEC_INVALID = 1 << 0
COUNT_EXCEEDS_RANGE = 1 << 1
COUNT_BELOW_RANGE = 1 << 2
EMPTY = 1 << 3
PRODUCER_FIELDS_INCONSISTENT = 1 << 4
ATTRIBUTE_BITS_UNKNOWN = 1 << 5
CONTROL_MALFORMED = 1 << 6
CONTROL_TYPE_UNKNOWN = 1 << 7
DECOMPRESSION_FAILED = 1 << 8
RECORD_COUNT_MISMATCH = 1 << 9
RECORD_MALFORMED = 1 << 10
RECORD_OFFSET_ORDER = 1 << 11
MAX_TIMESTAMP_MISMATCH = 1 << 12
DELETE_HORIZON = 1 << 13
DECOMPRESSED_SIZE_LIMIT = 1 << 14
# A delete horizon on a batch that holds neither a tombstone nor a marker.
HORIZON_WITHOUT_CAUSE = 1 << 15
# Of wrappers of magic 0 and 1 (`AbstractLegacyRecordBatch`).
WRAPPER_INNER_CRC = 1 << 16
WRAPPER_NESTED = 1 << 17
WRAPPER_EMPTY = 1 << 18
WRAPPER_OFFSET = 1 << 19
WRAPPER_ORDER = 1 << 20
WRAPPER_INVALID = WRAPPER_INNER_CRC | WRAPPER_NESTED | WRAPPER_EMPTY | WRAPPER_OFFSET

# What the cleaner legally leaves behind: not a fault below the cleaner checkpoint.
CLEANER_TRACES = COUNT_BELOW_RANGE | EMPTY | DELETE_HORIZON | HORIZON_WITHOUT_CAUSE
# One cause, one finding: a batch with the bit on the left is not reported for those on the right.
IMPLIED = (
    (CONTROL_MALFORMED, COUNT_EXCEEDS_RANGE | PRODUCER_FIELDS_INCONSISTENT | CONTROL_TYPE_UNKNOWN),
    (
        RECORD_COUNT_MISMATCH,
        COUNT_EXCEEDS_RANGE | COUNT_BELOW_RANGE | EMPTY | MAX_TIMESTAMP_MISMATCH,
    ),
    (RECORD_MALFORMED, RECORD_OFFSET_ORDER | MAX_TIMESTAMP_MISMATCH),
    (COUNT_EXCEEDS_RANGE, RECORD_OFFSET_ORDER),
    (COUNT_BELOW_RANGE | EMPTY, DELETE_HORIZON),
)
# A wrapper of magic 0 or 1 with one of these could not be opened: only its last offset is known.
NOT_OPENED = (
    CODEC_INVALID
    | DECOMPRESSION_FAILED
    | DECOMPRESSED_SIZE_LIMIT
    | RECORD_MALFORMED
    | WRAPPER_INVALID
    | WRAPPER_ORDER
)
# A batch with one of these says nothing that the producer rules could use.
NOT_REPLAYED = PRODUCER_FIELDS_INCONSISTENT | CONTROL_MALFORMED | CONTROL_TYPE_UNKNOWN
