"""Entries of a `.txnindex` file: what `udfs.wire.side_files.txn_index` reads."""

from collections.abc import Iterable

import numpy as np

from udfs.wire.side_files.txn_index import STORED, AbortedTxnEntry


def encode(entries: Iterable[AbortedTxnEntry]) -> bytes:
    """Bytes of the entries in the order given."""
    return np.array([tuple(entry) for entry in entries], dtype=STORED).tobytes()
