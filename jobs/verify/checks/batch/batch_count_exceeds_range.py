"""A batch has more records than offsets.

What it finds: a batch with more records than offsets, or with a negative last offset delta.

Why it is wrong: every record has an offset of its own.

When it is legal: brokers up to 1.0 did not compare the two. Old clients (Sarama up to 1.15) gave
each batch the last offset delta 0, and the broker gave it the offset of its last record: as many
offsets are missing in front as it has records too many. Consumers read it all the same.

Evidence: the batch.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.conditions.missing import number_missing
from jobs.verify.contexts.frame import has_fault
from jobs.verify.verdict import VERSION_DEPENDENT, suspect
from udfs.rules.logic import surely
from udfs.wire.batches import faults


def _with_the_offset_of_its_last_record() -> Column:
    """Whether a broker up to 1.0 may have stored the batch of a client that numbers no records.

    It counted the records and took the last offset from that (`LogValidator`); since 1.1.0 it
    refuses the batch (KAFKA-6554). Clients with producer ids came later.
    """
    others = F.col("count").cast("long") - 1
    first = F.try_subtract("offset_first", others)
    in_front = number_missing(first, F.try_subtract("offset_first", F.lit(1)), F.lit(None))
    missing = surely((in_front == others) | (first < F.col("first_base")))
    of_one_offset = F.col("offset_last") == F.col("offset_first")
    return of_one_offset & F.col("producer_id").isNull() & missing & ~F.col("kraft_only")


CHECK = Check(
    code="batch_count_exceeds_range",
    severity=ERROR,
    context="frame",
    source="LogValidator.validateBatch",
    fires=lambda: has_fault(faults.COUNT_EXCEEDS_RANGE),
    excuses=(suspect(VERSION_DEPENDENT, _with_the_offset_of_its_last_record),),
    expected=lambda: text(
        "at most {span} records", span=F.col("offset_last") - F.col("offset_first") + 1
    ),
    found=lambda: text("{count} records"),
    message=lambda: text(
        "The header of the batch at offset {offset_first} gives {count} records and last offset "
        "{offset_last}: more records than offsets."
    ),
)
