"""Changes that know the formats: lengths, counts, varints, checksums made right again."""

import random
import struct
import zlib

import google_crc32c

from fuzz.seeds import Seed, frames
from tests.wire_writer import batches as writer
from udfs.wire.codecs import GZIP, LZ4, SNAPPY, ZSTD

ODD = (
    b"\x7f" + b"\xff" * 7, b"\x80" + bytes(7), b"\xff" * 8, bytes(8), b"\x7f\xff\xff\xff",
    b"\x80\0\0\0", b"\xff" * 4, bytes(4), b"\x7f\xff", b"\x80\0", b"\xff", b"\x80", b"\x7f", b"\0",
    b"\x01", b"\x02", b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01", b"\xff\xff\xff\xff\xff\x7f",
    b"\x80\x80\x80\x80\x00", b"\x10\x00\x00\x00", b"\x00\x0f\xff\xff",
)  # fmt: skip
WORDS = (
    b"-1", b"0", b"9" * 400, b"1e999", b"null", b"true", b"{", b"[" * 2000, b'"', b"\\u", b"\\",
    b"\xff", b"\n", b"\r", b"\0", b" ", b"offset: ", b"baseOffset: ", b"| ", b"Dumping /k/t-0/",
    b"position: 9223372036854775808 ", b"key: ", b" payload: ", b"isvalid: false", b"magic: 2",
    b"NaN", b"[]", b"{}", "²".encode(), "٣".encode(),
)  # fmt: skip
TEXTS = ("text", "leader_epoch_checkpoint", "checkpoint", "properties", "manifest", "answers")
# Header fields of a batch of magic 2 worth a lie, by position and size.
FIELDS = ((0, 8), (8, 4), (12, 4), (16, 1), (17, 4), (21, 2), (23, 4), (27, 8), (35, 8), (43, 8),
          (51, 2), (53, 4), (57, 4))  # fmt: skip
MAGIC_1_VALUE = 26
BOMB = 1 << 23


def changed(chance: random.Random, seed: Seed, others: list[Seed]) -> bytes:
    """One input: a seed with some changes."""
    data = bytearray(seed.data)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 5))):
        step = chance.random()
        if seed.kind in ("segment", "metadata_log") and step < 0.55:
            _in_batch(chance, data)
        elif seed.kind in TEXTS and step < 0.6:
            _in_text(chance, data)
        else:
            _anywhere(chance, data, others)
    if seed.kind in ("segment", "metadata_log") and chance.random() < 0.85:
        repair_batches(data)
    if seed.kind == "producer_snapshot" and chance.random() < 0.85:
        repair_snapshot(data)
    return bytes(data[: 1 << 17])


def _anywhere(chance: random.Random, data: bytearray, others: list[Seed]) -> None:
    kind, size = chance.random(), len(data)
    at = chance.randrange(size + 1)
    if kind < 0.3 and size:
        at = min(at, size - 1)
        data[at] ^= 1 << chance.randrange(8)
    elif kind < 0.55:
        odd = chance.choice(ODD)
        data[at : at + len(odd)] = odd
    elif kind < 0.65:
        del data[at:]
    elif kind < 0.75:
        del data[at : at + chance.randint(1, 40)]
    elif kind < 0.85:
        data[at:at] = chance.randbytes(chance.randint(1, 20))
    elif kind < 0.93:
        other = chance.choice(others).data
        start = chance.randrange(len(other) + 1)
        data[at : at + chance.randint(0, 60)] = other[start : start + chance.randint(0, 300)]
    else:
        again = bytes(data[at : at + chance.randint(1, 200)])
        data[at:at] = again * chance.randint(1, 4)


def _in_text(chance: random.Random, data: bytearray) -> None:
    """A number, word or line is changed."""
    at = chance.randrange(len(data) + 1)
    kind = chance.random()
    if kind < 0.4:
        digits = [i for i in range(len(data)) if 48 <= data[i] <= 57]
        if digits:
            at = chance.choice(digits)
            end = at
            while end < len(data) and 48 <= data[end] <= 57:
                end += 1
            number = chance.choice((-1, 0, 1, 2**31, 2**63, 2**64, 10**40, chance.getrandbits(40)))
            data[at:end] = str(number).encode()
    elif kind < 0.7:
        data[at : at + chance.randint(0, 8)] = chance.choice(WORDS)
    else:
        lines = bytes(data).split(b"\n")
        one = chance.randrange(len(lines))
        other = chance.randrange(len(lines))
        lines[one], lines[other] = lines[other], lines[one]
        if chance.random() < 0.5:
            del lines[one]
        data[:] = b"\n".join(lines)


def _in_batch(chance: random.Random, data: bytearray) -> None:
    """A field of a header, bytes of a record, a codec, or a section that expands."""
    whole = list(frames(bytes(data)))
    if not whole:
        return
    at, size = chance.choice(whole)
    kind = chance.random()
    if kind < 0.4:
        field, width = chance.choice(FIELDS)
        if field + width <= size:
            odd = chance.choice(ODD) if chance.random() < 0.7 else chance.randbytes(8)
            data[at + field : at + field + width] = (odd * 8)[:width]
    elif kind < 0.75 and size > 61:
        place = at + chance.randrange(61, size)
        odd = chance.choice(ODD)[: at + size - place]
        data[place : place + len(odd)] = odd
    elif kind < 0.85:
        data[at + 22 if data[at + 16] == 2 else at + 17] ^= chance.randrange(1, 8)
    elif kind < 0.95:
        _recompressed(chance, data, at, size)
    else:
        first, length = chance.choice(whole)
        data[at:at] = data[first : first + length]


def _recompressed(chance: random.Random, data: bytearray, at: int, size: int) -> None:
    """The section is compressed anew, or is a bomb; the length is made right."""
    codec = chance.choice((GZIP, SNAPPY, LZ4, ZSTD))
    magic = data[at + 16]
    head = 61 if magic == 2 else MAGIC_1_VALUE
    if size <= head or magic > 2:
        return
    plain = bytes(BOMB) if chance.random() < 0.01 else bytes(data[at + head : at + size])
    stored = writer.compress(codec, plain)
    if magic == 2:
        data[at + 22] = data[at + 22] & ~7 | codec
    else:
        data[at + 17] = data[at + 17] & ~7 | codec
        value = struct.pack(">ii", -1, len(stored)) + stored
        stored = value if magic == 1 else value[: size - head]
    data[at + head : at + size] = stored
    struct.pack_into(">i", data, at + 8, head + len(stored) - 12)


def repair_batches(data: bytearray) -> None:
    """Makes the checksums right of all batches that follow one another from the start."""
    for at, size in frames(bytes(data)):
        if data[at + 16] >= 2 and size >= 61:
            crc = google_crc32c.value(bytes(data[at + 21 : at + size]))
            struct.pack_into(">I", data, at + 17, crc)
        elif data[at + 16] < 2:
            struct.pack_into(">I", data, at + 12, zlib.crc32(bytes(data[at + 16 : at + size])))


def repair_snapshot(data: bytearray) -> None:
    if len(data) >= 6:
        struct.pack_into(">hI", data, 0, 1, google_crc32c.value(bytes(data[6:])))
