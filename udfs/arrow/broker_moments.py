"""What the timestamps of a broker's clock say of a split of a log: `udfs.rules.clock`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from schemas.topics import STAMPED_BY_COORDINATOR
from udfs.arrow.batches import DecodedBatches
from udfs.rules import extent
from udfs.rules.clock import ADJUSTED_MS, is_broker_clock
from udfs.wire import bounds

Moments = NDArray[np.int64]
# So many of a split are told apart.
MOST_SET_BACKS = 64


def broker_moments(
    decoded: DecodedBatches, topic: str, high_watermark: int | None
) -> dict[str, Any]:
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

    It is not where a moment is earlier than one before by an adjustment only. Of too many times
    those that are nearest to one another count as one.
    """
    before = np.maximum.accumulate(moments)
    behind = before - moments > ADJUSTED_MS
    # What lies behind one moment, up to a later one, is behind one setting of the clock.
    latest, starts = np.unique(before[behind], return_index=True)
    if latest.size == 0:
        return []
    earliest = np.minimum.reduceat(moments[behind], starts)
    if latest.size > MOST_SET_BACKS:
        latest, earliest = _nearest_joined(latest, earliest)
    times = zip(latest.tolist(), earliest.tolist(), strict=True)
    return [{"to_ms": other, "from_ms": one} for one, other in times]


def _nearest_joined(latest: Moments, earliest: Moments) -> tuple[Moments, Moments]:
    """At most MOST_SET_BACKS, apart where there was most time between them.

    Those of two clocks that take turns have no time between them.
    """
    earliest_behind = np.minimum.accumulate(earliest[::-1])[::-1]
    between = earliest_behind[1:] - latest[:-1]
    apart = np.sort(np.argsort(between, kind="stable")[-(MOST_SET_BACKS - 1) :])
    ends = apart[between[apart] > 0]
    starts = np.concatenate([[0], ends + 1])
    return latest[np.append(ends, latest.size - 1)], np.minimum.reduceat(earliest, starts)
