"""What to do about a finding, where several checks say the same."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.model.commands import ABORT_BY_PRODUCER, ABORT_BY_START, DESCRIBE_PRODUCERS, FOR_OLDER
from jobs.model.ending import (
    DO_NOT_DECIDED,
    DO_NOT_RUNNING,
    FOREIGN,
    FOREIGN_DECIDED,
    OFFSETS_ABORTED,
    OFFSETS_FIRST,
    OFFSETS_SET,
    SAVE_FIRST,
    STILL_OPEN,
    ending,
    older_epoch,
)
from jobs.verify.check import text
from schemas.topics import OFFSETS_TOPIC
from udfs.rules.ending import DECIDED, RUNNING, SAVE_AND_ABORT


def end_open_data() -> Column:
    """Ends the open transaction of a row of the context `transaction`, as in `explain`."""
    ended_by = ending("coordinator", F.col("all_aborted"))
    abort = F.concat(F.lit(f"{STILL_OPEN} Then: "), _abort_command())
    of_offsets = F.col("topic") == OFFSETS_TOPIC
    after = F.when(ended_by == SAVE_AND_ABORT, F.lit(OFFSETS_SET)).otherwise(F.lit(OFFSETS_ABORTED))
    return (
        F.when(ended_by == DECIDED, F.lit(f"{DO_NOT_DECIDED} {FOREIGN_DECIDED}"))
        .when(ended_by == RUNNING, F.lit(f"{DO_NOT_RUNNING} {FOREIGN}"))
        .when(of_offsets, F.concat(F.lit(f"{OFFSETS_FIRST} "), abort, F.lit(". "), after))
        .when(ended_by == SAVE_AND_ABORT, F.concat(F.lit(f"{SAVE_FIRST} "), abort))
        .otherwise(abort)
    )


def _abort_command() -> Column:
    newer = text(ABORT_BY_START)
    epoch = older_epoch(
        F.col("coordinator.client_transaction_version"), F.col("opening_marker.coordinator_epoch")
    )
    older = text(
        f"; {FOR_OLDER}: " + ABORT_BY_PRODUCER,
        topic="topic",
        partition="partition",
        producer_id="producer_id",
        producer_epoch="producer_epoch",
        coordinator_epoch=epoch,
    )
    return F.when(epoch.isNull(), newer).otherwise(F.concat(newer, older))


def abort_unlisted() -> Column:
    """For open data in a partition that their transaction does not list."""
    return text(
        "If the transaction of producer {producer_id} is still open in this partition, and "
        "kafka-transactions.sh describe shows none of its transactional id that is Ongoing or "
        "prepared with this partition, save its records, and abort it. "
        "Check whether transaction.partition.verification.enable is on. To list open "
        f"transactions: {DESCRIBE_PRODUCERS}"
    )


def rebuild_index(suffix: str) -> Column:
    """For an index of a segment that is wrong; `suffix`: of its file, as in `.index`.

    A broker that starts rebuilds the indexes of a segment where the `.index` file is not there
    (`LogLoader.loadSegmentFiles`, `LogSegment.sanityCheck`). A `.txnindex` that is not there counts
    as one without an aborted transaction: each would become visible.
    """
    also = "" if suffix == ".index" else " and the .index file of its segment"
    return F.lit(
        f"Stop the broker, delete this {suffix} file{also}, and start the broker. It rebuilds all "
        "indexes of a segment that has no .index file."
    )


def rebuild_aborted_index(offset: str) -> Column:
    """For a `.txnindex` that contradicts whether there is an ABORT marker at the column `offset`.

    A broker appends the entry when it appends the marker (`UnifiedLog.append`), and a rebuilt index
    says what the marker says now (`LogSegment.recover`). If the marker was changed on disk since
    then, the index is the last to tell its outcome.
    """
    return F.concat(
        text(
            "First find out whether the index or the log is wrong: the marker may have been "
            "changed after the broker had written its index. Keep a copy of both. Compare offset "
            "{offset} in the other replicas, and the decisions of producer {producer_id} in "
            "__transaction_state. If they agree with the index, do not rebuild it: consumers would "
            "then get the wrong outcome. Only if they agree with the log: ",
            offset=F.col(offset),
        ),
        rebuild_index(".txnindex"),
    )


def rebuild_snapshots() -> Column:
    """For a producer snapshot that is wrong: all later ones follow from it."""
    return F.lit(
        "Stop the broker. Delete this and all later .snapshot files of the partition, and the file "
        ".kafka_cleanshutdown. Start the broker: it rebuilds the state from the log."
    )


def copy_again() -> Column:
    """For a record that cannot be decoded."""
    return F.lit(
        "Copy the segment again. If the record still cannot be decoded, take it from another "
        "replica."
    )


def compare_with_records() -> Column:
    """For an id whose records in the coordinator's log are wrong (context `coordinator_step`)."""
    return text(
        "Compare the records of {transactional_id} in __transaction_state-{partition} around "
        "offset {offset} with its partitions. Where they contradict each other, stop its producer "
        "until you know which of them is right."
    )


def ask_leader_again() -> Column:
    """For a leader whose answer is not what its log says."""
    return text(
        "Ask the broker again. If the answer is the same, move the leader to another replica. Or "
        "stop the broker, delete all .snapshot files of the partition and the file "
        ".kafka_cleanshutdown, and start it: it then rebuilds its state from the log. A restart "
        "alone keeps the state. To ask: " + DESCRIBE_PRODUCERS
    )
