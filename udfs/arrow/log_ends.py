"""The end offset of a copy of a segment; nothing else is read."""

from typing import Any

from udfs.arrow.batches import DecodeOptions, decode_batches
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.frames import FrameWalker
from udfs.wire.batches import batch_layout as layout


def end_of_log(source: ByteRange, split: dict[str, Any], options: DecodeOptions) -> dict[str, Any]:
    """Columns of a summary: last_offset of the provable batches, null without any."""
    base = split["base_offset"]
    bound = base + layout.MAX_OFFSET_SPAN + 1
    frames = FrameWalker(source, options.max_batch_bytes, base, bound).walk()
    ends = decode_batches(source, frames.positions, split["topic"], options).headers.last_offset
    return {"last_offset": int(ends.max()) if ends.size else None}
