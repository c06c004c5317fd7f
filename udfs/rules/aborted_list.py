"""What a broker writes down of an aborted transaction, and what its `.txnindex` must say of it.

- An entry is appended with the ABORT marker that ended data (`ProducerStateManager.completeTxn`,
  `LogSegment.updateTxnIndex`), in the segment of the marker. So entries stand in the order of their
  markers (`TransactionIndex.append`), and each lies within the offsets of its segment.
- It names the first offset of the data, the offset of the marker and the last stable offset by
  then: the first offset of the oldest transaction still open, else the offset after the marker
  (`ProducerStateManager.lastStableOffset`).
- Data lie before their marker. Up to 2.7 a marker that ended nothing had an entry that begins with
  itself: see `udfs.rules.memory`.

What cannot be known: of an entry that is twice there, which one a broker would use.
"""

from typing import NamedTuple

from udfs.rules.logic import Values, chosen, surely

# Of an entry (`AbortedTxn.CURRENT_VERSION`), Kafka 0.11 to 4.3.
VERSION = 0


class Entry(NamedTuple):
    """An entry of a `.txnindex`; `last` is the offset of the marker.

    `previous_last`: the same of the entry before it, null or -1 for none.
    """

    version: Values
    first: Values
    last: Values
    last_stable_offset: Values
    previous_last: Values


def stable_at_abort(marker_offset: Values, oldest_open: Values) -> Values:
    """The last stable offset that a broker writes down with an ABORT marker.

    `oldest_open`: first offset of the oldest other transaction open by then; where there is none, a
    number after every offset.
    """
    return chosen(oldest_open < marker_offset, oldest_open, marker_offset + 1)


def is_behind(last: Values, next_base: Values) -> Values:
    """Whether an entry lies behind its segment, which ends at `next_base`, exclusive.

    `next_base`: null for the newest segment, or a number after every offset.
    """
    return surely(last >= next_base)


def is_misplaced(last: Values, base: Values, next_base: Values) -> Values:
    """Whether an entry lies outside of its segment, which begins at `base`; see `is_behind`."""
    return (last < base) | is_behind(last, next_base)


def is_malformed(entry: Entry) -> Values:
    """Whether an entry breaks the format or the order of its file."""
    return (
        (entry.version != VERSION)
        | (entry.first > entry.last)
        | surely(entry.last <= entry.previous_last)
    )


def agrees(entry: Entry, first_offset: Values, last_stable_offset: Values) -> Values:
    """Whether an entry says of its transaction what the log says."""
    return (
        (entry.first == first_offset)
        & (entry.last_stable_offset == last_stable_offset)
        & (entry.first < entry.last)
    )
