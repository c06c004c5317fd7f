"""Checks the findings of an audit again from the bytes that they name, and from nothing else.

    python3 recheck.py report.json DUMP [CODE ...]

DUMP is the folder that was audited (several: each once, in the same order). The findings are those
of report.json, or rows of the table `violation`: a JSON array, or a JSON object a line. Python
3.11 or newer is all that is needed: nothing of eosaudit is imported, so this file is a second
witness. Of each finding it tells

    confirmed    the bytes are those quoted, whole, and what the finding says follows from them
    holds        the bytes are those quoted and whole; that something is missing elsewhere, or how
                 long it takes, no bytes of the finding can show
    refuted      the bytes are others, or show something else
    undecided    the file is not there, is a text, or has a codec that Python does not know

Exit code 1 where a finding was refuted, 3 where one is undecided, else 0.
"""

import json
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

CONFIRMED, HOLDS, REFUTED, UNDECIDED = "confirmed", "holds", "refuted", "undecided"
HEADER = struct.Struct(">qiibIhiqqqhii")
CODECS = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
SMALLEST = {0: 14, 1: 22, 2: 49}
TRANSACTIONAL, CONTROL, HORIZON = 0x10, 0x20, 0x40
MAX_SEQUENCE = (1 << 31) - 1
LARGEST_PLAIN = 1 << 28
TXNINDEX = struct.Struct(">hqqqq")
COORDINATOR_HEAD, COORDINATOR_TIMES = struct.Struct(">hqhib"), struct.Struct(">qq")
EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)
# These findings say that the bytes are no whole batch, or that their checksum is wrong.
OF_DAMAGE = {
    "batch_crc_mismatch", "batch_length_invalid", "batch_magic_unknown", "active_tail_torn",
    "closed_segment_tail_garbage", "legacy_wrapper_invalid",
}  # fmt: skip


# What a batch with such a role is, whatever the finding.
ABORT_MARKER = "the ABORT marker"
MARKERS = {
    "the marker", ABORT_MARKER, "the marker before", "the repeated marker",
    "the first marker", "the second marker", "the marker of the same epoch",
    "the marker of the lower epoch", "the marker of the lower coordinator epoch",
}  # fmt: skip
OF_TRANSACTION = {"first batch of the transaction", "last batch of the transaction"}


class RefutedError(Exception):
    """The bytes are not what the finding says."""


class UndecidedError(Exception):
    """The bytes cannot be read here."""


class Record(NamedTuple):
    """A record of a batch of magic 2."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class State(NamedTuple):
    """A value of `__transaction_state`."""

    producer: int
    epoch: int
    timeout_ms: int
    state: int
    update_ms: int


class Batch:
    """A batch as it lies in the file; `whole`: its length and checksum are right."""

    def __init__(self, data: bytes) -> None:
        """Reads the header; of magic 0 and 1 only what all have."""
        self.data, self.magic = data, data[16] if len(data) > 16 else -1
        self.base, self.length = struct.unpack_from(">qi", data) if len(data) >= 12 else (-1, -1)
        self.leader = self.producer = self.epoch = self.sequence = self.codec = -1
        self.attributes = self.delta = self.count = self.timestamp = self.newest = 0
        self.last, crc = self.base, -1
        if self.magic == 2 and len(data) >= HEADER.size:
            (_, _, self.leader, _, crc, self.attributes, self.delta, self.timestamp, self.newest,
             self.producer, self.epoch, self.sequence, self.count,
            ) = HEADER.unpack_from(data)  # fmt: skip
            self.last = self.base + self.delta
            self.codec = self.attributes & 7
        elif self.magic in (0, 1) and len(data) > 17:
            (crc,) = struct.unpack_from(">I", data, 12)
            self.codec = data[17] & 7
        smallest = SMALLEST.get(self.magic, 1 << 31)
        self.fits = self.length >= smallest and self.length + 12 == len(data)
        right = crc32c(data[21:]) if self.magic == 2 else zlib.crc32(data[16:])
        self.whole = self.fits and right == crc

    @property
    def control(self) -> bool:
        """Whether it is one of the broker."""
        return bool(self.attributes & CONTROL)

    @property
    def transactional(self) -> bool:
        """Whether it is part of a transaction."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record."""
        return (self.sequence + self.delta) % (MAX_SEQUENCE + 1)

    def marker(self) -> tuple[int, int]:
        """Control type and coordinator epoch; raises ValueError where it is no marker."""
        record = next(self.records(), None)
        if not self.control or record is None or record.key is None or record.value is None:
            raise ValueError("no marker")
        (kind,), (epoch,) = (
            struct.unpack_from(">h", record.key, 2),
            struct.unpack_from(">i", record.value, 2),
        )
        return kind, epoch

    def plain(self) -> bytes:
        """The section of the records, decompressed."""
        section = self.data[HEADER.size :]
        if self.codec == 0:
            return section
        if self.codec != 1:
            raise UndecidedError(f"cannot be rechecked without codec {CODECS.get(self.codec)}")
        parts = b""
        while section[:2] == b"\x1f\x8b":
            member = zlib.decompressobj(wbits=31)
            try:
                parts += member.decompress(section, LARGEST_PLAIN)
            except zlib.error as error:
                raise ValueError(str(error)) from error
            if not member.eof:
                raise ValueError("the stream is cut off")
            section = member.unused_data
        return parts

    def records(self) -> Iterator[Record]:
        """The records; raises ValueError at what is none."""
        data = self.plain()
        at = 0
        appended = self.attributes & 8
        for _ in range(self.count):
            size, at = varint(data, at)
            end = at + size
            if size < 1 or end > len(data):
                raise ValueError("a record that is cut off")
            late, at = varint(data, at + 1)
            delta, at = varint(data, at)
            key, at = span(data, at, end)
            value, at = span(data, at, end)
            headers, at = varint(data, at)
            for _ in range(2 * headers):
                _, at = span(data, at, end)
            if at != end or headers < 0:
                raise ValueError("a record of another size")
            moment = self.newest if appended else self.timestamp + late
            yield Record(self.base + delta, moment, key, value)
        if at != len(data):
            raise ValueError("bytes after the last record")


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A zig-zag varint and where it ends; raises ValueError."""
    value = shift = 0
    while shift < 70:
        if at >= len(data):
            raise ValueError("bytes end in a varint")
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise ValueError("a varint that is too long")


def span(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    """Bytes with their size in front, null where that is negative."""
    size, at = varint(data, at)
    if size < 0:
        return None, at
    if at + size > end:
        raise ValueError("a field that is cut off")
    return data[at : at + size], at + size


@cache
def crc_table() -> list[int]:
    """Of CRC-32C, one number a byte."""
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)  # noqa: PLW2901
        table.append(value)
    return table


def crc32c(data: bytes) -> int:
    """CRC-32C, as in batches of magic 2 and in producer snapshots."""
    table, crc = crc_table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


class Proof(NamedTuple):
    """Evidence with the bytes that lie there now; `size`: of the file."""

    role: str
    file: str
    position: int
    data: bytes
    size: int

    @property
    def batch(self) -> Batch:
        """The bytes as a batch."""
        return Batch(self.data)


def is_log(file: str) -> bool:
    """Whether a file has batches."""
    return file.removesuffix(".swap").endswith((".log", ".checkpoint"))


def of_batch(says: Callable[[Batch], bool]) -> "Claim":
    """A claim about the one batch."""
    return lambda finding, proofs: says(proofs[-1].batch)


def of_two(says: Callable[[Batch, Batch], bool | None]) -> "Claim":
    """A claim about two batches of one partition: the first and the last that are named."""

    def claim(finding: dict[str, Any], proofs: list[Proof]) -> bool | None:
        return says(proofs[0].batch, proofs[-1].batch) if len(proofs) > 1 else None

    return claim


def of_producer(says: Callable[[Batch, Batch], bool]) -> "Claim":
    """The same of one producer, in the order of the log."""
    return of_two(lambda a, b: a.producer == b.producer >= 0 and a.base < b.base and says(a, b))


def of_markers(says: Callable[[Batch, Batch, tuple[int, int], tuple[int, int]], bool]) -> "Claim":
    """The same of two markers, with their control types and coordinator epochs."""
    return of_producer(lambda a, b: says(a, b, a.marker(), b.marker()))


def fails(read: Callable[[Batch], Any]) -> Callable[[Batch], bool]:
    """Whether reading the records fails."""

    def says(batch: Batch) -> bool:
        try:
            read(batch)
        except (ValueError, struct.error):
            return True
        return False

    return says


def ahead(a: Batch, b: Batch) -> bool:
    """Whether the sequence of b lies above the one that follows a."""
    expected = (a.last_sequence + 1) % (MAX_SEQUENCE + 1)
    return (b.sequence - expected) % (MAX_SEQUENCE + 1) < 1 << 30 and b.sequence != expected


def states(finding: dict[str, Any], proofs: list[Proof]) -> list[State | None]:
    """The coordinator's records of the id in the batches named, None for a tombstone."""
    wanted = finding.get("transactional_id")
    found: list[State | None] = []
    for number, proof in enumerate(proofs):
        last = number == len(proofs) - 1
        of_id = [
            one
            for one in proof.batch.records()
            if (wanted is None or identity(one.key) == wanted)
            and (not last or finding.get("offset_first") in (None, one.offset))
        ]
        if not of_id:
            raise RefutedError("the batch has no record of the transactional id at that offset")
        found.append(state_of(of_id[-1].value))
    return found


def identity(key: bytes | None) -> str:
    """The transactional id of a key."""
    if key is None or len(key) < 4:
        return ""
    (size,) = struct.unpack_from(">h", key, 2)
    return key[4 : 4 + max(size, 0)].decode("utf-8", "replace")


def state_of(value: bytes | None) -> State | None:
    """A value of version 0 or 1; raises ValueError for others."""
    if value is None:
        return None
    if len(value) < COORDINATOR_HEAD.size:
        raise ValueError("too short")
    version, producer, epoch, timeout, state = COORDINATOR_HEAD.unpack_from(value)
    if version == 0:
        (update,) = struct.unpack_from(">q", value, len(value) - 16)
    else:
        update = -1
    return State(producer, epoch, timeout, state, update)


def of_state(says: Callable[[State], bool]) -> "Claim":
    """A claim about a record of the coordinator."""

    def claim(finding: dict[str, Any], proofs: list[Proof]) -> bool | None:
        state = states(finding, proofs)[-1]
        return None if state is None else says(state)

    return claim


def of_states(says: Callable[[State, State], bool]) -> "Claim":
    """A claim about a record of the coordinator and the one before it."""

    def claim(finding: dict[str, Any], proofs: list[Proof]) -> bool | None:
        before, state, *_ = [*states(finding, proofs), None]
        return None if before is None or state is None else says(before, state)

    return claim


def tail(finding: dict[str, Any], proofs: list[Proof]) -> bool | None:
    """Bytes to the end of the file that are no whole batch."""
    one = proofs[-1]
    return one.position + len(one.data) == one.size and not one.batch.whole


def broken_frame(finding: dict[str, Any], proofs: list[Proof]) -> bool | None:
    """A length that cannot be, or that leads to no batch with that checksum."""
    return not proofs[-1].batch.whole


def index_entry(finding: dict[str, Any], proofs: list[Proof]) -> bool | None:
    """Of an entry and its marker: they belong together, and the entry says what was found."""
    entries = [one for one in proofs if ".txnindex" in one.file]
    batches = [one.batch for one in proofs if is_log(one.file)]
    if not entries or len(entries[0].data) != TXNINDEX.size:
        return None
    _, producer, first, last, stable = TXNINDEX.unpack(entries[0].data)
    if finding.get("producer_id") not in (None, producer):
        return False
    code = finding["code"]
    if code == "txnindex_wrong_lso":
        return None if f"{stable}" in finding["found"].split() else False
    if code == "txnindex_malformed":
        return first > last or None
    if code in ("txnindex_wrong_first_offset", "txnindex_empty_transaction"):
        told = all(one.base in (first, last) or one.producer == producer for one in batches)
        return None if told else False
    return None


def corrupt_snapshot(finding: dict[str, Any], proofs: list[Proof]) -> bool | None:
    """A snapshot with another version, checksum or length."""
    data = proofs[-1].data
    if len(data) != proofs[-1].size or len(data) < 10:
        return None
    version, crc, count = struct.unpack_from(">hIi", data)
    return version != 1 or crc != crc32c(data[6:]) or len(data) != 10 + 46 * count or None


def prepared(proofs: list[Proof], producer: int | None) -> State | None:
    """The Prepare record that is named, of the producer; None where none is."""
    for one in proofs:
        if one.role == "the Prepare record":
            found = [state_of(record.value) for record in one.batch.records()]
            mine = [state for state in found if state and state.producer == producer]
            if not any(state.state in (PREPARE_COMMIT, PREPARE_ABORT) for state in mine):
                raise RefutedError("the batch has no Prepare record of the producer")
            return mine[-1]
    return None


def other_outcome(finding: dict[str, Any], proofs: list[Proof]) -> bool | None:
    """A marker of the other outcome than the Prepare record; None where that is not named."""
    state = prepared(proofs, finding.get("producer_id"))
    markers = [one.batch.marker()[0] for one in proofs if "marker" in one.role]
    if state is None or not markers:
        return None
    return (markers[0] == 1) != (state.state == PREPARE_COMMIT) or None


def listed(finding: dict[str, Any], proofs: list[Proof]) -> bool | None:
    """The Prepare record names the topic. That no marker is there, no bytes show."""
    prepared(proofs, finding.get("producer_id"))
    topic = str(finding.get("topic")).encode()
    values = [
        record.value or b""
        for one in proofs
        if one.role == "the Prepare record"
        for record in one.batch.records()
    ]
    return None if not values or any(topic in value for value in values) else False


def copies_differ(a: Batch, b: Batch) -> bool | None:
    """Whether two copies of the same offsets have other bytes; None where the offsets differ."""
    return None if (a.base, a.last) != (b.base, b.last) else a.data[12:] != b.data[12:] or None


Claim = Callable[[dict[str, Any], list[Proof]], bool | None]
CLAIMS: dict[str, Claim] = {
    "batch_attribute_bits_unknown": of_batch(lambda b: bool(b.attributes & ~0x7F)),
    "batch_codec_invalid": of_batch(
        lambda b: b.codec > (4 if b.magic == 2 else 3) or (b.control and b.codec > 0)
    ),
    "batch_count_below_range": of_batch(lambda b: b.count <= b.delta),
    "batch_count_exceeds_range": of_batch(lambda b: b.count > b.delta + 1),
    "batch_crc_mismatch": of_batch(lambda b: b.fits and not b.whole),
    "batch_decompression_failed": of_batch(fails(lambda b: b.plain())),
    "batch_empty_unexpected": of_batch(lambda b: b.count == 0),
    "batch_length_invalid": broken_frame,
    "batch_magic_unknown": of_batch(lambda b: b.magic not in (0, 1, 2)),
    "batch_max_timestamp_mismatch": of_batch(
        lambda b: max(one.timestamp for one in b.records()) != b.newest
    ),
    "batch_producer_fields_inconsistent": of_batch(
        lambda b: (
            (b.producer >= 0) != (b.epoch >= 0)
            or (b.producer < 0 and (b.sequence >= 0 or b.transactional))
            or (b.producer >= 0 and not b.control and b.sequence < 0)
        )
    ),
    "batch_record_count_mismatch": of_batch(fails(lambda b: list(b.records()))),
    "batch_record_malformed": of_batch(fails(lambda b: list(b.records()))),
    "batch_record_offset_order": of_batch(
        lambda b: (
            (deltas := [one.offset - b.base for one in b.records()]) != sorted({*deltas})
            or deltas[-1] > b.delta
            or deltas[0] < 0
        )
    ),
    "control_batch_malformed": of_batch(
        lambda b: (
            b.count != 1
            or b.delta != 0
            or b.sequence != -1
            or not b.transactional
            or b.producer < 0
            or fails(Batch.marker)(b)
        )
    ),
    "control_type_unknown": of_batch(lambda b: b.marker()[0] not in (0, 1)),
    "delete_horizon_unexpected": of_batch(lambda b: bool(b.attributes & HORIZON)),
    "active_tail_torn": tail,
    "closed_segment_tail_garbage": tail,
    "offset_gap": of_two(lambda a, b: b.base > a.last + 1),
    "segment_missing": of_two(lambda a, b: b.base > a.last + 1),
    "offset_not_increasing": of_two(lambda a, b: b.base <= a.last),
    "leader_epoch_regression": of_two(lambda a, b: b.leader < a.leader),
    "sequence_gap": of_producer(lambda a, b: a.epoch == b.epoch and ahead(a, b)),
    "sequence_regression": of_producer(
        lambda a, b: a.epoch == b.epoch and not ahead(a, b) and b.sequence != a.last_sequence + 1
    ),
    "sequence_nonzero_at_new_epoch": of_producer(lambda a, b: b.epoch > a.epoch and b.sequence > 0),
    "first_sequence_nonzero": of_batch(lambda b: b.producer >= 0 and b.sequence > 0),
    "producer_epoch_regression": of_producer(lambda a, b: b.epoch < a.epoch),
    "producer_epoch_out_of_range": of_batch(lambda b: b.epoch == (1 << 15) - 1),
    "zombie_write_after_fence": of_producer(
        lambda a, b: a.control and not b.control and b.epoch < a.epoch
    ),
    "nontransactional_in_open_txn": of_producer(
        lambda a, b: a.transactional and not b.transactional
    ),
    "epoch_bump_inside_open_txn": of_producer(
        lambda a, b: a.transactional and b.transactional and b.epoch > a.epoch
    ),
    "late_write_after_marker": of_producer(
        lambda a, b: a.control and b.transactional and not b.control
    ),
    "conflicting_markers": of_markers(lambda a, b, x, y: a.epoch == b.epoch and x[0] != y[0]),
    "duplicate_marker": of_markers(lambda a, b, x, y: a.epoch == b.epoch and x[0] == y[0]),
    "coordinator_epoch_regression": of_markers(lambda a, b, x, y: y[1] < x[1]),
    "marker_epoch_regression": of_producer(lambda a, b: b.control and b.epoch < a.epoch),
    "marker_epoch_invalid": of_producer(lambda a, b: b.control and b.epoch > a.epoch),
    "txnlog_epoch_regression": of_states(
        lambda a, b: a.producer == b.producer and b.epoch < a.epoch
    ),
    "txnlog_complete_without_prepare": of_states(
        lambda a, b: (
            b.state in (COMPLETE_COMMIT, COMPLETE_ABORT)
            and a.state not in (PREPARE_COMMIT, PREPARE_ABORT)
        )
    ),
    "txnlog_epoch_invalid": of_state(lambda s: s.epoch < 0),
    "txnlog_first_epoch_nonzero": of_state(lambda s: s.epoch > 0),
    "txnlog_timeout_invalid": of_state(lambda s: s.timeout_ms <= 0),
    "txnlog_timeout_changed": of_states(lambda a, b: a.timeout_ms != b.timeout_ms),
    "txnlog_pid_changed": of_states(lambda a, b: a.producer != b.producer),
    "txnlog_pid_regression": of_states(lambda a, b: b.producer < a.producer),
    "txnlog_state_invalid": of_state(lambda s: s.state not in range(8)),
    "snapshot_corrupt": corrupt_snapshot,
    "marker_outcome_mismatch": other_outcome,
    "torn_transaction": other_outcome,
    "missing_marker_in_listed_partition": listed,
    "replica_divergence": of_two(copies_differ),
    "mixed_transactional_mode": of_two(
        lambda a, b: a.producer == b.producer and not a.transactional and b.transactional
    ),
    "txnindex_wrong_lso": index_entry,
    "txnindex_wrong_first_offset": index_entry,
    "txnindex_extra_entry": index_entry,
    "txnindex_empty_transaction": index_entry,
    "txnindex_malformed": index_entry,
}


def places(dumps: list[Path], file: str) -> Iterator[Path]:
    """Where a file of the dump may lie: below it, or, of several, below the one of that name."""
    if len(dumps) == 1:
        yield dumps[0] / file
        return
    seen: Counter[str] = Counter()
    for dump in dumps:
        name = dump.resolve().name
        seen[name] += 1
        label = name if seen[name] == 1 else f"{name}#{seen[name]}"
        if file.startswith(f"{label}/"):
            yield dump / file.removeprefix(f"{label}/")


def proof_of(evidence: dict[str, Any], dumps: list[Path], damaged: bool) -> Proof:
    """The bytes that lie there now. Raises RefutedError where they are not those quoted."""
    file, position, length = (evidence[name] for name in ("file", "byte_position", "byte_length"))
    if "!/" in file:
        raise UndecidedError(f"{file} is a text of kafka-dump-log")
    path = next((one for one in places(dumps, file) if one.is_file()), None)
    if path is None:
        raise UndecidedError(f"{file} is not in the dump")
    size = path.stat().st_size
    with path.open("rb") as opened:
        opened.seek(position or 0)
        data = opened.read(size if length is None else length)
    if length is not None and len(data) != length:
        raise RefutedError(f"{file} has {len(data)} of {length} bytes at {position}")
    for field in evidence.get("fields") or ():
        quoted = bytes.fromhex(field["hex"])
        at = field["byte_position"] - (position or 0)
        if data[at : at + len(quoted)] != quoted:
            raise RefutedError(
                f"{file}: {field['name']} at byte {field['byte_position']} is another"
            )
    if is_log(file) and length and not damaged and not Batch(data).whole:
        raise RefutedError(f"{file}: no whole batch of {length} bytes at {position}")
    return Proof(evidence.get("role") or "", file, position or 0, data, size)


def named(finding: dict[str, Any], proofs: list[Proof]) -> None:
    """Each batch is what it is named for, and that at the place is of the producer."""
    for one in proofs:
        batch = one.batch if is_log(one.file) else None
        if batch is None or not batch.whole or batch.magic < 2:
            continue
        if one.role in MARKERS and not batch.control:
            raise RefutedError(f"the batch at {one.position} is no marker")
        if one.role == ABORT_MARKER and batch.marker()[0] != 0:
            raise RefutedError(f"the marker at {one.position} is no ABORT")
        if one.role in OF_TRANSACTION and (batch.control or not batch.transactional):
            raise RefutedError(f"the batch at {one.position} is not of a transaction")
        own = (one.file, one.position) == (finding.get("file"), finding.get("byte_position"))
        # Batches of the coordinator have no producer, those of a plain producer neither.
        others = {finding.get("producer_id"), -1}
        if own and finding.get("producer_id") is not None and batch.producer not in others:
            raise RefutedError(f"the batch at {one.position} is of producer {batch.producer}")


def recheck(finding: dict[str, Any], dumps: list[Path]) -> tuple[str, str]:
    """What became of a finding, and why."""
    evidence = [one for one in finding.get("evidence") or () if one.get("file")]
    if not evidence:
        return HOLDS, "no bytes are named: it is about what is listed beside the log"
    code = finding["code"]
    try:
        proofs = [proof_of(one, dumps, code in OF_DAMAGE) for one in evidence]
        named(finding, proofs)
        claim = CLAIMS.get(code)
        says = claim(finding, proofs) if claim else None
    except RefutedError as error:
        return REFUTED, str(error)
    except UndecidedError as error:
        return UNDECIDED, str(error)
    except (ValueError, struct.error, IndexError) as error:
        return REFUTED, f"the bytes cannot be read as the finding says: {error}"
    if says is None:
        return HOLDS, "the bytes are there and whole"
    return (CONFIRMED, "follows from the bytes") if says else (REFUTED, "the bytes show otherwise")


def findings_of(path: Path) -> list[dict[str, Any]]:
    """Findings of report.json, of a JSON array, or of a JSON object a line."""
    text = path.read_text("utf-8")
    try:
        told = json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(told, dict):
        return list(told["findings"]) if "findings" in told else [told]
    return list(told)


def main(arguments: list[str]) -> int:
    """Tells each finding in a line, and the numbers."""
    dumps = [Path(one) for one in arguments[1:] if Path(one).is_dir()]
    codes = {one for one in arguments[1:] if not Path(one).is_dir()}
    if not arguments or not dumps:
        sys.stderr.write((__doc__ or "").split("\n\n")[1] + "\n")
        return 2
    counts: Counter[str] = Counter()
    for one in findings_of(Path(arguments[0])):
        if codes and one["code"] not in codes:
            continue
        result, why = recheck(one, dumps)
        counts[result] += 1
        place = f"{one.get('topic')}-{one.get('partition')} at {one.get('offset_first')}"
        sys.stdout.write(f"{result:9}  {one['code']}  {place}: {why}\n")
    sys.stdout.write(
        ", ".join(f"{number} {result}" for result, number in sorted(counts.items())) + "\n"
    )
    return 1 if counts[REFUTED] else 3 if counts[UNDECIDED] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
