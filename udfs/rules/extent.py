"""Up to which offset and moment a copy of a replica is complete.

A copy holds a prefix of what the leader wrote, so it is complete up to the newest moment of a
broker's clock in itself. Beyond that:
- The copy of a follower was made at some moment, but a follower lags: one out of the in-sync set
  (`Partition.maybeShrinkIsr`), and the disk of a stopped broker, end where they were left. "Copied
  at" is the extent of a leader, and nothing in a folder tells which replica that was: leader epochs
  are the same on all, and a high watermark is at most the end of its own log.
- Where the dump has all brokers that the cluster ever registered (`RegisterBrokerRecord` in
  `__cluster_metadata`, KRaft), the leader's copy is one of those of the partition. None of them is
  longer than what it had when it was copied or what was fetched from it later, so the longest one
  is complete up to the earliest moment at which one of them was copied.
- A broker that is alone in its cluster has no follower. If it was stopped cleanly, all its copies
  are of one moment, and the newest broker's timestamp of any counts for each.

What lies at the end of a copy that another copy of the partition outlasts is judged on that one:
the marker of a transaction that is open here may lie there.

What cannot be known: of a dump with some of the brokers, or of a cluster with ZooKeeper, whether a
copy is the leader's; then its own timestamps count, and a manifest adds nothing.
"""

from udfs.rules.logic import Values
from udfs.wire import bounds

# At or after every offset that a log has, with room for arithmetic.
MAX_OFFSET = bounds.HIGHEST


def is_replicated(last_offset: Values, high_watermark: Values) -> Values:
    """Whether a batch lies below the high watermark of its copy, so that every leader has it.

    `last_offset` is inclusive, `high_watermark` is not.
    """
    return last_offset < high_watermark


def is_outlasted(log_end: Values, longest_log_end: Values) -> Values:
    """Whether another copy of the partition goes on after the end of this one.

    Exclusive offsets; `longest_log_end` of all copies in the dump, this one among them.
    """
    return log_end < longest_log_end


def manifest_counts(every_broker: Values, log_end: Values, longest_log_end: Values) -> Values:
    """Whether the moment at which all copies of a partition were begun is an extent of this one.

    `every_broker`: the dump has every broker of the cluster.
    """
    return every_broker & ~is_outlasted(log_end, longest_log_end)


def is_one_moment(
    alone: Values, clean_shutdown: Values, other_alone: Values, other_clean: Values, same: Values
) -> Values:
    """Whether two copies end at one moment: of one broker without others, stopped cleanly.

    `same`: both are of the same broker.
    """
    return alone & clean_shutdown & other_alone & other_clean & same


def outlived(up_to_ms: Values, appended_by_ms: Values, limit_ms: Values) -> Values:
    """Whether a copy still lacks the end of a transaction that should have ended long before it.

    `appended_by_ms`: the first broker's moment after its data. All in ms of brokers' clocks.
    """
    return up_to_ms - limit_ms > appended_by_ms
