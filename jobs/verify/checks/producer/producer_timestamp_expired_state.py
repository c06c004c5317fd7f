"""The broker may have forgotten a producer between two of its batches.

What it finds: a data batch, with no transaction open, before which the broker's clock had reached,
or may have reached, the timestamp of the producer's last batch or marker plus
producer.id.expiration.ms. It is reported if the client's own timestamps show such a pause, or if
the batch breaks a rule.

Why it is of interest: without state the leader accepts any sequence and lower epochs from the
producer. Findings about the producer that would be violations are only inconclusive from here on.

When it is legal: always. The broker compares its clock with the timestamps of records, which may be
event times: state with old timestamps expires at once, state with future ones stays longer.

Evidence: the batch before and the batch after the pause.
"""

from pyspark.sql import functions as F

from jobs.verify.check import INFO, Check, Proof, moment, text
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
        "the previous batch or marker has timestamp {before} ms, this batch {first_timestamp} ms",
        before="state_timestamp",
    ),
    proofs=(
        Proof("the batch before", "previous_file", "previous_position", "previous_length"),
        Proof("the batch after the pause"),
    ),
    message=lambda: text(
        "Before offset {first_offset} the broker may have forgotten producer {producer_id}. Its "
        "newest timestamp was {before}, more than producer.id.expiration.ms earlier.",
        before=moment("state_timestamp"),
    ),
)
