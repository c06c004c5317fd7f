"""What the batches of a log change of their producers, as the decoder of a segment tells it."""

from io import BytesIO

import numpy as np
from snapshot_files import positions

from udfs.arrow.batches import DecodeOptions, decode_batches
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.run_rows import replayable
from udfs.wire.side_files.producer_state import STATE, States, changes

OPTIONS = DecodeOptions(1 << 28, 1 << 28, 0, with_records=True)
NOBODY = np.empty(0, dtype=STATE)


def states_behind(log: bytes) -> States:
    """One state a producer, those of NOBODY for a log without a byte."""
    if not log:
        return NOBODY
    source = ByteRange(BytesIO(log), 0, len(log), len(log))
    decoded = decode_batches(source, positions(log), "t", OPTIONS)
    given, headers = replayable(decoded), decoded.headers
    batch = given.batch
    return changes(
        given.batches, headers.last_offset[batch], headers.position[batch], headers.length[batch], 0
    )
