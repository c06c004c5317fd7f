"""The high watermark is above the log end offset.

What it finds: an entry of replication-offset-checkpoint above the log end offset.

Why it is wrong: a broker never sets the high watermark above its log end offset
(UnifiedLog.updateHighWatermark), so replicated records are missing from this copy.

Where `__cluster_metadata` assigns the partition to no broker whose copy is not in the dump, and all
of them had stopped cleanly, the offsets that none of them has are told: no broker can fetch them.

When it is legal: the checkpoint was copied after the log. After a clean shutdown the broker writes
nothing more, and no legal explanation remains.

Evidence: no bytes of the log; the message has the checkpoint entry and the log end offset.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.model.found import IN_NO_REPLICA
from jobs.verify.check import ERROR, Check, text
from jobs.verify.verdict import DUMP_BEFORE_EVENT, suspect


def _if_in_no_replica(template: str) -> Column:
    return F.when(F.col("nowhere_last").isNotNull(), text(template)).otherwise("")


CHECK = Check(
    code="hw_beyond_log_end",
    severity=ERROR,
    context="partition",
    source="UnifiedLog.updateHighWatermark",
    fires=lambda: F.col("checkpoint_high_watermark") > F.col("log_end_seen"),
    excuses=(suspect(DUMP_BEFORE_EVENT, lambda: ~F.col("clean_shutdown")),),
    expected=lambda: text("a high watermark of at most {log_end_seen}"),
    place={"offset_first": "lacking_from", "offset_last": "nowhere_last"},
    found=lambda: F.concat(
        text("high watermark {checkpoint_high_watermark}"),
        _if_in_no_replica(IN_NO_REPLICA + "{lacking_from} to {nowhere_last}"),
    ),
    message=lambda: F.concat(
        text(
            "The checkpoint has high watermark {checkpoint_high_watermark}: all records below it "
            "were replicated. The log ends at offset {log_end_seen}."
        ),
        _if_in_no_replica(
            " The dump has each replica of the partition, and none of them has offsets "
            "{lacking_from} to {nowhere_last}: unless a copy is older than its broker's log is "
            "now, no broker can fetch them from another."
        ),
    ),
)
