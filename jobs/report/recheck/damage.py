"""Claims about batches that are no whole ones, or cannot be read."""

import struct
from collections.abc import Callable
from typing import Any

from jobs.report.recheck.batches import Batch
from jobs.report.recheck.cases import Case
from jobs.report.recheck.results import UndecidedError

# These findings say that the bytes are no whole batch, or that their checksum is wrong.
OF_DAMAGE = {
    "batch_crc_mismatch", "batch_length_invalid", "batch_magic_unknown", "active_tail_torn",
    "closed_segment_tail_garbage", "legacy_wrapper_invalid",
}  # fmt: skip


def fails(read: Callable[[Batch], Any]) -> Callable[[Batch], bool]:
    """Whether reading the records fails."""

    def says(batch: Batch) -> bool:
        try:
            read(batch)
        except (ValueError, struct.error):
            return True
        return False

    return says


def malformed_marker(b: Batch) -> bool:
    """Whether a control batch is not one record of one producer, or that record no marker."""
    shape = b.count == 1 and b.delta == 0 and b.sequence == -1
    return not shape or not b.transactional or b.producer < 0 or fails(Batch.marker)(b)


def not_decompressed(case: Case) -> bool | None:
    """The records cannot be decompressed; a limit of the audit's own is not known here."""
    if case.text == "more than the limit":
        return None
    batch = case.proofs[-1].batch
    failed = fails(lambda b: b.plain())(batch)
    if not failed and batch.codec == 3:
        raise UndecidedError("the checksums of blocks of LZ4 are not asked")
    return failed


def broken_wrapper(case: Case) -> bool | None:
    """Of the messages within a message one is broken or compressed, or its offset is higher."""
    outer = case.proofs[-1].batch
    if outer.magic == 2 or not outer.codec:
        return False
    if outer.value is None:
        return True
    inner, at, last = outer.plain(), 0, -1
    while at < len(inner):
        (size,) = struct.unpack_from(">i", inner, at + 8)
        one = Batch(inner[at : at + 12 + size])
        if not one.fits:
            return None
        if not one.whole or one.codec:
            return True
        last, at = one.base, at + 12 + size
    # Some versions of librdkafka left that of the outer message at 0.
    return last < 0 or 0 < outer.base < last


def tail(case: Case) -> bool | None:
    """Bytes to the end of the file that are no whole batch."""
    one = case.proofs[-1]
    return one.position + len(one.data) == one.size and not one.batch.whole


def wrong_checksum(batch: Batch) -> bool:
    """A batch of the right length, or one that ends within the damaged bytes."""
    first = Batch(batch.data[: batch.length + 12])
    return first.fits and not first.whole


def broken_frame(case: Case) -> bool | None:
    """A length that cannot be, or that leads to no batch with that checksum."""
    return not case.proofs[-1].batch.whole
