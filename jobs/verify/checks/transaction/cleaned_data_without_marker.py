"""Data lost the marker that their transaction had: a cleaner has passed it, or taken it.

What it finds: transactional data without a later marker of its producer id that begin below the
cleaner checkpoint; or behind which the newest producer snapshot has their transaction ended, where
offsets are missing between the two.

Why it is wrong: the cleaner stops at the last stable offset, so all transactions below its
checkpoint were decided. A snapshot has a transaction ended when its marker was appended. The marker
existed and is lost. A broker that goes on from its newest snapshot still has the transaction ended,
and delivers the data, also those that were aborted where the index has lost them; one that makes
its snapshots anew has the transaction open, and blocks data that consumers have already read.

When it is legal: a broker that was down while the topic was deleted and created again keeps the
line of the older topic in its cleaner checkpoint (LogManager.addStrayLog leaves it). The finding is
inconclusive if `__cluster_metadata` tells of that. It is, too, if the coordinator runs a
transaction in the partition, unless the topic is known to be the only one of its name. The marker
may be damaged, or in a file that is not in the dump, and in a copy of a running broker the
checkpoint may be newer than the log. If the transaction began below the log start offset, which
only the log-start-offset-checkpoint shows, the cleaner may pass that part, and takes an ABORT. By
faults the cleaner removed the markers of data that it kept: up to Kafka 2.2.1 (KAFKA-8351), 3.1.0
(KAFKA-13727) and 3.2.0 (KAFKA-14055).

Evidence: the first and the last batch of the transaction.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.forgotten import log_start_unknown
from jobs.verify.conditions.missing import marker_lost_behind
from jobs.verify.verdict import (
    DUMP_BEFORE_EVENT,
    MISSING_RANGE,
    TOPIC_RECREATED,
    explained,
    inconclusive,
)
from udfs.rules.absence import passed_by_cleaner
from udfs.rules.logic import surely

REMEMBERED = (
    " A broker that starts from its snapshots still has the transaction ended, and delivers these "
    "records, unless a .txnindex lists them as aborted."
)


def _passed() -> Column:
    """Whether the cleaner has passed the data; false where there is no checkpoint."""
    passed: Column = surely(
        passed_by_cleaner(
            F.col("first_offset"),
            F.col("last_offset"),
            F.col("log_start_offset"),
            F.col("cleaner_checkpoint"),
        )
    )
    return passed


CHECK = Check(
    code="cleaned_data_without_marker",
    severity=ERROR,
    context="transaction",
    source="LogCleanerManager.cleanableOffsets",
    fires=lambda: (F.col("outcome") == "open") & (_passed() | F.col("marker_was_there")),
    excuses=(
        explained(
            MISSING_RANGE,
            lambda: marker_lost_behind(F.col("last_offset")),
        ),
        inconclusive(
            TOPIC_RECREATED,
            lambda: (
                ~F.col("marker_was_there")
                & (
                    F.col("created_again")
                    | (F.col("coordinator_covers_partition") & ~F.col("created_once"))
                )
            ),
        ),
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("clean_shutdown")),
        log_start_unknown(),
    ),
    expected=lambda: F.when(
        _passed(), text("a marker, because the cleaner checkpoint is {cleaner_checkpoint}")
    ).otherwise(
        text(
            "a marker, because the producer snapshot at offset {newest_snapshot} has "
            "the transaction ended"
        )
    ),
    found=lambda: F.lit("no marker"),
    proofs=(
        Proof("first batch of the transaction"),
        Proof("last batch of the transaction", "last_file", "last_position", "last_length"),
    ),
    message=lambda: F.concat(
        text(
            "The transaction of producer {producer_id} that began at offset {first_offset} has no "
            "marker. "
        ),
        F.when(
            _passed(),
            text(
                "The cleaner checkpoint is at offset {cleaner_checkpoint}, and the cleaner does "
                "not pass open transactions."
            ),
        ).otherwise(
            text(
                "The producer snapshot at offset {newest_snapshot} has it ended, so the marker was "
                "written, and offsets are missing between the two."
            )
        ),
        F.when(F.col("marker_was_there"), F.lit(REMEMBERED)).otherwise(F.lit("")),
    ),
)
