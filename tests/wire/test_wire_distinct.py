"""Slices of bytes of which few are distinct."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from udfs.wire.distinct import distinct_slices


@given(st.lists(st.sampled_from((b"", b"a", b"ab", b"b", b"ab\0", b"\0ab"))))
def test_each_slice_is_the_distinct_one_of_its_number(slices: list[bytes]) -> None:
    # Each behind a byte of none of them.
    lengths = np.array([len(one) for one in slices], dtype=np.int64)
    start = np.cumsum(lengths + 1) - lengths
    data = np.frombuffer(b"".join(b"-" + one for one in slices), np.uint8)
    numbers, distinct = distinct_slices(data, start, start + lengths)
    assert [distinct[number] for number in numbers] == slices
    assert distinct == list(dict.fromkeys(slices))
