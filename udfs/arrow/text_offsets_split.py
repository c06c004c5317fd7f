"""The records of a stretch of a text of `__consumer_offsets`, read."""

from typing import Any

import numpy as np

from udfs.arrow.batches import DecodedBatches
from udfs.arrow.offsets_split import NO_KIND, OffsetsRecords, OffsetsSplit
from udfs.wire.distinct import Distinct
from udfs.wire.errors import WireError
from udfs.wire.offsets import offsets_log
from udfs.wire.offsets.offsets_log import GroupKey
from udfs.wire.text.text_batches import PrintedRecord
from udfs.wire.text.text_offsets import read_key, read_offset, split_printed


def _key(stored: bytes | WireError) -> GroupKey:
    if isinstance(stored, WireError):
        raise stored
    return read_key(stored)


def text_offsets_split(
    printed: list[PrintedRecord], decoded: DecodedBatches, split: dict[str, Any]
) -> OffsetsSplit:
    """What was printed of the records of `decoded`, in the order of the log."""
    stored_keys: list[bytes | WireError] = []
    values: list[bytes | None] = []
    for record in printed:
        key: bytes | WireError
        try:
            key, value = split_printed(record.printed or b"", record.key_size)
        except WireError as wrong:
            key, value = wrong, None
        stored_keys.append(key)
        values.append(value)
    keys: Distinct[Any, GroupKey] = Distinct(_key)
    number = keys.numbers(stored_keys)
    error = np.full(number.size, None, dtype=object)
    committed = np.full(number.size, -1, dtype=np.int64)
    has_value = np.array([record.value_size >= 0 for record in printed], dtype=np.bool_)
    kinds = [NO_KIND if one is None else one.type for one in keys.decoded]
    for i, one in enumerate(number.tolist()):
        value = values[i]
        if one in keys.errors:
            error[i] = keys.errors[one]
        elif kinds[one] in offsets_log.OFFSET_COMMIT_TYPES and has_value[i]:
            try:
                committed[i] = read_offset(value or b"")
            except WireError as wrong:
                error[i] = f"{wrong.reason}: {wrong.detail}"
    read = OffsetsRecords(
        batch=np.array([record.batch for record in printed], dtype=np.int64),
        offset=np.array([record.offset for record in printed], dtype=np.int64),
        key=number,
        committed=committed,
        has_value=has_value,
        error=error,
    )
    return OffsetsSplit(keys, read, decoded, split)
