"""Faults of messages of magic 0 and 1: what a compressed wrapper holds, what a checksum says."""

from typing import NamedTuple

from laws.log_batches import LIMIT, Batch

from mutants.mutant import Mutant, codes, operator, places
from mutants.scene import Scene, View
from tests.wire_writer import batches as writer
from udfs.wire.batches import batch_layout as layout
from udfs.wire.legacy.legacy_wrappers import inner_messages, open_wrapper


class Old(NamedTuple):
    """A message of magic 0 or 1: its partition, its segment, which batch of that."""

    view: View
    number: int
    inside: int

    @property
    def batch(self) -> Batch:
        found: Batch = self.view.segments[self.number][1][self.inside]
        return found

    @property
    def codec(self) -> int:
        return self.batch.content[layout.MAGIC + 1] & layout.CODEC_MASK


def _old(scene: Scene, compressed: bool) -> Old | None:
    found = [
        Old(view, number, inside)
        for view in scene.client
        for number, (_, batches) in enumerate(view.segments)
        for inside, batch in enumerate(batches)
        if batch.magic < 2
    ]
    chosen: Old | None = scene.choose([one for one in found if bool(one.codec) == compressed])
    return chosen


def _in_place(one: Old, content: bytes, what: str) -> Mutant:
    """Other bytes for a message in all copies; the indexes of its segment are left out."""
    first, last = one.batch.base_offset, one.batch.last_offset
    if one.codec:
        opened = open_wrapper(one.batch.content, LIMIT)
        first, last = opened.first_offset, opened.last_offset
    base, batches = one.view.segments[one.number]
    parts = [batch.content for batch in batches]
    parts[one.inside] = content
    for _, copy in one.view.copies:
        copy.files[f"{base:020}.log"] = b"".join(parts)
        for suffix in (".index", ".timeindex"):
            copy.files.pop(f"{base:020}{suffix}", None)
    # The next one may be the first of which the offset is known again.
    return Mutant(codes(what), places(one.view.place), (first - 1, last + 1), wide=True)


def _wrapper(one: Old, plain: bytes) -> bytes:
    """The wrapper around other messages."""
    content = one.batch.content
    magic, attributes = content[layout.MAGIC], content[layout.MAGIC + 1]
    told = content[layout.MAGIC + 2 : layout.MAGIC + 10]
    stamp = int.from_bytes(told, "big", signed=True) if magic else -1
    return writer.legacy_message(
        one.batch.base_offset, None, writer.compress(one.codec, plain), magic=magic,
        timestamp=stamp, attributes=attributes,
    )  # fmt: skip


@operator
def wrapped_message_damaged(scene: Scene) -> Mutant | None:
    """The checksum of the wrapper is right, that of a message inside is not."""
    if (one := _old(scene, compressed=True)) is None:
        return None
    plain = bytearray(inner_messages(one.batch.content, LIMIT))
    plain[-1] ^= 1 << scene.rng.randrange(8)
    return _in_place(one, _wrapper(one, bytes(plain)), "legacy_wrapper_invalid")


@operator
def wrapper_without_messages(scene: Scene) -> Mutant | None:
    if (one := _old(scene, compressed=True)) is None:
        return None
    return _in_place(one, _wrapper(one, b""), "legacy_wrapper_invalid")


@operator
def old_message_damaged(scene: Scene) -> Mutant | None:
    """A message of an old format does not have its checksum."""
    if (one := _old(scene, compressed=scene.rng.random() < 0.5)) is None:
        return None
    content = bytearray(one.batch.content)
    content[-1] ^= 1 << scene.rng.randrange(8)
    what = "batch_crc_mismatch batch_decompression_failed legacy_wrapper_invalid"
    return _in_place(one, bytes(content), what)
