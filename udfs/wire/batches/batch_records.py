"""The records of one proven batch of any magic, one after another."""

from collections.abc import Iterator

from udfs.wire import codecs
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches.records import Record, iter_records
from udfs.wire.fields import INT32
from udfs.wire.legacy import legacy_layout
from udfs.wire.legacy.legacy_messages import iter_messages
from udfs.wire.legacy.legacy_wrappers import inner_messages


def plain_section(batch: bytes, limit: int) -> bytes:
    """What `iter_section` reads, decompressed up to `limit` bytes; raises WireError.

    A message of magic 0 or 1 that is no wrapper is its own section.
    """
    if batch[layout.MAGIC] < 2:
        wrapper = batch[legacy_layout.ATTRIBUTES] & layout.CODEC_MASK
        return inner_messages(batch, limit) if wrapper else batch
    codec = batch[layout.ATTRIBUTES + 1] & layout.CODEC_MASK
    section = batch[layout.HEADER_SIZE :]
    return codecs.decompress(codec, section, limit) if codec else section


def iter_section(batch: bytes, section: bytes) -> Iterator[Record]:
    """Yields the records of a batch from its plain section; raises WireError at the first bad one.

    Deltas are those against base offset and base timestamp of `udfs.wire.batches.batch_headers`.
    """
    if batch[layout.MAGIC] < 2:
        return iter_messages(section)
    (count,) = INT32.unpack_from(batch, layout.RECORDS_COUNT)
    return iter_records(section, count)


def iter_batch(batch: bytes, limit: int) -> Iterator[Record]:
    """Yields the records of a batch; `limit` bounds what it decompresses to. Raises WireError."""
    return iter_section(batch, plain_section(batch, limit))
