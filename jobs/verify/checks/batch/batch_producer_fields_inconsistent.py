"""The producer fields of a batch contradict each other.

What it finds: a producer id without a producer epoch or a sequence.

Why it is wrong: a broker refuses such a batch from a client, and writes none itself.

When it is legal: a batch without a producer id (any number below 0) may have any epoch and
sequence, and even the transactional bit, because `LogValidator` does not check them. Such batches
are not judged; brokers and consumers treat them as not part of any transaction. No broker requires
an epoch: one without state of the producer id accepts -1 (`ProducerAppendInfo.checkSequence`). No
Kafka client sends -1 (`MemoryRecordsBuilder.validateProducerState`), so it is a suspect.

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.contexts.frame import has_fault
from jobs.verify.verdict import VERSION_DEPENDENT, suspect
from udfs.wire.batches import faults

CHECK = Check(
    code="batch_producer_fields_inconsistent",
    severity=ERROR,
    context="frame",
    source="LogValidator.validateBatch",
    fires=lambda: has_fault(faults.PRODUCER_FIELDS_INCONSISTENT),
    excuses=(suspect(VERSION_DEPENDENT, lambda: F.col("base_sequence") >= 0),),
    expected=lambda: F.lit("producer id, epoch and sequence, or none of them"),
    found=lambda: text(
        "producer id {producer_id}, epoch {producer_epoch}, sequence {base_sequence}"
    ),
    message=lambda: text(
        "The batch at offset {offset_first} has a producer id but no producer epoch or no sequence."
    ),
)
