"""The cleaner passed data of a transaction that is still open.

What it finds: transactional data without a later marker of its producer id that begins below the
offset up to which the cleaner has worked.

Why it is wrong: the cleaner stops at the last stable offset, so all it touched was decided. The
marker was there and is lost: data that consumers have read now waits for ever.

When it is legal: never; but the marker may be damaged, or in a file that is not in the dump, and
in a copy of a running broker the checkpoint may be younger than the log. Of a transaction that
began below the log start the cleaner may pass what lies below it. Up to Kafka 2.2.1 the cleaner
took the marker of data that it kept (KAFKA-8351).

Evidence: the first and the last batch of the transaction.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions import marker_lost_behind
from jobs.verify.verdict import DUMP_BEFORE_EVENT, MISSING_RANGE, explained, inconclusive
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
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("clean_shutdown")),
    ),
    expected=lambda: text("a marker, as the cleaner passed offset {cleaner_checkpoint}"),
    found=lambda: F.lit("no marker"),
    proofs=(
        Proof("first batch of the transaction"),
        Proof("last batch of the transaction", "last_file", "last_position", "last_length"),
    ),
    message=lambda: text(
        "The transaction of producer {producer_id} that began at offset {first_offset} has no "
        "marker although the cleaner has worked up to offset {cleaner_checkpoint}."
    ),
)
