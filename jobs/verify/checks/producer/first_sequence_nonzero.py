"""The first batch of a producer in a partition does not begin at sequence 0.

What it finds: a data batch of a producer without any earlier batch in the partition, with a first
sequence other than 0, although the log is present from offset 0.

Why it is of interest: earlier batches may have been lost. It helps to interpret other findings
about the producer.

When it is legal: always since Kafka 2.5 (KIP-360): a leader without state of the producer accepts
any sequence. Nothing is reported if the head of the log is missing or was cleaned.

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import INFO, Check, Proof, text
from jobs.verify.verdict import (
    ALSO_LEGAL,
    MISSING_RANGE,
    NO_INITIAL_STATE,
    explained,
    suspect,
)

CHECK = Check(
    code="first_sequence_nonzero",
    severity=INFO,
    context="run",
    source="KIP-360",
    fires=lambda: (
        F.col("client_data") & F.col("state_epoch").isNull() & (F.col("first_sequence") != 0)
    ),
    excuses=(
        explained(NO_INITIAL_STATE, lambda: ~F.col("start_known")),
        explained(MISSING_RANGE, lambda: F.col("missing_before")),
        suspect(ALSO_LEGAL),
    ),
    expected=lambda: F.lit("first sequence 0"),
    found=lambda: text("first sequence {first_sequence}"),
    proofs=(Proof("the first batch of the producer"),),
    message=lambda: text(
        "The first batch of producer {producer_id} in this partition, at offset {first_offset}, "
        "begins with sequence {first_sequence}."
    ),
)
