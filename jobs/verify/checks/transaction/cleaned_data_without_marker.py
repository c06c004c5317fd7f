"""The cleaner passed data of a transaction that is still open.

What it finds: transactional data without a later marker of its producer id that begin below the
cleaner checkpoint.

Why it is wrong: the cleaner stops at the last stable offset, so all transactions below its
checkpoint were decided. The marker existed and is lost. Data that consumers have already read are
now blocked.

When it is legal: a broker that was down while the topic was deleted and created again keeps the
line of the older topic in its cleaner checkpoint (LogManager.addStrayLog leaves it). The finding is
inconclusive if `__cluster_metadata` tells of that. It is, too, if the coordinator runs a
transaction in the partition, unless the topic is known to be the only one of its name. The marker
may be damaged, or in a file that is not in the dump, and in a copy of a running broker the
checkpoint may be newer than the log. If the transaction began below the log start offset, which
only the log-start-offset-checkpoint shows, the cleaner may pass that part. Up to Kafka 2.2.1 the
cleaner removed the markers of data that it kept (KAFKA-8351).

Evidence: the first and the last batch of the transaction.
"""

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

CHECK = Check(
    code="cleaned_data_without_marker",
    severity=ERROR,
    context="transaction",
    source="LogCleanerManager.cleanableOffsets",
    fires=lambda: (
        (F.col("outcome") == "open")
        & passed_by_cleaner(
            F.col("first_offset"),
            F.col("last_offset"),
            F.col("log_start_offset"),
            F.col("cleaner_checkpoint"),
        )
    ),
    excuses=(
        explained(
            MISSING_RANGE,
            lambda: marker_lost_behind(F.col("last_offset")),
        ),
        inconclusive(
            TOPIC_RECREATED,
            lambda: (
                F.col("created_again")
                | (F.col("coordinator_covers_partition") & ~F.col("created_once"))
            ),
        ),
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("clean_shutdown")),
        log_start_unknown(),
    ),
    expected=lambda: text("a marker, because the cleaner checkpoint is {cleaner_checkpoint}"),
    found=lambda: F.lit("no marker"),
    proofs=(
        Proof("first batch of the transaction"),
        Proof("last batch of the transaction", "last_file", "last_position", "last_length"),
    ),
    message=lambda: text(
        "The transaction of producer {producer_id} that began at offset {first_offset} has no "
        "marker. The cleaner checkpoint is at offset {cleaner_checkpoint}, and the cleaner does "
        "not pass open transactions."
    ),
)
