"""The recovery point is above the log end offset.

What it finds: an entry of recovery-point-offset-checkpoint above the log end offset.

Why it is wrong: all records below the recovery point were on disk (UnifiedLog.flush), and a broker
that stops cleanly flushes everything first (LogManager.shutdown). So the end of the log is missing
from this copy. Unlike the high watermark, the recovery point also covers records that no other
replica has.

When it is legal: the checkpoint was copied after the log, or the log was truncated to that of a new
leader after the checkpoint was written. After a clean shutdown no legal explanation remains.

Evidence: no bytes of the log; the message has the checkpoint entry and the log end offset.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.verdict import DUMP_BEFORE_EVENT, MISSING_RANGE, explained, suspect

CHECK = Check(
    code="recovery_point_beyond_log_end",
    severity=ERROR,
    context="partition",
    source="LogManager.shutdown",
    fires=lambda: F.col("checkpoint_recovery_point") > F.col("log_end_seen"),
    excuses=(
        # hw_beyond_log_end reports the same loss.
        explained(
            MISSING_RANGE,
            lambda: F.col("checkpoint_high_watermark") > F.col("log_end_seen"),
        ),
        suspect(DUMP_BEFORE_EVENT, lambda: ~F.col("clean_shutdown")),
    ),
    expected=lambda: text("a recovery point of at most {log_end_seen}"),
    found=lambda: text("recovery point {checkpoint_recovery_point}"),
    message=lambda: text(
        "The checkpoint has recovery point {checkpoint_recovery_point}: all records below it were "
        "flushed to disk. The log ends at offset {log_end_seen}."
    ),
)
