"""Up to which offset and moment a copy of a replica is complete.

Below its high watermark a copy holds a prefix of what every later leader has, so it is complete up
to the newest moment of a broker's clock there. What lies above it may be of a leader that had been
replaced without knowing: cut off from controller and followers it goes on to append
(`Partition.appendRecordsToLeader`), and truncates that when it is back
(`ReplicaFetcherThread.truncate`). The new leader has other batches there, of a higher leader epoch.
Where the high watermark is not known, or the broker is alone in its cluster, all of the copy
counts; of the former, where others can lead, the last record is not known to be replicated.
Beyond that:
- The copy of a follower was made at some moment, but a follower lags: one out of the in-sync set
  (`Partition.maybeShrinkIsr`), and the disk of a stopped broker, end where they were left. "Copied
  at" is the extent of a leader, and nothing in a folder tells which replica that was: leader epochs
  are the same on all, and a high watermark is at most the end of its own log.
- Where the dump has all brokers that the cluster ever registered (`RegisterBrokerRecord` in
  `__cluster_metadata`, KRaft, whole, and as late as that moment: docs/kafka-rules.md#extent), the
  leader's copy is one of those of the partition. No copy with
  batches of that leader is longer than what it had when it was copied or what was fetched from it
  later, so the longest one of the newest leader epoch is complete up to the earliest moment at
  which one of them was copied, unless another copy is longer still.
- A broker that is alone in its cluster has no follower. If it was stopped cleanly, all its copies
  are of one moment, and the newest broker's timestamp of any counts for each.

- `__transaction_state` is copied before all else, too. What that copy holds is older than a copy of
  the leader, and older than none of a follower, which may lag.

What lies at the end of a copy that another copy of the partition outlasts is judged on that one:
the marker of a transaction that is open here may lie there. A copy that ends in batches of an
older leader is outlasted, however long it is.

A record of the coordinator's log at or above the high watermark of an outlasted copy tells nothing
beside a copy that goes on after it, and that has it, too, or a later one of its id, or another one
at its offset, or that has batches of a later leader at or below its offset: the broker truncates
its own when it is back. Where no such copy shows one of these, it may have lost the record, as the
mark is up to 5 s old. Of all that copies hold of an id, the newest record is the last one of those
that do count, tombstones included. Without a high watermark, what lies where a later leader's
batches begin in another copy is not replicated.

What cannot be known: of a dump with some of the brokers, or of a cluster with ZooKeeper, whether a
copy is the leader's; then its own timestamps count, and a manifest adds nothing.
"""

from udfs.rules import limits
from udfs.rules.logic import Values

# At or after every offset that a log has, with room for arithmetic.
MAX_OFFSET = limits.HIGHEST


def is_replicated(last_offset: Values, high_watermark: Values) -> Values:
    """Whether a batch lies below the high watermark of its copy, so that every leader has it.

    `last_offset` is inclusive, `high_watermark` is not.
    """
    return last_offset < high_watermark


def is_outlasted(
    leader_epoch: Values, log_end: Values, newest_epoch: Values, longest_log_end: Values
) -> Values:
    """Whether another copy of the partition goes on after what this one has of the log.

    That has batches of a later leader, or more of the same one. `leader_epoch`: the highest of
    its batches, -1 for none; `newest_epoch`: the highest of all copies in the dump;
    `longest_log_end`: of those with that epoch; ends are exclusive.
    """
    return (leader_epoch < newest_epoch) | (log_end < longest_log_end)


def goes_on_with(offset: Values, their_offset: Values) -> Values:
    """Whether a copy has a record, or a later one of its id: `their_offset`, that of its last."""
    return their_offset >= offset


def is_cut_off(offset: Values, their_first: Values) -> Values:
    """Whether a later leader has another batch where this one lies, so that it is truncated.

    `their_first`: the first offset of a batch of a later leader. Those in front of it may be gone
    by compaction.
    """
    return offset >= their_first


def is_told_by_another(replicated: Values, outlasted: Values, only_here: Values) -> Values:
    """Whether a record is to be judged on another copy of its partition, which has it if it stays.

    `replicated`: in its own copy; `outlasted`: that copy is; `only_here`: no copy that outlasts it
    has the record, or shows that it is cut off.
    """
    return ~replicated & outlasted & ~only_here


def manifest_counts(
    every_broker: Values, outlasted: Values, log_end: Values, longest_of_all: Values
) -> Values:
    """Whether the moment at which all copies of a partition were begun is an extent of this one.

    `every_broker`: the dump has every broker that the cluster had up to that moment.
    `longest_of_all`: whatever its leader epoch, which no checksum covers.
    """
    return every_broker & ~outlasted & (log_end >= longest_of_all)


def reaches_copying(alone: Values, fetched: Values, counts: Values) -> Values:
    """Whether a copy lacks nothing that its partition had before the copying of the dump began.

    It is that of the leader: of a broker without others, fetched from it, or one of those for which
    `manifest_counts`. So it is not older than what was copied before all of them.
    """
    return alone | fetched | counts


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
