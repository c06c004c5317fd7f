"""The log start offset is above the log end offset.

What it finds: an entry of log-start-offset-checkpoint above the log end offset.

Why it is wrong: records that the checkpoint implies are not in the copy (LogLoader).

When it is legal: the checkpoint was copied after the log.

Evidence: no bytes of the log; the message has the checkpoint entry and the log end offset.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, text
from jobs.verify.verdict import DUMP_BEFORE_EVENT, suspect

CHECK = Check(
    code="log_start_beyond_end",
    severity=WARNING,
    context="partition",
    source="LogLoader.load",
    fires=lambda: F.col("checkpoint_log_start") > F.col("log_end_seen"),
    excuses=(suspect(DUMP_BEFORE_EVENT),),
    expected=lambda: text("a log start offset of at most {log_end_seen}"),
    found=lambda: text("log start offset {checkpoint_log_start}"),
    message=lambda: text(
        "The checkpoint has log start offset {checkpoint_log_start}. The log ends at offset "
        "{log_end_seen}."
    ),
)
