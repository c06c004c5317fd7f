"""Table `check_run`: one row is one check in one audit. Clean means looked."""

from schemas.columns import AUDIT_ID, long, string, table

CHECK_RUN = table(
    AUDIT_ID,
    string("code", "check code"),
    string("context", "context that the check reads: see docs/contexts.md"),
    string("status", "ran, skipped or crashed"),
    string("detail", "why it was skipped, or the error; null when it ran"),
    long("rows_examined", "rows of its context"),
    long("violations", "findings of verdict violation"),
    long("suspects", "findings of verdict suspect"),
    long("inconclusive", "findings of verdict inconclusive"),
)
