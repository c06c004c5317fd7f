"""What the audit of partitions needs of `__cluster_metadata`: the brokers of the cluster."""

from typing import Any

import numpy as np

from schemas.topics import METADATA_TOPIC
from udfs.arrow.batches import DecodeOptions, decode_batches
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.frames import FrameWalker
from udfs.wire.batch_headers import BatchHeaders
from udfs.wire.batch_layout import MAX_OFFSET_SPAN
from udfs.wire.batch_records import iter_section, plain_section
from udfs.wire.errors import WireError
from udfs.wire.metadata_log import REGISTRATION_START, registered_broker


def metadata_facts(source: ByteRange, options: DecodeOptions) -> dict[str, Any]:
    """Columns of a summary: first_offset of the file and registered_brokers."""
    frames = FrameWalker(source, options.max_batch_bytes, 0, MAX_OFFSET_SPAN).walk()
    headers = decode_batches(source, frames.positions, METADATA_TOPIC, options).headers
    first = int(headers.base_offset[0]) if headers.record_count.size else None
    registered = _registered(source, headers, options.max_decompressed_bytes)
    return {"first_offset": first, "registered_brokers": registered}


def _registered(source: ByteRange, headers: BatchHeaders, limit: int) -> list[int]:
    """Ids of the brokers that the batches register, without repetition."""
    found: set[int] = set()
    for i in np.flatnonzero(~headers.control):
        try:
            position, length = int(headers.position[i]), int(headers.length[i])
            batch = source.data[position : position + length].tobytes()
            plain = plain_section(batch, limit)
            if REGISTRATION_START not in plain:
                continue
            for record in iter_section(batch, plain):
                broker = registered_broker(record.value)
                if broker is not None:
                    found.add(broker)
        except WireError:
            # One unreadable batch means only that less is known; no rule rests on its content.
            continue
    return sorted(found)
