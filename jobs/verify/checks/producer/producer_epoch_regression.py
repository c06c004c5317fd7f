"""The epoch of a producer is lower than that of its earlier data.

What it finds: a data batch with a lower producer epoch than an earlier data batch of the same
producer id in the partition; reported once at each decrease.

Why it is wrong: the leader refuses it (InvalidProducerEpochException): a fenced instance of the
application wrote concurrently with its successor. Offset commits have no sequences, but their
epochs are checked too (AppendOrigin.COORDINATOR; up to 2.2 they were not). A batch that is in the
log before, byte for byte, is no instance's: the broker had lost the producer's state and stored it
again; the finding then says so.

When it is legal: the state of the producer had expired, or, up to Kafka 2.3, was lost with the head
of the log, which only the log-start-offset-checkpoint of a clean shutdown shows.

Evidence: the batch before and the batch of the lower epoch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.began_anew import began_anew_where_the_start_is_unknown
from jobs.verify.conditions.forgotten import data_forgotten_with_the_head, state_may_have_expired
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.conditions.stored_again import again, correct_readers_or
from jobs.verify.verdict import MISSING_RANGE, explained

CHECK = Check(
    code="producer_epoch_regression",
    severity=ERROR,
    context="run",
    source="ProducerAppendInfo.checkProducerEpoch",
    fires=lambda: (
        (F.col("producer_epoch") < F.col("highest_data_epoch"))
        & (F.col("state_epoch") > F.col("producer_epoch"))
    ),
    excuses=(
        explained(
            MISSING_RANGE,
            lambda: (F.col("client_data") & F.col("joins_earlier")) | F.col("overlaps"),
        ),
        state_may_have_expired(),
        unstable_tail(),
        data_forgotten_with_the_head(),
        *began_anew_where_the_start_is_unknown(),
    ),
    expected=lambda: text("producer epoch {highest_data_epoch} or higher"),
    found=lambda: text("producer epoch {producer_epoch}{again}", again=again()),
    proofs=(
        Proof("the data before", "previous_file", "previous_position", "previous_length"),
        Proof("the batch of the lower epoch"),
    ),
    message=lambda: text(
        "Producer {producer_id} wrote with epoch {producer_epoch} at offset {first_offset}, after "
        "data with epoch {highest_data_epoch}{again}.",
        again=again(),
    ),
    remedy=lambda: correct_readers_or(
        text(
            "Look for two running instances with the same transactional.id. The broker should "
            "have refused the records that the older one wrote to {topic}-{partition} from offset "
            "{first_offset} on."
        )
    ),
)
