"""Walks the batches of a split, around damage: which positions are batches, which bytes are not."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from udfs.arrow.byte_range import READ_AHEAD_BYTES, ByteRange
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches import walk
from udfs.wire.batches.batch_headers import Int64s
from udfs.wire.legacy.legacy_messages import is_old_message

# Stable names of the ways in which bytes are no batch.
HEADER_CUT = "header_cut"
ZERO_BYTES = "zero_bytes"
MAGIC_UNKNOWN = "magic_unknown"
LENGTH_INVALID = "length_invalid"
BATCH_CUT = "batch_cut"
CRC_MISMATCH = "crc_mismatch"

# Candidates that turn out false may cost this many times the bytes of the split.
SEARCH_BUDGET_FACTOR = 64
SMALLEST_BATCH = layout.LOG_OVERHEAD + layout.MIN_LENGTH_V0


@dataclass(frozen=True)
class Damage:
    """Bytes [first, end) of the split that are no provable batch; `end` is None where open.

    An open end means that the split ended inside the damage: it reaches to the first batch that
    a later split of the file finds, or to the end of the file. `frame` is the size that the
    header at `first` claims, 0 where it claims none that could be.
    """

    first: int
    end: int | None
    reason: str
    frame: int


@dataclass
class Frames:
    """Batches of a split: `positions` from its start, damage, and how the walk met its ends.

    `first` is the first batch found (None: none starts here); `end` is where the batch chain
    arrived, at or after the end of the split, None if the split ended inside damage.
    """

    positions: Int64s
    damages: list[Damage] = field(default_factory=list)
    first: int | None = None
    end: int | None = None


def classify(source: ByteRange, at: int, max_length: int) -> tuple[str, int]:
    """Why the bytes at `at` are no batch, and the frame size that they claim (0: none)."""
    data, left = source.data, source.file_left - at
    if not data[at : min(at + 4096, source.data.shape[0])].any():
        return ZERO_BYTES, 0
    if left < layout.MAGIC + 1:
        return HEADER_CUT, 0
    minimum = walk.minimum_length(int(data[at + layout.MAGIC]))
    length = int(walk.read_int32(data, at + layout.LENGTH))
    if minimum < 0:
        return MAGIC_UNKNOWN, _frame_but_for_magic(source, at, length, max_length)
    if length < minimum or length > max_length:
        return LENGTH_INVALID, 0
    if length + layout.LOG_OVERHEAD > left:
        return BATCH_CUT, length + layout.LOG_OVERHEAD
    return CRC_MISMATCH, length + layout.LOG_OVERHEAD


def _frame_but_for_magic(source: ByteRange, at: int, length: int, max_length: int) -> int:
    """Size of a batch in which all but the magic byte is as it should be; 0 where there is none.

    The checksum of magic 2 does not cover that byte. One of any magic ends where the file does.
    """
    size, left = length + layout.LOG_OVERHEAD, source.file_left - at
    if length < layout.MIN_LENGTH_V0 or length > max_length or size > left:
        return 0
    if size == left:
        return size
    if length < layout.MIN_LENGTH_V2 or at + size > source.data.shape[0]:
        return 0
    stored = int(walk.read_int32(source.data, at + layout.CRC)) & 0xFFFFFFFF
    checked = walk.checksum(source.data, at + layout.ATTRIBUTES, at + size, walk.CRC32C_TABLE)
    return size if stored == int(checked) else 0


class FrameWalker:
    """Walks one split. `offset_min`, `offset_max` bound the base offsets the segment may hold."""

    def __init__(
        self, source: ByteRange, max_length: int, offset_min: int, offset_max: int
    ) -> None:
        """Prepares the walk; nothing is read yet."""
        self._source = source
        self._max_length = max_length
        self._offset_min = offset_min
        self._offset_max = offset_max
        self._budget = max(source.length, 1 << 16) * SEARCH_BUDGET_FACTOR
        self._buffer = np.empty(source.length // SMALLEST_BATCH + 1, dtype=np.int64)

    def walk(self) -> Frames:
        """All batches that start in the split, in file order."""
        source, chunks = self._source, []
        frames = Frames(np.empty(0, dtype=np.int64))
        at: int | None = 0 if source.start == 0 else self._search(0)
        while at is not None and at < source.length:
            found, at, state = walk.walk(
                source.data, at, source.length, source.file_left, self._max_length,
                self._buffer, walk.CRC32C_TABLE, walk.CRC32_TABLE,
            )  # fmt: skip
            if found:
                chunks.append(self._buffer[:found].copy())
            if state == walk.NEED_MORE:
                self._extend(at)
            elif state == walk.NOT_PROVEN:
                before = np.concatenate(chunks[-2:])[-2:].tolist() if chunks else []
                at = self._step_over(at, before, frames)
        if chunks:
            frames.positions = np.concatenate(chunks)
            frames.first = int(frames.positions[0])
        frames.end = at
        return frames

    def _extend(self, at: int) -> None:
        source = self._source
        have = source.data.shape[0]
        wanted = have + READ_AHEAD_BYTES
        if have - at >= layout.LOG_OVERHEAD:
            length = int(walk.read_int32(source.data, at + layout.LENGTH))
            wanted = max(at + layout.LOG_OVERHEAD + length, have + 1)
        source.extend_to(wanted)

    def _step_over(self, at: int, before: Sequence[int], frames: Frames) -> int | None:
        """Notes the damage at `at` and returns the next proven batch, None if none is here.

        `before`: where the last two batches begin, as far as there are any. Where nothing of the
        file fits its name, it may be the name of another one.
        """
        source = self._source
        reason, frame = classify(source, at, self._max_length)
        self._learn([int(walk.read_int64(source.data, batch)) for batch in before])
        following = at + frame if reason == CRC_MISMATCH else 0
        if following and self._proven_or_end(following):
            honest = is_old_message(source.data, at, following)
            resumed: int | None = following if honest else self._chain_to(following, at + 1)
        else:
            resumed = self._search(at + 1)
            if resumed is None and not before and source.start == 0:
                self._offset_min, self._offset_max = 0, layout.HIGHEST_OFFSET
                resumed = self._search(at + 1)
        frames.damages.append(Damage(at, resumed, reason, frame))
        return resumed

    def _learn(self, base_offsets: list[int]) -> None:
        """Bounds the base offsets of what follows by those of the last two batches before.

        No checksum covers a base offset, so one alone may be wrong. Where none fits the name of the
        file, that may be the name of another one.
        """
        fitting = [one for one in base_offsets if self._offset_min <= one < self._offset_max]
        if fitting:
            self._offset_min = min(fitting)
        elif base_offsets:
            self._offset_min = min(self._offset_min, *base_offsets)
            span = layout.MAX_OFFSET_SPAN + 1
            highest = max(self._offset_max, *(one + span for one in base_offsets))
            # A base offset is any 64 bits.
            self._offset_max = min(highest, layout.HIGHEST_OFFSET)

    def _chain_to(self, end: int, at: int) -> int:
        """First batch in [at, end) from which batches follow each other to `end`; else `end`.

        A length that lies may lead over healthy batches to a later one. A batch that is only part
        of a record does not end where the batch around it does: headers follow. In a message of
        magic 0 or 1 nothing does, so there the lengths of key and value must lie as well.
        """
        candidate = self._search(at)
        while candidate is not None and candidate < end:
            arrived = candidate
            while arrived < end:
                following = self._frame_end(arrived)
                if following < 0:
                    break
                arrived = following
            if arrived == end:
                return candidate
            # From anywhere in this chain it is the same way, so each byte is looked at once.
            candidate = self._search(arrived + 1)
        return end

    def _frame_end(self, at: int) -> int:
        """See `walk.frame_end`."""
        source = self._source
        end = walk.frame_end(
            source.data, at, source.file_left - at, self._max_length,
            walk.CRC32C_TABLE, walk.CRC32_TABLE,
        )  # fmt: skip
        return int(end)

    def _proven_or_end(self, at: int) -> bool:
        """Whether a proven batch starts at `at`, or the file ends there."""
        source = self._source
        while at < source.file_left:
            end = self._frame_end(at)
            if end != -2:
                return end >= 0
            self._extend(at)
        return True

    def _search(self, at: int) -> int | None:
        """First proven batch in [at, end of the split), None if there is none."""
        source = self._source
        while at < source.length:
            at, self._budget, state = walk.find_batch(
                source.data, at, source.length, source.file_left, self._max_length,
                self._offset_min, self._offset_max, self._budget,
                walk.CRC32C_TABLE, walk.CRC32_TABLE,
            )  # fmt: skip
            if state == walk.AT_STOP:
                return int(at)
            if state == walk.NOT_PROVEN:
                return None
            self._extend(at)
        return None
