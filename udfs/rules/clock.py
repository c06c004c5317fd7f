"""Whose clock a timestamp is of: the broker's, or a client's.

A broker's clock, so a moment at which something was appended:
- a marker: the leader of the partition stamps it (`KafkaApis.handleWriteTxnMarkersRequest`, all
  releases);
- a batch of a topic with `message.timestamp.type=LogAppendTime` (`LogValidator`);
- records of `__transaction_state` and `__consumer_offsets`: their coordinator stamps them
  (`TransactionStateManager.appendTransactionToLog`, `GroupMetadataManager`);
- `dump-manifest.json`.

A client's clock, so any number at all (event times, a clock that is ahead, Long.MAX): CreateTime of
data in topics of clients. It tells nothing about when they were appended, and no difference between
it and a moment of a broker is an age.

When data of a client's clock were appended is known by what lies around them: offsets are given out
in the order of appending, so they came before the first moment of a broker's clock after them in
the same log. The clocks of two brokers differ by up to a tolerance, which the settings give.

The only place where a broker holds a client's time against its own is the expiry of producer state
(`ProducerStateManager.isProducerExpired`).

A clock may also be set back, by any time: then a moment comes twice, and nothing in between is
known to be earlier than another by its timestamp. What comes once is known to be earlier or later
than all of it, unless clocks that should agree were apart by more than the tolerance. Any log of a
dump may show it, as each has samples of the clocks of its brokers only. What lies behind the last
moment of a copy is not earlier than that one, so the copy is complete up to it (`complete_to`), and
not to a later one; and only up to where the clock came back to, where it was set back after the end
of the copy. A broker may have forgotten what expires by the moment from which its clock was set
back.

What cannot be known: when data were appended that are the last of their log; that a clock was set
back between two moments of which no log of the dump has both.
"""

from udfs.rules.logic import Values, chosen, clipped

# In a longer pause between two records the coordinator may have been down: it counts as this.
LONGEST_PAUSE_MS = 60_000
# Timestamps in a file may be any number: clipped here, beyond every clock, sums do not overflow.
BEYOND_CLOCKS_MS = 1 << 60
# An adjustment sets the clock of a broker back by less.
ADJUSTED_MS = 1_000
# By how much clocks of brokers that are kept in time differ.
KEPT_IN_TIME_MS = 10


def within_clocks(moment_ms: Values) -> Values:
    """A moment of a file, cut at `BEYOND_CLOCKS_MS` on both sides; null for a null."""
    return clipped(moment_ms, -BEYOND_CLOCKS_MS, BEYOND_CLOCKS_MS)


def clocks_apart(one_clock: Values, tolerance_ms: Values) -> Values:
    """By how much two moments may have another order than what they are the moments of, ms.

    `one_clock`: both are of one clock, which an adjustment sets back; else clocks of brokers.
    """
    return chosen(one_clock, clipped(tolerance_ms, 0, ADJUSTED_MS), tolerance_ms)


def is_broker_clock(marker: Values, log_append_time: Values, of_coordinator: Values) -> Values:
    """Whether the timestamp of a batch is a moment of a broker.

    `of_coordinator`: it lies in a topic whose records their coordinator stamps.
    """
    return marker | log_append_time | of_coordinator


def covers(up_to_ms: Values, moment_ms: Values, tolerance_ms: Values) -> Values:
    """Whether what is complete up to a moment of one broker holds what another did at a moment.

    Both of brokers' clocks; `up_to_ms` is not below 0, so nothing overflows. Null where one is.
    """
    return up_to_ms - tolerance_ms >= moment_ms


def complete_to(newest_ms: Values, last_ms: Values, tolerance_ms: Values) -> Values:
    """Up to which moment of a broker's clock a copy is complete, ms.

    `newest_ms`: the latest moment in it; `last_ms`: that of its last batch with one. Where brokers'
    clocks differ, or two threads append, a later batch may have an earlier moment, within the
    tolerance.
    """
    return chosen(newest_ms - last_ms > tolerance_ms, last_ms, newest_ms)


def comes_twice(moment_ms: Values, from_ms: Values, to_ms: Values, tolerance_ms: Values) -> Values:
    """Whether a clock that was set back came to a moment twice, or near it.

    `from_ms`, `to_ms`: the moments before and after, of which a log has samples only. Null where
    one is.
    """
    return comes_twice_within(moment_ms, moment_ms, from_ms, to_ms, tolerance_ms)


def comes_twice_within(
    begin_ms: Values, end_ms: Values, from_ms: Values, to_ms: Values, tolerance_ms: Values
) -> Values:
    """The same of any moment from `begin_ms` to `end_ms`, both inclusive."""
    return (end_ms >= to_ms - tolerance_ms) & (begin_ms <= from_ms + tolerance_ms)


def keeps_order(by_ms: Values, tolerance_ms: Values, one_clock: Values) -> Values:
    """Whether moments outside of set-backs have their order, whatever these did to those inside.

    `by_ms`: how far a clock went back in them, all together where they are near each other.
    `one_clock`: all moments are of the clock that was set back. Several clocks agree within the
    tolerance; where one went back by more than that, it was wrong before it, or since, for an
    unknown time.
    """
    return one_clock | (by_ms <= tolerance_ms)


def counted_pause(pause_ms: Values) -> Values:
    """How much of the time between two records of a log its broker was surely at work."""
    return clipped(pause_ms, 0, LONGEST_PAUSE_MS)
