"""What a broker may have forgotten of a producer (`ProducerStateManager`).

State of a producer id in a partition: epoch, last sequence, open transaction. It is gone after

- expiry (`isProducerExpired`, all releases): no transaction is open, and the broker's clock stands
  at the timestamp of the producer's newest record plus producer.id.expiration.ms or later. That
  timestamp may be a client's: event times of last month expire at the next look, stamps of the
  future live longer. From 1.0.0 to 2.4.0 a marker gives no timestamp (KAFKA-9144).
- the head of the log (`truncateHead`, up to 2.3): when the log start moves, a producer goes whose
  newest batch of data lies below it, with its open transaction; the bytes may lie there still.
- a rebuild (`UnifiedLog.rebuildProducerState`, all releases): a broker that did not stop cleanly
  begins at a producer snapshot above the log start, or else at the log start itself. One that did
  has the newest snapshot, and a start deletes those at or below the log start
  (`ProducerStateManager.truncateAndReload`): where that is the log end, all of them, and the start
  behind the next clean stop writes empty ones at the last two segments and at the log end.

Truncation and a change of the leader are none: what is rebuilt then is what the log holds. A topic
that was made anew begins without any state, at offset 0.

It cannot be known when the broker looked, when the log start moved, nor which release ran. So each
rule says what *may* have been forgotten; what no rule excuses was remembered.
"""

from typing import Any

import numpy as np

from udfs.rules.logic import Values

# So many batches of a producer a broker knows (`ProducerStateEntry`, since 1.0), and as many a
# client has under way at once.
KNOWN_BATCHES = 5


def at_least_later(earlier: Values, later: Values, milliseconds: int) -> Values:
    """Whether `later` lies so many ms after `earlier`, or more; both are any 64 bits of a file.

    As doubles, which are exact for moments of this aeon, since integers would overflow.
    """
    return later * 1.0 - earlier * 1.0 >= milliseconds


def may_have_expired(
    state_timestamp: Values, latest_append: Values, open_transaction: Values, expiration_ms: int
) -> Values:
    """Whether state of `state_timestamp` (ms, any clock) may be gone when a batch was appended.

    `latest_append`: the broker's clock stood at no later moment when it appended the batch, ms.
    """
    return ~open_transaction & at_least_later(state_timestamp, latest_append, expiration_ms)


def may_be_gone_with_the_head(last_offset: Values, log_start: Values) -> Values:
    """Whether state that ends with `last_offset` (inclusive) lies below the log start."""
    return last_offset < log_start


def explains_first_offset(
    begin: Values, first_offset: Values, first_kept: Values, first_base: Values, log_start: Values
) -> Values:
    """Whether a broker that forgot the head of a transaction takes `begin` for its first offset.

    Its data begin at `first_offset`; `first_kept`: the first of its batches that does not lie
    below the log start, or the marker where none does (up to 2.7 an ABORT marker without data
    has an entry that begins with it). `first_base`: base offset of the first segment. What lies
    below the log start in there may be forgotten in steps; what a snapshot tells of offsets in
    front of it was known when that was written, and went as a whole, if at all.
    """
    head_gone = may_be_gone_with_the_head(first_offset, log_start)
    in_steps = (first_offset >= first_base) & (begin > first_offset) & (begin <= first_kept)
    return head_gone & (in_steps | (begin == first_kept))


def explains_stable_offset(stored: Values, last_stable: Values, log_start: Values) -> Values:
    """Whether a broker that forgot the head of a transaction takes `stored` as last stable offset.

    That of the whole log, `last_stable`, is the first offset of a transaction that lies below the
    log start; without its head a broker has a later one.
    """
    return may_be_gone_with_the_head(last_stable, log_start) & (stored > last_stable)


def is_remembered_from(first_offsets: Any, last_offsets: Any, log_start: int) -> int:
    """Base offset of the first batch that a broker reads when it rebuilds from the log start.

    The batch that holds the log start is read as a whole. NumPy arrays, one element a batch; one
    after the largest offset where none is read.
    """
    kept = first_offsets[last_offsets >= log_start]
    return int(kept.min()) if kept.size else int(np.iinfo(np.int64).max)
