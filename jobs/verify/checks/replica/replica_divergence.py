"""Two replicas of a partition contradict each other.

What it finds: an offset below the high watermark of two copies where their batches are not
identical bytes. If the cleaner has passed, it finds one of these:

- different records at one offset (producer, epoch, sequence, leader epoch, key, value; for a
  marker, its outcome);
- a copy with data of a transaction, but without the marker that another copy has for it: the data
  are open there, or ended by a later marker;
- the newest value of a key, while the other copy has neither that value nor a newer one, as after a
  deletion that one copy never received; or a tombstone, while the other copy has the deleted value.

It is reported once for each offset at which copies of a partition part, of each two copies the
first one; where they are equal again behind it, also where they part for good. If the cleaner has
passed, once for each partition and kind.

Why it is wrong: a follower stores what it fetches unchanged (ReplicaFetcherThread), including the
partition leader epoch. Records below the high watermark were acknowledged. At least one copy no
longer has them: after an unclean leader election, or because bytes changed on a disk. A marker
outlives the data of its transaction (LogCleaner), so a copy without it received the data and was
then offline longer than delete.retention.ms. After the next change of the leader consumers and
producers see another log: deleted data again, aborted data committed, committed data hidden, or an
open transaction that blocks the last stable offset.

When it is legal: above the high watermark, where a follower truncates; a record, batch or marker
that one cleaner has removed or emptied and another has not, with the delete horizon, count, size
and checksum that follow; between two topics that successively had the same name, which
partition.metadata distinguishes. A copy of a broker that had not stopped cleanly may hold records
that were truncated before its checkpoint was copied. A marker between two segments, or a
superseding record, may be in a file that was not copied.

Evidence: the batch in both copies.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.model.found import EQUAL_AGAIN, LACK_THE_VALUE, LACK_THEIR_MARKER
from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.verdict import (
    CLEANED_RANGE,
    CONFIG_UNKNOWN,
    MISSING_RANGE,
    TOPIC_RECREATED,
    UNSTABLE_TAIL,
    inconclusive,
    suspect,
)


def _by_kind(differs: Column, record: Column, outcome: Column, key: Column) -> Column:
    """The text for what contradicts."""
    difference = F.col("difference")
    return (
        F.when(difference == "differs", differs)
        .when(difference == "record", record)
        .when(difference == "outcome", outcome)
        .otherwise(key)
    )


CHECK = Check(
    code="replica_divergence",
    severity=ERROR,
    context="replicas",
    source="ReplicaFetcherThread, LogCleaner",
    fires=lambda: F.col("difference").isin("differs", "record", "outcome", "key"),
    excuses=(
        inconclusive(UNSTABLE_TAIL, lambda: ~F.col("both_high_watermarks_known")),
        inconclusive(CONFIG_UNKNOWN, lambda: F.col("cleaning_unknown")),
        inconclusive(CLEANED_RANGE, lambda: F.col("may_be_cleaned")),
        suspect(UNSTABLE_TAIL, lambda: ~F.col("both_clean")),
        # One may have fetched it from a broker that had cleaned further and is not in the dump.
        suspect(CLEANED_RANGE, lambda: (F.col("difference") == "differs") & F.col("compacted")),
        suspect(TOPIC_RECREATED, lambda: ~F.col("topic_known")),
        suspect(MISSING_RANGE, lambda: F.col("may_be_missing")),
    ),
    expected=lambda: _by_kind(
        text("the same batch on brokers {broker} and {other_broker}"),
        text("the same record on brokers {broker} and {other_broker}"),
        text("{other_text} by the marker at offset {marker_offset}, as on broker {other_broker}"),
        text("the same value, or a newer one, on brokers {broker} and {other_broker}"),
    ),
    found=lambda: _by_kind(
        F.concat(
            text("leader epochs {one_text} and {other_text}; the copies of brokers {pairs} differ"),
            F.when(F.col("equal_again"), F.lit(EQUAL_AGAIN)).otherwise(F.lit("")),
        ),
        text("{contradicting} offsets with different records"),
        text("{one_text}; {contradicting}" + LACK_THEIR_MARKER),
        text("{contradicting}" + LACK_THE_VALUE),
    ),
    proofs=(
        Proof("the batch in one copy"),
        Proof("the batch in the other", "other_file", "other_position", "other_length"),
    ),
    message=lambda: _by_kind(
        text(
            "The copies of brokers {broker} and {other_broker} have different batches from offset "
            "{offset_first} on, below the high watermark of both. At least one of them lacks the "
            "acknowledged batch."
        ),
        text(
            "The copies of brokers {broker} and {other_broker} have different records at offset "
            "{offset_first}, below the high watermark of both. At least one of them lacks the "
            "acknowledged record."
        ),
        text(
            "Broker {broker} lacks the marker of producer {producer_id} at offset {marker_offset}. "
            "There the transaction at offset {offset_first} is {one_text}; on broker "
            "{other_broker} it is {other_text}."
        ),
        text(
            "Broker {broker} has the newest value of a key at offset {offset_first}. Broker "
            "{other_broker} has neither that value nor a newer one."
        ),
    ),
    remedy=lambda: F.when(
        F.col("difference").isin("outcome", "key"),
        text(
            "Find out which of brokers {broker} and {other_broker} was offline longer than "
            "delete.retention.ms. Do not let it become leader. Move its folder away, and let it "
            "fetch the partition again."
        ),
    ).otherwise(
        text(
            "Find out which broker led the partition around offset {offset_first}, and whether "
            "unclean.leader.election.enable is set. Save both folders before a replica truncates, "
            "and restore the records that only the follower's copy has."
        )
    ),
)
