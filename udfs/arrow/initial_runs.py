"""States of the snapshot at which a log begins, as runs that stand before all others."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from udfs.rules.producer_step import sequence_at
from udfs.wire.side_files.producer_state import NONE, States

Values = tuple[NDArray[Any], NDArray[np.bool_] | None]


def initial_runs(states: States, log_start: int) -> dict[str, Values]:
    """Columns of `log_row.RUN_COLUMNS`, one run a producer.

    It has the newest batch and, unless a transaction is open, the marker after it, as far as the
    state tells them: no number of batches, no outcome of the marker, and for its offset the last
    one before `log_start`. An open transaction has its first offset.
    """
    is_open = states["txn_first_offset"] != NONE
    no_data = (states["last_sequence"] == NONE) & ~is_open
    has_marker = states["coordinator_epoch"] != NONE
    no_marker = is_open | (~has_marker & ~no_data)
    before = log_start - 1
    first_offset = np.where(
        is_open, states["txn_first_offset"], states["last_offset"] - states["offset_delta"]
    )
    first_sequence = sequence_at(states["last_sequence"], -states["offset_delta"])
    nothing, nowhere = np.zeros(states.size, dtype=np.int64), np.full(states.size, before)
    false = np.zeros(states.size, dtype=np.bool_)
    of_data = {
        "producer_epoch": states["epoch"],
        "transactional": is_open | has_marker,
        "first_offset": np.minimum(first_offset, before),
        "last_offset": np.minimum(states["last_offset"], before),
        "first_sequence": first_sequence,
        "last_sequence": states["last_sequence"],
        "first_batch_last_sequence": states["last_sequence"],
        "batches": nothing,
        "records": nothing,
        "first_timestamp": states["timestamp"],
        "last_timestamp": states["timestamp"],
        "log_append_time": false,
        "first_position": states["position"],
        "first_length": states["length"],
        "last_position": states["position"],
        "last_length": states["length"],
    }
    of_marker = {
        "marker_offset": nowhere,
        "marker_epoch": states["epoch"],
        "marker_timestamp": states["timestamp"],
        "marker_position": states["position"],
        "marker_length": states["length"],
    }
    columns: dict[str, Values] = {"producer_id": (states["producer_id"], None)}
    columns |= {name: (values, no_data) for name, values in of_data.items()}
    columns |= {name: (values, no_marker) for name, values in of_marker.items()}
    return columns | {
        "coordinator_epoch": (states["coordinator_epoch"], ~has_marker),
        "follows": (false, None),
        "initial": (~false, None),
        "below_log_start": (~false, None),
    }
