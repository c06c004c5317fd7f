"""Shapes of the lines that kafka-dump-log prints, Kafka 0.11 to 4.x (`DumpLogSegments`).

Lines are `name: value` pairs with single spaces between. Names came and went from release to
release; each pattern takes all of them. Keys, values and header keys are printed as they are, so
a line means something only where the line before it has ended: patterns are matched at a position.
"""

import re

NUMBER = rb"(-?\d{1,19})"
FLAG = rb"(true|false)"
TYPE = rb"(CreateTime|LogAppendTime|NoTimestampType)"

# Windows may put a mark in front of a text, and ends lines with \r\n.
DUMPING = re.compile(rb"(?:\xef\xbb\xbf)?Dumping ([^\n]{1,4096})\n")
INVALID_BYTES = re.compile(rb"Found (\d{1,19}) invalid bytes at the end of [^\n]*\n")

BATCH = re.compile(
    rb"baseOffset: " + NUMBER + rb" lastOffset: " + NUMBER
    + rb"(?: count: " + NUMBER + rb")?"  # since 2.0
    + rb" baseSequence: " + NUMBER + rb" lastSequence: " + NUMBER
    + rb" producerId: " + NUMBER + rb" producerEpoch: " + NUMBER
    + rb" partitionLeaderEpoch: " + NUMBER + rb" isTransactional: " + FLAG
    + rb"(?: isControl: " + FLAG + rb")?"  # since 1.0
    + rb"(?: deleteHorizonMs: OptionalLong(?:\.empty|\[" + NUMBER + rb"\]))?"  # since 3.2
    + rb" position: " + NUMBER + rb" " + TYPE + rb": " + NUMBER
    + rb"(?: isvalid: " + FLAG + rb")?"  # here up to 2.1
    + rb" size: " + NUMBER + rb" magic: (\d{1,3}) compresscodec: (\w{1,16}) crc: (\d{1,10})"
    + rb"(?: isvalid: " + FLAG + rb")?\r?\n"
)  # fmt: skip
(
    BASE_OFFSET, LAST_OFFSET, COUNT, BASE_SEQUENCE, LAST_SEQUENCE, PRODUCER_ID, PRODUCER_EPOCH,
    LEADER_EPOCH, TRANSACTIONAL, CONTROL, DELETE_HORIZON, POSITION, TIMESTAMP_TYPE, TIMESTAMP,
    VALID_BEFORE, SIZE, MAGIC, CODEC, CRC, VALID,
) = range(1, 21)  # fmt: skip

OLD_BATCH = re.compile(
    rb"offset: " + NUMBER + rb" position: " + NUMBER + rb" " + TYPE + rb": " + NUMBER
    + rb"(?: isvalid: " + FLAG + rb")?"
    + rb" size: " + NUMBER + rb" magic: ([01]) compresscodec: (\w{1,16}) crc: (\d{1,10})"
    + rb"(?: isvalid: " + FLAG + rb")?\r?\n"
)  # fmt: skip
"""A message of magic 0 or 1; a wrapper prints its last offset."""
(
    OLD_OFFSET, OLD_POSITION, OLD_TYPE, OLD_TIMESTAMP, OLD_VALID_BEFORE, OLD_SIZE, OLD_MAGIC,
    OLD_CODEC, OLD_CRC, OLD_VALID,
) = range(1, 11)  # fmt: skip

# What follows the sizes of key and value: a record of magic 2, or a message of magic 0 or 1.
_END = (
    rb"(?:sequence: " + NUMBER + rb" headerKeys: \["
    + rb"|crc: \d{1,10} isvalid: " + FLAG
    + rb"|isValid: " + FLAG + rb" crc: \d{1,10}\})"
)  # fmt: skip
RECORD = re.compile(
    rb"\| offset: " + NUMBER
    + rb" (?:isValid: \w+ crc: \w+ keySize: (-?\d{1,10}) valueSize: (-?\d{1,10}) )?"  # 2.8
    + TYPE + rb": " + NUMBER + rb" "
    + rb"(?:key[sS]ize: (-?\d{1,10}) value[sS]ize: (-?\d{1,10}) )?"
    + rb"(?:baseOffset: [-\w: ]{1,300} position: \d{1,19} )?"  # 2.8
    + _END
)  # fmt: skip
(
    RECORD_OFFSET, KEY_SIZE_2_8, VALUE_SIZE_2_8, RECORD_TYPE, RECORD_TIMESTAMP, KEY_SIZE,
    VALUE_SIZE, SEQUENCE, INNER_VALID, INNER_VALID_3,
) = range(1, 11)  # fmt: skip
"""A record beneath the line of its batch, since 2.2."""

LONE_RECORD = re.compile(
    rb"offset: " + NUMBER + rb" position: " + NUMBER + rb" " + TYPE + rb": " + NUMBER
    + rb" isvalid: " + FLAG + rb" keysize: (-?\d{1,10}) valuesize: (-?\d{1,10})"
    + rb" magic: (\d{1,3}) compresscodec: (\w{1,16}) "
    + rb"(?:producerId: " + NUMBER + rb" producerEpoch: " + NUMBER + rb" sequence: " + NUMBER
    + rb" isTransactional: " + FLAG + rb" headerKeys: \[|crc: (\d{1,10}))"
)  # fmt: skip
"""A record without the line of its batch: up to 2.1, --deep-iteration prints none."""
(
    LONE_OFFSET, LONE_POSITION, LONE_TYPE, LONE_TIMESTAMP, LONE_VALID, LONE_KEY_SIZE,
    LONE_VALUE_SIZE, LONE_MAGIC, LONE_CODEC, LONE_PRODUCER_ID, LONE_PRODUCER_EPOCH, LONE_SEQUENCE,
    LONE_TRANSACTIONAL, LONE_CRC,
) = range(1, 15)  # fmt: skip

MARKER = re.compile(rb" endTxnMarker: (COMMIT|ABORT) coordinatorEpoch: (-?\d{1,10})\r?\n")
OTHER_CONTROL = re.compile(
    rb" controlType: \w{1,40}\((-?\d{1,5})\)\r?\n| [A-Za-z]{1,40}: \{[^\n]*\n"
)
WITHOUT_METADATA = re.compile(rb"\| (?:key|payload): | payload: ")
"""A record of --skip-record-metadata."""

ABORTED = re.compile(
    rb"version: " + NUMBER + rb" producerId: " + NUMBER + rb" firstOffset: " + NUMBER
    + rb" lastOffset: " + NUMBER + rb" lastStableOffset: " + NUMBER + rb"\r?\n"
)  # fmt: skip

_FIRST_OFFSET = rb"(?:None|OptionalLong\.empty|(?:Some\(|OptionalLong\[)" + NUMBER + rb"[)\]])"
PRODUCER = re.compile(
    rb"producerId: " + NUMBER + rb" producerEpoch: " + NUMBER
    + rb"(?: lastSequence: " + NUMBER + rb" lastOffset: " + NUMBER + rb" offsetDelta: " + NUMBER
    + rb" lastTimestamp: " + NUMBER + rb")?"  # here in 0.11
    + rb" coordinatorEpoch: " + NUMBER + rb" currentTxnFirstOffset: " + _FIRST_OFFSET
    + rb"(?: lastTimestamp: " + NUMBER + rb")?"  # since 3.1
    + rb"(?: firstSequence: " + NUMBER + rb" lastSequence: " + NUMBER + rb" lastOffset: " + NUMBER
    + rb" offsetDelta: " + NUMBER + rb" timestamp: " + NUMBER + rb")? ?\r?\n"
)  # fmt: skip
"""An entry of a `.snapshot`; one without a data batch ends early."""
(
    STATE_ID, STATE_EPOCH, OLD_SEQUENCE, OLD_LAST_OFFSET, OLD_DELTA, OLD_STATE_TIMESTAMP,
    COORDINATOR_EPOCH, FIRST_OFFSET, STATE_TIMESTAMP, _, STATE_SEQUENCE, STATE_LAST_OFFSET,
    STATE_DELTA, DATA_TIMESTAMP,
) = range(1, 15)  # fmt: skip
# What the tool says of a `.snapshot` that it cannot read, which brokers cannot either.
BAD_SNAPSHOT = re.compile(rb"Snapshot (?:is corrupt|failed schema validation)[^\n]*\n")

# What the tool says of what it read, on its error output: the lines that begin it.
COMPLAINT = re.compile(
    rb"(?:Mismatches in :|Found (?:timestamp mismatch|out of order timestamp) in :"
    rb"|Non-consecutive offsets in |Indexed offset: -?\d)[^\n]*\n"
)
# The tool ends with it: what it was about to print of that file is not there.
EXCEPTION = re.compile(rb"Exception in thread [^\n]*\n")

OFFSET_ENTRY = re.compile(rb"offset: " + NUMBER + rb" position: " + NUMBER + rb"\r?\n")
TIME_ENTRY = re.compile(rb"timestamp: " + NUMBER + rb" offset: " + NUMBER + rb"\r?\n")
"""An entry of an `.index`, and of a `.timeindex`."""

CODECS = {b"none": 0, b"gzip": 1, b"snappy": 2, b"lz4": 3, b"zstd": 4}

# What may stand after a whole record: without it, the line is part of a key or value.
FOLLOWS_RECORD = (
    b"| ", b"baseOffset: ", b"offset: ", b"Dumping ", b"Found ", b"Non-consecutive offsets in ",
    b"Mismatches in :", b"Exception in thread ", b"Ignoring unknown file ",
    b"The following indexed offsets ",
)  # fmt: skip
