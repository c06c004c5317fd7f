"""The high watermark is below the log start offset.

What it finds: an entry of replication-offset-checkpoint below the log start offset.

Why it is wrong: records are deleted only below the high watermark (UnifiedLog).

When it is legal: the two checkpoint files are written at different intervals.

Evidence: no bytes of the log; the message has the two checkpoint entries.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, text
from jobs.verify.verdict import DUMP_BEFORE_EVENT, suspect

CHECK = Check(
    code="hw_below_log_start",
    severity=WARNING,
    context="partition",
    source="UnifiedLog.updateHighWatermark",
    fires=lambda: F.col("checkpoint_high_watermark") < F.col("log_start_offset"),
    excuses=(suspect(DUMP_BEFORE_EVENT),),
    expected=lambda: text("a high watermark of at least {log_start_offset}"),
    found=lambda: text("high watermark {checkpoint_high_watermark}"),
    message=lambda: text(
        "The checkpoint has high watermark {checkpoint_high_watermark}, below the log start offset "
        "{log_start_offset}."
    ),
)
