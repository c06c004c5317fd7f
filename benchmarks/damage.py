"""Damages copies of real segments in every way a disk or a copy does, and reads them.

`python -m benchmarks.damage` writes the tables of docs/damage.md anew; with a number of rounds it
prints them. Where the damage lies is drawn from a fixed seed, so they are the same everywhere.
"""

import io
import os
import random
import struct
import sys
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from jobs.collect.collect import collect
from jobs.decode.splits import plan_splits
from schemas import log_row
from tests.wire_writer import batches as writer
from udfs.arrow.batches import DecodeOptions
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.frames import FrameWalker
from udfs.arrow.read_pack import read_packs, read_split
from udfs.arrow.rows import whole_rows
from udfs.wire import codecs
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches import faults

ROOT = Path(__file__).resolve().parents[1]
DUMPS = ROOT / "tests/dumps"
PAGE_OF_DOCS = ROOT / "docs/damage.md"
TABLES_BEGIN, TABLES_END = "<!-- tables -->", "<!-- end -->"
# All magics and codecs, data and the coordinator's log, first and later segments.
SEGMENTS = (
    ("tv2-basic", "lat-0/00000000000000000000.log"),
    ("tv2-basic", "orders-2/00000000000000000000.log"),
    ("tv2-skipped-markers", "m-2/00000000000000000364.log"),
    ("v39-tv0", "__transaction_state-4/00000000000000000000.log"),
    ("v28-legacy-format", "mix01-0/00000000000000000000.log"),
    ("v28-legacy-format", "mix1-1/00000000000000000000.log"),
)
ROUNDS = 3
NOBODY = 65534
SECTOR, PAGE = 512, 4096
FAULTS = {
    name: bit for name, bit in vars(faults).items() if isinstance(bit, int) and bit.bit_count() == 1
}
OPTIONS = DecodeOptions(
    max_batch_bytes=1 << 28,
    max_decompressed_bytes=1 << 24,
    producer_expiration_ms=86_400_000,
    with_records=True,
)


class Segment(NamedTuple):
    """A healthy segment: its bytes, where its batches begin and end, and what its name says."""

    topic: str
    base_offset: int
    content: bytes
    batches: tuple[tuple[int, int], ...]


@dataclass
class Copy:
    """A damaged copy of a segment.

    `hurt`: ranges [first, end) of the healthy segment that are not in the copy as they were; a
    batch outside of all of them must be read. `base_offset` is that of the copy's name, `readable`
    how many bytes the file has left when it is read. `planted`: a batch that is proven, though it
    was not in the segment.
    """

    content: bytes
    hurt: list[tuple[int, int]]
    base_offset: int
    readable: int | None = None
    planted: bytes = b""


Damage = Callable[[Segment, random.Random], Copy]


@cache
def segments() -> tuple[Segment, ...]:
    """The healthy segments, from the dumps of the tests."""
    found = []
    for dump, path in SEGMENTS:
        with tarfile.open(DUMPS / f"{dump}.tar.gz") as archive:
            name = next(name for name in archive.getnames() if name.endswith(path))
            file = archive.extractfile(name)
            content = file.read() if file else b""
        folder, base = path.removesuffix(".log").split("/")
        positions = batch_positions(content, int(base))
        ends = [*positions[1:], len(content)]
        batches = tuple(zip(positions, ends, strict=True))
        found.append(Segment(folder.rsplit("-", 1)[0], int(base), content, batches))
    return tuple(found)


def batch_positions(content: bytes, base_offset: int, listed: int | None = None) -> list[int]:
    """Where proven batches begin in a file that was `listed` with that size."""
    size = len(content) if listed is None else listed
    source = ByteRange(io.BytesIO(content), 0, size, size)
    bound = base_offset + layout.MAX_OFFSET_SPAN + 1
    walker = FrameWalker(source, OPTIONS.max_batch_bytes, base_offset, bound)
    return [int(at) for at in walker.walk().positions]


def _overwritten(one: Segment, at: int, new: bytes) -> Copy:
    end = min(at + len(new), len(one.content))
    content = one.content[:at] + new[: end - at] + one.content[end:]
    return Copy(content, [(at, end)], one.base_offset)


def _inserted(one: Segment, at: int, new: bytes) -> Copy:
    return Copy(one.content[:at] + new + one.content[at:], [], one.base_offset)


def _noise(chance: random.Random, size: int) -> bytes:
    return chance.randbytes(size)


def undamaged(one: Segment, chance: random.Random) -> Copy:
    """As it was."""
    return Copy(one.content, [], one.base_offset)


def flipped_bit(one: Segment, chance: random.Random) -> Copy:
    """One bit, anywhere under a checksum."""
    start, end = chance.choice(one.batches)
    covered = layout.CRC if one.content[start + layout.MAGIC] == 2 else layout.MAGIC
    at = chance.randrange(start + covered, end)
    return _overwritten(one, at, bytes([one.content[at] ^ 1 << chance.randrange(8)]))


def ten_flipped_bits(one: Segment, chance: random.Random) -> Copy:
    """Ten bits, anywhere."""
    content, hurt = bytearray(one.content), []
    for _ in range(10):
        at = chance.randrange(len(content))
        content[at] ^= 1 << chance.randrange(8)
        hurt.append((at, at + 1))
    return Copy(bytes(content), hurt, one.base_offset)


def bit_without_checksum(one: Segment, chance: random.Random) -> Copy:
    """One bit of a base offset or leader epoch, which no checksum covers."""
    start, _ = chance.choice(one.batches)
    places = [*range(8), *range(12, 16)] if one.content[start + layout.MAGIC] == 2 else range(8)
    at = start + chance.choice(places)
    return _overwritten(one, at, bytes([one.content[at] ^ 1 << chance.randrange(8)]))


def lost_sector(one: Segment, chance: random.Random) -> Copy:
    """512 bytes of something else."""
    return _overwritten(one, chance.randrange(len(one.content)), _noise(chance, SECTOR))


def zero_page(one: Segment, chance: random.Random) -> Copy:
    """4,096 zero bytes in place of a page."""
    page = chance.randrange(len(one.content) // PAGE + 1)
    return _overwritten(one, page * PAGE, bytes(PAGE))


def truncation(one: Segment, chance: random.Random) -> Copy:
    """The file ends anywhere."""
    size = chance.randrange(len(one.content))
    return Copy(one.content[:size], [(size, len(one.content))], one.base_offset)


def lying_length(one: Segment, chance: random.Random) -> Copy:
    """A length that is too small, too large, negative, or leads to a later batch or the end."""
    start, end = chance.choice(one.batches)
    honest = end - start - layout.LOG_OVERHEAD
    later = chance.choice([last for _, last in one.batches if last > start])
    lies = (0, -1, -(1 << 31), (1 << 31) - 1, honest - 1, honest + 1, 2 * honest,
            chance.randrange(1 << 31), later - start - layout.LOG_OVERHEAD,
            len(one.content) - start - layout.LOG_OVERHEAD)  # fmt: skip
    lie = chance.choice([number for number in lies if number != honest])
    return _overwritten(one, start + layout.LENGTH, struct.pack(">i", lie))


def wrong_magic(one: Segment, chance: random.Random) -> Copy:
    """Another magic byte."""
    at = chance.choice(one.batches)[0] + layout.MAGIC
    other = chance.choice([magic for magic in (0, 1, 2, 3, 255) if magic != one.content[at]])
    return _overwritten(one, at, bytes([other]))


def garbage_between(one: Segment, chance: random.Random) -> Copy:
    """Up to 5,000 bytes of noise between two batches."""
    at = chance.choice(one.batches)[0]
    return _inserted(one, at, _noise(chance, chance.randrange(1, 5000)))


def garbage_like_batches(one: Segment, chance: random.Random) -> Copy:
    """A hundred headers between two batches, each of which promises a batch that is none."""
    at = chance.choice(one.batches)[0]
    head = one.content[at : at + layout.LENGTH]
    fakes = b"".join(
        head + struct.pack(">iib", chance.randrange(49, 4096), 0, 2) + _noise(chance, 20)
        for _ in range(100)
    )
    return _inserted(one, at, fakes)


def another_name(one: Segment, chance: random.Random) -> Copy:
    """The name of another segment, before or behind."""
    other = (0, one.base_offset + 1_000, one.base_offset + 10**9)
    base = chance.choice([base for base in other if base != one.base_offset])
    return Copy(one.content, [], base)


def another_name_and_a_sector(one: Segment, chance: random.Random) -> Copy:
    """The name of another segment, and 512 bytes of something else."""
    copy = lost_sector(one, chance)
    copy.base_offset = another_name(one, chance).base_offset
    return copy


def empty(one: Segment, chance: random.Random) -> Copy:
    """Nothing left."""
    return Copy(b"", [(0, len(one.content))], one.base_offset)


def shrinking(one: Segment, chance: random.Random) -> Copy:
    """The file is cut while it is read."""
    left = chance.randrange(len(one.content))
    return Copy(one.content, [(left, len(one.content))], one.base_offset, readable=left)


def bomb(one: Segment, chance: random.Random) -> Copy:
    """A batch of a few KB to 20 MB, with its right checksum, that expands to a GB and more."""
    at = chance.choice(one.batches)[0]
    codec = chance.choice((codecs.GZIP, codecs.SNAPPY, codecs.LZ4, codecs.ZSTD))
    offset = int.from_bytes(one.content[at : at + layout.LENGTH], "big")
    explosive = writer.batch(
        offset, [], base_timestamp=0, count=1, codec=codec, section=bomb_section(codec)
    )
    copy = _inserted(one, at, explosive)
    copy.planted = explosive
    return copy


@cache
def bomb_section(codec: int) -> bytes:
    """What decompresses to 1 GiB of zeros; snappy only announces it, which is enough."""
    if codec == codecs.SNAPPY:
        return b"\x80\x80\x80\x80\x04" + writer.snappy_raw(bytes(1 << 16))[3:]
    if codec == codecs.LZ4:
        frame = writer.lz4_framed(bytes(1 << 16))
        head, block = frame[: writer.LZ4_HEADER_SIZE], frame[writer.LZ4_HEADER_SIZE : -4]
        return head + block * (1 << 14) + frame[-4:]
    return writer.compress(codec, bytes(1 << 22)) * 256


KINDS: dict[str, Damage] = {
    "none": undamaged,
    "a flipped bit": flipped_bit,
    "ten flipped bits, anywhere": ten_flipped_bits,
    "a flipped bit of a base offset or leader epoch, which no checksum covers":
        bit_without_checksum,
    "512 bytes of something else": lost_sector,
    "a page of zero bytes": zero_page,
    "truncation": truncation,
    "a length that lies": lying_length,
    "a wrong magic byte": wrong_magic,
    "up to 5,000 bytes of garbage between two batches": garbage_between,
    "garbage of a hundred false headers": garbage_like_batches,
    "the segment under another's name": another_name,
    "the same, and 512 bytes of something else": another_name_and_a_sector,
    "an empty file": empty,
    "a file that shrinks while it is read": shrinking,
    "a batch of at most 5 MB that expands to 1 GiB": bomb,
}  # fmt: skip


@dataclass
class Result:
    """What became of the copies with one kind of damage.

    `outside`: batches that the damage did not touch, `read`: how many of them were read.
    `altered`: batches that were read other than they were written; `accused`: untouched ones that
    lie in a byte range that was told as damaged. `silent`: copies of which nothing was told;
    `told`: what was -> in how many copies.
    """

    copies: int = 0
    outside: int = 0
    read: int = 0
    altered: int = 0
    accused: int = 0
    silent: int = 0
    told: Counter[str] = field(default_factory=Counter)


def examine(one: Segment, copy: Copy, result: Result) -> None:
    """Reads a damaged copy as an audit does, and counts."""
    rows = read(one, copy)
    found = Counter(batches_of(copy))
    outside = Counter(
        one.content[start:end]
        for start, end in one.batches
        if not any(first < end and start < last for first, last in copy.hurt)
    )
    written = Counter(one.content[start:end] for start, end in one.batches)
    names = told(rows, copy)
    result.copies += 1
    result.outside += outside.total()
    result.read += (outside & found).total()
    result.altered += (found - written - Counter([copy.planted])).total()
    result.accused += sum(_accused(batch, rows, copy) for batch in outside)
    result.silent += not names
    result.told.update(names)


def read(one: Segment, copy: Copy) -> list[dict[str, Any]]:
    """Rows of `schemas.log_row.LOG_ROW` of a copy."""
    size = len(copy.content)
    split = dict.fromkeys(log_row.SPLIT.fieldNames()) | {
        "kind": "segment", "topic": one.topic, "partition": 0, "partition_index": 0,
        "file_index": 0, "file_size": size, "base_offset": copy.base_offset, "cleaned_below": 0,
        "start": 0, "length": size, "topic_partitions": 50,
    }  # fmt: skip
    file = io.BytesIO(copy.content[: copy.readable])
    rows: list[dict[str, Any]] = whole_rows(read_split(file, split, OPTIONS)).to_pylist()
    return rows


def batches_of(copy: Copy) -> list[bytes]:
    """The bytes of each batch that is found in a copy."""
    content = copy.content[: copy.readable]
    return [
        content[at : at + layout.LOG_OVERHEAD + int.from_bytes(content[at + 8 : at + 12], "big")]
        for at in batch_positions(content, copy.base_offset, len(copy.content))
    ]


def told(rows: list[dict[str, Any]], copy: Copy) -> set[str]:
    """What an audit could tell of a copy, by the names of reasons, steps and faults."""
    names = set()
    for row in rows:
        if row["kind"] == log_row.FAILURE:
            names.add(row["failure"]["reason"])
        elif row["kind"] == log_row.OFFSET_DISCONTINUITY:
            names.add(row["offset_discontinuity"]["discontinuity"])
        elif row["kind"] == log_row.FRAME:
            mask = row["frame"]["fault_mask"]
            names |= {name.lower() for name, bit in FAULTS.items() if mask & bit}
        elif row["kind"] == log_row.SUMMARY:
            lowest = row["summary"]["lowest_offset"]
            if row["summary"]["shrank"]:
                names.add("shrank")
            if lowest is not None and lowest < copy.base_offset:
                names.add("offsets_below_the_name")
    return names


def _accused(batch: bytes, rows: list[dict[str, Any]], copy: Copy) -> bool:
    """Whether a batch that is whole lies in a byte range that is told as damaged."""
    at = copy.content.find(batch)
    return any(
        row["failure"]["first_byte"] <= at < (row["failure"]["end_byte"] or len(copy.content))
        for row in rows
        if row["kind"] == log_row.FAILURE
    )


def results(rounds: int) -> dict[str, Result]:
    """Each kind of damage with what became of `rounds` copies of each segment."""
    found = {}
    for kind, damage in KINDS.items():
        chance, found[kind] = random.Random(kind), Result()
        for _ in range(rounds):
            for one in segments():
                examine(one, damage(one, chance), found[kind])
    return found


@contextmanager
def without_privileges() -> Iterator[None]:
    """Root may read everything; nobody may not."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def forbidden() -> dict[str, str]:
    """What is told of folders and files that nobody may read."""
    with TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        for folder in ("orders-0", "orders-1"):
            (root / folder).mkdir()
            (root / folder / f"{0:020}.log").write_bytes(segments()[0].content)
        (root / "orders-0").chmod(0)
        (root / "orders-1" / f"{0:020}.log").chmod(0)
        with without_privileges():
            dump = collect([root])
            splits = plan_splits(dump, 1 << 30)
            rows = [row for one in read_packs([splits], OPTIONS) for row in one.to_pylist()]
        (root / "orders-0").chmod(0o755)
    return {
        "a folder without permission": ", ".join(dump.unreadable),
        "a segment without permission": ", ".join(row["summary"]["error"] for row in rows),
    }


def table(found: dict[str, Result]) -> str:
    """The tables of docs/damage.md."""
    lines = [
        "| damage | copies | batches outside | read of them | altered | accused | silent "
        "| reported |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind, one in found.items():
        share = f"{one.read:,} ({one.read / one.outside:.2%})" if one.outside else "0"
        names = ", ".join(f"`{name}` {number}" for name, number in sorted(one.told.items()))
        lines.append(
            f"| {kind} | {one.copies} | {one.outside:,} | {share} | {one.altered} "
            f"| {one.accused} | {one.silent} | {names} |"
        )
    lines += ["", "| what cannot be read | reported |", "|---|---|"]
    lines += [f"| {what} | {said} |" for what, said in forbidden().items()]
    return "\n".join(lines)


def page(tables: str, before: str) -> str:
    """docs/damage.md with new tables; `before`: as it is."""
    head, _, rest = before.partition(TABLES_BEGIN)
    return f"{head}{TABLES_BEGIN}\n{tables}\n{TABLES_END}{rest.partition(TABLES_END)[2]}"


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.stdout.write(table(results(int(sys.argv[1]))) + "\n")
    else:
        PAGE_OF_DOCS.write_text(page(table(results(ROUNDS)), PAGE_OF_DOCS.read_text("utf-8")))
