"""The high watermark is above the log end offset.

What it finds: an entry of replication-offset-checkpoint above the log end offset.

Why it is wrong: a broker never sets the high watermark above its log end offset
(UnifiedLog.updateHighWatermark), so replicated records are missing from this copy.

When it is legal: the checkpoint was copied after the log. After a clean shutdown the broker writes
nothing more, and no legal explanation remains.

Evidence: no bytes of the log; the message has the checkpoint entry and the log end offset.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.verdict import DUMP_BEFORE_EVENT, suspect

CHECK = Check(
    code="hw_beyond_log_end",
    severity=ERROR,
    context="partition",
    source="UnifiedLog.updateHighWatermark",
    fires=lambda: F.col("checkpoint_high_watermark") > F.col("last_offset_seen"),
    excuses=(suspect(DUMP_BEFORE_EVENT, lambda: ~F.col("clean_shutdown")),),
    expected=lambda: text("a high watermark of at most {last_offset_seen}"),
    found=lambda: text("high watermark {checkpoint_high_watermark}"),
    message=lambda: text(
        "The checkpoint has high watermark {checkpoint_high_watermark}: all records below it were "
        "replicated. The log ends at offset {last_offset_seen}."
    ),
)
