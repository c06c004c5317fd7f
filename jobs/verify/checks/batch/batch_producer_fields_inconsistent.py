"""The producer fields of a batch contradict each other.

What it finds: a producer id without epoch or sequence.

Why it is wrong: a broker refuses such a batch of a client, and writes none itself.

When it is legal: batches without a producer id, which any number below 0 is, may hold any epoch and
sequence, and even the transactional bit (`LogValidator` asks for none): those are not judged. Both
broker and consumer take them for batches that nobody's transaction holds. No broker asks for an
epoch: one that knows nothing of the producer id takes -1 (`ProducerAppendInfo.checkSequence`). No
client of Kafka sends it (`MemoryRecordsBuilder.validateProducerState`), so it is a suspect.

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
        "The batch at offset {offset_first} has a producer id without epoch or sequence."
    ),
)
