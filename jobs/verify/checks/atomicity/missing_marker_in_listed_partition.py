"""A completed transaction has no marker in a partition that it lists.

What it finds: a Complete record in `__transaction_state` whose Prepare record lists a partition
without a marker of that producer id and epoch. Where the Complete record is lost and the id went
on, a marker of the producer, of either outcome, must lie between the Prepare record and the record
with which the id went on.

Why it is wrong: the coordinator completes a transaction only after every listed partition has its
marker. Without the marker the records there stay open until the producer's next marker and then
take that marker's outcome: aborted records become visible, or committed records are lost.

When it is legal: the topic was deleted or created anew, or retention has deleted the data and their
marker. Nothing is reported of a copy of which `__cluster_metadata` says that another topic has its
name now. A partition is therefore reported only if it still holds something older: the data, data
of a lower epoch of the same producer that its coordinator ended, or anything that a broker's clock
surely dates before the decision: a marker of any producer, a commit of offsets, LogAppendTime. An
ABORT with the epoch of its data may be an operator's, of any time: its clock alone counts. A marker
without data may have been emptied by the cleaner. A message format older than 2 refuses data and
marker; with transaction.version 2 no topic has one. Of an ABORT below the log start, or of a
running broker, the cleaner may have left the data; not in a topic that always was compact.

It is also reported, at offset 0, if the log was lost as a whole: it begins at offset 0, its log
start is there, nothing in front of what it has is missing, and its partition was there at the
decision. That is so if `__cluster_metadata`, whole from its beginning, knows one topic of the name
only, and partition.metadata has its id: a transaction cannot list a partition that is not there.
Or if another partition of that id with the same or a higher number, or any one of an internal
topic, holds something that is surely older.

Before transaction.version 2 data of one epoch may belong to a later transaction, so they count only
if no later transaction was begun. The finding is inconclusive if one may be among records of the
coordinator's log that are lost or compacted away. It is also inconclusive if nothing older is there
than the data: they may have come late, behind a marker that went with the head of the log. This is
excluded if the log begins at offset 0, nothing in front of the data is missing, and the first data
of the epoch have sequence 0 or are commits of offsets; or if a replica has the marker where this
copy has something else. Decisions and markers of one epoch are also counted: each of several
transactions has its own marker, from its Prepare to its Complete record. Which of them has none,
and where it would stand, follows from the order of both logs: markers of one id in one partition
stand in the order of its decisions. The most probable place is reported. If several decisions of
one epoch and outcome have no marker, the place is that of the first that is proven. The message
tells how many there are at least, unless offsets of the partition are missing.

If a broker's clock was set back, a timestamp of the repeated period may mean two moments. The check
then uses the widest possible interval; what only the timestamps as they are written show is
inconclusive. A finding is also inconclusive if the Complete record of the decision is lost, unless
markers of the neighbouring decisions show that the clocks agree.

If the copy of the partition is older than the Complete record, or is that of a follower that may
lag, the finding is inconclusive. Of an epoch without any marker of the outcome, each completed
decision lacks one: it is enough that one of them is proven.

If another replica wrote the marker after the end of this copy, nothing is reported. There are three
exceptions. Before transaction.version 2, that marker may be of a later transaction of the epoch: it
is, if it is surely later than the Complete record, and the high watermark of this copy is known. A
copy with data of the producer's next epoch has lost records that the other replica kept. And a copy
that goes on with a later leader never gets the marker of one that ends with a leader that was
replaced.

Evidence: the first batch of the transaction there, and the Prepare record.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.model.ending import OFFSETS_ABORTED, OFFSETS_FIRST, OFFSETS_SET
from jobs.model.found import NO_DATA, PREPARE_RECORD
from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.contexts.open_transaction import decided
from jobs.verify.verdict import (
    CLOCK_SKEW,
    DUMP_BEFORE_EVENT,
    MISSING_RANGE,
    OTHER_OUTCOME,
    REPLICA_LAGS,
    TOPIC_RECREATED,
    UNSTABLE_TAIL,
    VERSION_DEPENDENT,
    explained,
    inconclusive,
)
from schemas.topics import OFFSETS_TOPIC
from udfs.rules.extent import is_replicated
from udfs.rules.logic import surely


def _nothing_is_there() -> Column:
    """Whether the partition has neither the marker nor open data that it would end."""
    return F.col("data_run").isNull() | F.col("all_lost")


def _lost_from_the_head() -> Column:
    """Whether what shows the loss is only that the log should begin with its partition."""
    return F.col("data_run").isNull() & (F.col("last_older") < 0)


def _of_open_data() -> Column:
    """What to do about data without their marker."""
    return text(
        "Records of producer {producer_id} from offset {lacking_first} on stay open until its next "
        "marker. They then have that marker's outcome instead of {decision}. If they are still "
        "open, and kafka-transactions.sh describe shows no transaction of {transactional_id} that "
        "is Ongoing or prepared with this partition, {abort}. Look for data that were lost with "
        "the marker. Correct the results of consumers of {topic}-{partition}.",
        abort=F.when(
            F.col("topic") == OFFSETS_TOPIC,
            F.concat(
                F.lit(
                    f"abort them with kafka-transactions.sh. Before it: {OFFSETS_FIRST} After it: "
                ),
                F.when(F.col("all_aborted"), F.lit(OFFSETS_ABORTED)).otherwise(F.lit(OFFSETS_SET)),
            ),
        )
        .when(
            F.col("commit"),
            F.lit(
                "let the next COMMIT of the producer there deliver them, or save them "
                "(isolation.level=read_uncommitted) and then abort them with kafka-transactions.sh"
            ),
        )
        .when(F.col("all_aborted"), F.lit("abort them with kafka-transactions.sh"))
        .otherwise(
            F.lit(
                "save them (isolation.level=read_uncommitted), as others that lie open with them "
                "may be committed, and then abort them with kafka-transactions.sh"
            )
        ),
    )


CHECK = Check(
    code="missing_marker_in_listed_partition",
    severity=ERROR,
    context="decided_partition",
    cause=ONE_TRANSACTION,
    source="TransactionMarkerChannelManager.addTxnMarkersToSend",
    fires=lambda: (
        (F.col("markers").isNull() & F.col("complete_offset").isNotNull())
        | F.col("short_place").isNotNull()
    ),
    place={
        "offset_first": "lacking_first",
        "offset_last": "lacking_last",
        "file": "shown_file",
        "byte_position": "shown_position",
    },
    excuses=(
        explained(TOPIC_RECREATED, lambda: F.col("of_deleted_topic")),
        explained(MISSING_RANGE, lambda: F.col("held_from").isNull()),
        explained(MISSING_RANGE, lambda: F.col("marker_missing")),
        explained(VERSION_DEPENDENT, lambda: F.col("format_refused")),
        explained(
            OTHER_OUTCOME,
            lambda: (
                (F.col("other_outcome") & ~F.col("short_unseen"))
                | F.col("committed_undecided_instead")
                | F.col("replaced")
            ),
        ),
        explained(REPLICA_LAGS, lambda: F.col("may_come")),
        inconclusive(
            UNSTABLE_TAIL,
            lambda: (
                ~is_replicated(F.col("counted_complete"), F.col("coordinator_replicated_below"))
            ),
        ),
        inconclusive(MISSING_RANGE, lambda: surely(F.col("unproven") == MISSING_RANGE)),
        # What counting proves, it proves for decisions that the copy is late enough for.
        inconclusive(
            DUMP_BEFORE_EVENT,
            lambda: (
                surely(F.col("unproven") == DUMP_BEFORE_EVENT)
                | (F.col("short_place").isNull() & ~F.col("copied_later"))
            ),
        ),
        inconclusive(
            CLOCK_SKEW,
            lambda: surely(F.col("unproven") == CLOCK_SKEW) | surely(F.col("short_as_read")),
        ),
    ),
    expected=lambda: text("{decision} marker of epoch {marker_epoch}"),
    found=lambda: F.concat(
        F.when(
            F.col("short_unseen"),
            text("no marker of the producer between the two records of the coordinator"),
        )
        .when(F.col("all_lost") & F.col("markers").isNull(), text(NO_DATA + "{lacking_first}"))
        .when(
            F.col("all_lost"),
            text(
                NO_DATA + "{lacking_first}; {markers} {decision} markers of that epoch instead of "
                "{completes}"
            ),
        )
        .when(
            F.col("short_place").isNotNull() & (F.col("markers") >= F.col("completes")),
            text("no {decision} marker of that epoch between Prepare and Complete record"),
        )
        .when(
            F.col("short_place").isNotNull() & F.col("markers").isNotNull(),
            text("{markers} {decision} markers of that epoch instead of {completes}"),
        )
        .when(
            _lost_from_the_head(),
            text(NO_DATA + "{last_older}; the log begins with offset 0"),
        )
        .when(
            F.col("data_run").isNull(),
            text(NO_DATA + "{last_older}"),
        )
        .otherwise(text("none; data of epoch {producer_epoch} from offset {lacking_first}")),
        decided(),
    ),
    proofs=(
        Proof(
            "the first batch of the transaction, or where its data and marker were lost",
            "shown_file",
            "shown_position",
            "shown_length",
        ),
        Proof(PREPARE_RECORD, "lacking_file", "lacking_position", "lacking_length"),
    ),
    message=lambda: F.when(
        F.col("short_unseen"),
        text(
            "The coordinator decided {decision} for transaction {transactional_id} (producer "
            "{producer_id}), and the id went on (record at offset {lacking_complete} of "
            "__transaction_state-{coordinator_partition}; the Complete record before it is lost). "
            "{topic}-{partition} has no marker of the transaction, of either outcome."
        ),
    ).otherwise(
        F.concat(
            text(
                "The coordinator decided {decision} for transaction {transactional_id} (producer "
                "{producer_id}) and completed it (Complete record at offset {lacking_complete} of "
                "__transaction_state-{coordinator_partition}). {topic}-{partition} has no marker "
                "of it."
            ),
            F.when(
                F.col("short_number") > 1,
                text(
                    " It lacks the {decision} markers of at least {short_number} transactions of "
                    "epoch {marker_epoch}; this is the first of them."
                ),
            ).otherwise(F.lit("")),
            F.when(
                _lost_from_the_head(),
                F.lit(
                    " The log begins with offset 0 and has nothing of the transaction: it was made "
                    "anew, as behind a lost disk or folder, or a leader lost that part of it."
                ),
            ).otherwise(F.lit("")),
        )
    ),
    remedy=lambda: (
        F.when(
            _nothing_is_there() & F.col("commit"),
            text(
                "Nothing of the transaction lies open there. Look for its records in the other "
                "copies of {topic}-{partition} while there are any, and produce again what is "
                "lost. Correct the results of consumers of {topic}-{partition}."
            ),
        )
        .when(
            _nothing_is_there(),
            text(
                "Nothing of the transaction lies open there, so nothing is to be aborted. Look for "
                "other data of {topic}-{partition} that were lost at that place."
            ),
        )
        .otherwise(_of_open_data())
    ),
)
