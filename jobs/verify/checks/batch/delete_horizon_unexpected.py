"""A batch has a delete horizon without a reason.

What it finds: a delete horizon in a partition that was never compacted, or on a complete data batch
without a tombstone.

Why it is suspicious: only the cleaner sets the horizon, when it keeps a tombstone or a marker.

When it is legal: the topic was compacted earlier; the broker is newer than this program.

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, text
from jobs.verify.contexts.frame import has_fault
from jobs.verify.verdict import (
    CLEANED_RANGE,
    CONFIG_UNKNOWN,
    VERSION_DEPENDENT,
    explained,
    suspect,
)
from schemas.dump_partition import CLEANED
from udfs.wire.batches import faults

CHECK = Check(
    code="delete_horizon_unexpected",
    severity=WARNING,
    context="frame",
    source="MemoryRecords.filterTo",
    fires=lambda: has_fault(faults.DELETE_HORIZON | faults.HORIZON_WITHOUT_CAUSE),
    excuses=(
        suspect(VERSION_DEPENDENT, lambda: has_fault(faults.HORIZON_WITHOUT_CAUSE)),
        explained(CLEANED_RANGE, lambda: F.col("cleaning") == CLEANED),
        suspect(CONFIG_UNKNOWN),
    ),
    expected=lambda: F.lit("a delete horizon on tombstones and markers of compacted topics"),
    found=lambda: text("horizon {base_timestamp} ms, attributes {attributes}"),
    message=lambda: text(
        "The batch at offset {offset_first} has a delete horizon, although {why}.",
        why=F.when(
            has_fault(faults.HORIZON_WITHOUT_CAUSE), F.lit("it has no tombstone and no marker")
        ).otherwise(F.lit("its partition was never compacted")),
    ),
    needs_records=True,
)
