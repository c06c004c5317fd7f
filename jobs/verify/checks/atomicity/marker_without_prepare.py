"""The coordinator has no decision for a marker.

What it finds: a marker of a producer id and epoch for which `__transaction_state` has no Prepare
record that took effect, although no record is missing where it would be. Under transaction.version
0 and 1 an epoch has many transactions. There it finds a partition in which COMMIT markers ended
more of them than the coordinator committed there. The first surplus marker must have ended a
transaction that was aborted or never decided, or no COMMIT must have been decided before it. A
decision that does not list the partition does not count. Nor does one whose transaction began after
the marker, by more than clocks differ: where an older copy of `__transaction_state` was put back,
its coordinator gives epochs a second time.

Why it is wrong: a marker is sent only after its Prepare record is replicated. Either the record was
lost, or something other than the coordinator wrote the marker. Or a COMMIT was sent a second time,
and came when the next transaction of its epoch had begun (KAFKA-14402; KAFKA-15468 up to 3.7).

When it is legal: an operator's abort has no Prepare record; it carries the epoch of the open data.
If the copy of `__transaction_state` is older than the marker, the finding cannot be proven. A
producer id that is never named may have expired, or be of another cluster, from which the topic was
taken over with its markers: it is asked for only if all partitions of `__transaction_state` are in
the dump and lack nothing from before the marker on, and if a marker in front, or earlier in the
topic, was decided there.
If its id runs a transaction of the epoch that the marker may have cut in two, that may be committed
yet: marker_stale reports it. Above the high watermark a surplus marker may be a delayed one that a
leader appended before it was replaced; the next leader does not have the data that it ended.

Evidence: the marker.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.conditions.undecided import undecided_marker_excuses
from jobs.verify.verdict import ANOTHER_CLUSTER, UNSTABLE_TAIL, explained, inconclusive
from udfs.rules.extent import is_replicated
from udfs.rules.logic import surely


def _epoch_is_decided() -> Column:
    """Whether any decision with the epoch of the marker took effect, whatever it lists."""
    return surely(F.col("decided_commit") | F.col("decided_abort"))


CHECK = Check(
    code="marker_without_prepare",
    severity=ERROR,
    context="decided_partition",
    cause=ONE_TRANSACTION,
    source="TransactionCoordinator.endTransaction",
    place={
        "offset_first": "unexpected_first",
        "offset_last": "unexpected_last",
        "file": "unexpected_file",
        "byte_position": "unexpected_position",
    },
    fires=lambda: (
        (F.col("prepares").isNull() & (F.col("decidable") == 1) & ~_epoch_is_decided())
        | F.col("commits_undecided")
    ),
    excuses=(
        explained(ANOTHER_CLUSTER, lambda: F.col("of_another_cluster")),
        *undecided_marker_excuses(),
        # A marker that came late may have ended what the next leader does not have.
        inconclusive(
            UNSTABLE_TAIL,
            lambda: (
                F.col("commits_undecided")
                & ~is_replicated(F.col("undecided_offset"), F.col("replicated_below"))
            ),
        ),
    ),
    expected=lambda: F.when(
        F.col("commits_undecided"),
        text(
            "a Prepare record of producer {producer_id}, epoch {marker_epoch} that lists "
            "{topic}-{partition}, for each COMMIT"
        ),
    ).otherwise(text("a Prepare record of producer {producer_id}, epoch {marker_epoch}")),
    found=lambda: F.when(
        F.col("commits_undecided"),
        text("{decision} at offset {unexpected_last} without a Prepare record"),
    ).otherwise(
        text(
            "{decision} at offset {unexpected_last}, no Prepare record{unnamed}",
            unnamed=F.when(F.col("unnamed"), ", and none that names the producer").otherwise(""),
        )
    ),
    proofs=(Proof("the marker", "unexpected_file", "unexpected_position", "marker_length"),),
    message=lambda: text(
        "{topic}-{partition} has a marker of producer {producer_id} ({decision}, epoch "
        "{marker_epoch}) at offset {unexpected_last}, but the coordinator's log has no Prepare "
        "record for it."
    ),
    remedy=lambda: text(
        "Look for lost records in __transaction_state (an unclean leader election, a restored "
        "disk). Look for anything other than the coordinator that wrote markers at that "
        "time{late}.",
        late=F.when(
            F.col("commits_undecided"),
            F.lit(
                ", and for a COMMIT that was sent again and came late, in the next transaction of "
                "its epoch (KAFKA-14402, KAFKA-15468)"
            ),
        ).otherwise(F.lit("")),
    ),
)
