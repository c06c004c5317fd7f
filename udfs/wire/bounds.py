"""How large a number from a file may be in any calculation.

Offsets and timestamps are 64 bits that a client or a damaged disk fills with anything. No checksum
covers a base offset, and `LogValidator` lets a producer choose its timestamps. What lies outside
the bounds is replaced by the bound, in the one place where it is read, so that no sum or difference
of two overflows later: NumPy would wrap without an error, and Spark's ANSI mode ends the query. No
broker comes near the bounds: they are the year 287,000 and nine quintillion records.
"""

import numpy as np
from numpy.typing import NDArray

from udfs.rules import limits

Int64s = NDArray[np.int64]

LOWEST, HIGHEST, LATEST = limits.LOWEST, limits.HIGHEST, limits.LATEST


def _within(values: Int64s, lowest: int, highest: int) -> Int64s:
    if not values.size or (values.min() >= lowest and values.max() <= highest):
        return values
    clipped: Int64s = np.clip(values, lowest, highest)
    return clipped


def offsets(values: Int64s) -> Int64s:
    """Offsets within LOWEST and HIGHEST; the same array where all are."""
    return _within(values, LOWEST, HIGHEST)


def timestamps(values: Int64s) -> Int64s:
    """Timestamps or differences of such within -LATEST and LATEST, ms; the same array as above."""
    return _within(values, -LATEST, LATEST)
