"""States of producers in one cell come back as they were."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from udfs.arrow.producer_states import pack_states, unpack_states
from udfs.wire.side_files.producer_state import STATE

COLUMNS = len(STATE.names or ())
NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1)


@given(st.lists(st.lists(NUMBERS, min_size=COLUMNS, max_size=COLUMNS), max_size=5))
def test_packed_states_come_back(rows: list[list[int]]) -> None:
    states = np.array([tuple(row) for row in rows], dtype=STATE)
    back = unpack_states(pack_states(states))
    assert back.dtype == STATE
    assert back.tolist() == states.tolist()


def test_every_other_state_is_packed_as_well() -> None:
    """A selection does not lie in one piece of memory."""
    states = np.zeros(6, dtype=STATE)
    states["producer_id"] = range(6)
    assert unpack_states(pack_states(states[::2])).tolist() == states[::2].tolist()
