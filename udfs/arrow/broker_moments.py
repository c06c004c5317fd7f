"""What the timestamps of a broker's clock say of a split of a log: `udfs.rules.clock`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from schemas.topics import STAMPED_BY_COORDINATOR
from udfs.arrow.batches import Decoded
from udfs.rules import extent
from udfs.rules.clock import ADJUSTED_MS, is_broker_clock
from udfs.wire import bounds

Moments = NDArray[np.int64]
# A log in which leaders with two clocks take turns has one from the first to the last.
MOST_SET_BACKS = 16


def broker_moments(decoded: Decoded, topic: str, high_watermark: int | None) -> dict[str, Any]:
    """Columns broker_timestamp, replicated_timestamp and clock of a summary, ms; None for none.

    `high_watermark`: None where it is not known, then all batches count as replicated.
    """
    headers, markers = decoded.headers, decoded.control_type >= 0
    own = is_broker_clock(markers, headers.log_append_time, topic in STAMPED_BY_COORDINATOR)
    stamped = np.where(markers, decoded.marker_timestamp, headers.max_timestamp)
    # A moment that cannot be is no clock: it would make every other one of the dump long ago.
    told = own & (stamped >= 0) & (stamped < bounds.LATEST)
    mark = np.int64(bounds.HIGHEST if high_watermark is None else high_watermark)
    below = told & extent.is_replicated(headers.last_offset, mark)
    if not told.any():
        return {"broker_timestamp": None, "replicated_timestamp": None, "clock": None}
    columns = moment_columns(stamped[told], stamped[below])
    # A topic whose format was raised since has older messages, which no transaction could follow.
    since = np.flatnonzero(told & (headers.magic >= 2))
    if since.size:
        columns["clock"] |= {
            "first": int(stamped[since[0]]),
            "first_offset": int(headers.last_offset[since[0]]),
        }
    return columns


def moment_columns(moments: Moments, replicated: Moments) -> dict[str, Any]:
    """These columns of moments, one at least, in the order of the log; `replicated`: a part."""
    known = bool(replicated.size)
    clock = {
        "lowest": int(moments.min()),
        "last": int(moments[-1]),
        "last_replicated": int(replicated[-1]) if known else None,
    }
    return {
        "broker_timestamp": int(moments.max()),
        "replicated_timestamp": int(replicated.max()) if known else None,
        "clock": clock | {"set_backs": _set_back(moments)},
    }


def _set_back(moments: Moments) -> list[dict[str, int]]:
    """Between which moments the clock was set back, each time; rows of SET_BACK.

    It is not where a moment is earlier than one before by an adjustment only. Many times count as
    one, from the latest moment to the earliest.
    """
    before = np.maximum.accumulate(moments)
    behind = before - moments > ADJUSTED_MS
    # What lies behind one moment, up to a later one, is behind one setting of the clock.
    latest, starts = np.unique(before[behind], return_index=True)
    if latest.size == 0:
        return []
    earliest = np.minimum.reduceat(moments[behind], starts)
    if latest.size > MOST_SET_BACKS:
        latest, earliest = latest[-1:], earliest.min(keepdims=True)
    times = zip(latest.tolist(), earliest.tolist(), strict=True)
    return [{"to_ms": other, "from_ms": one} for one, other in times]
