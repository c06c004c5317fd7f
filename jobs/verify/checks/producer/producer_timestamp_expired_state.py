"""Between two batches the broker may have forgotten a producer.

What it finds: a data batch before which the broker's clock had come, or may have come, to the
timestamp of the producer's last batch or marker plus producer.id.expiration.ms, with no transaction
open. It is told where the client's own clock shows such a pause, and where the batch breaks a rule.

Why it is told: without state the leader takes any sequence and lower epochs from the producer,
so findings about it that would be violations are only inconclusive from here on.

When it is legal: always. The broker compares its clock with the timestamps of records, which may be
event times: state of old ones expires at once, that of future ones lives on.

Evidence: the batch before and the batch after the pause.
"""

from pyspark.sql import functions as F

from jobs.verify.check import INFO, Check, Proof, text
from jobs.verify.verdict import ALSO_LEGAL, suspect

CHECK = Check(
    code="producer_timestamp_expired_state",
    severity=INFO,
    context="run",
    source="ProducerStateManager.isProducerExpired",
    fires=lambda: F.col("client_data") & F.col("state_may_have_expired") & F.col("pause_or_break"),
    excuses=(suspect(ALSO_LEGAL),),
    expected=lambda: F.lit("a batch before the producer expires"),
    found=lambda: text(
        "the batch or marker before is of {before} ms, this batch of {first_timestamp} ms",
        before="state_timestamp",
    ),
    proofs=(
        Proof("the batch before", "previous_file", "previous_position", "previous_length"),
        Proof("the batch after the pause"),
    ),
    message=lambda: text(
        "Before offset {first_offset} the broker may have forgotten producer {producer_id}: its "
        "newest record was of {before} ms, older than producer.id.expiration.ms.",
        before="state_timestamp",
    ),
)
