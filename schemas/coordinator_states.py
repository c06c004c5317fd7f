"""States of a transactional id in `__transaction_state` (`TransactionState`)."""

# Status bytes of state records; NO_STATE stands for a tombstone.
NO_STATE = -1
EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)
# Their names, each at the place of its byte.
STATE_NAMES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
)
PREPARED = (PREPARE_COMMIT, PREPARE_ABORT)
COMPLETED = (COMPLETE_COMMIT, COMPLETE_ABORT)
AT_REST = (EMPTY, *COMPLETED)
IN_TRANSACTION = (ONGOING, *PREPARED)

# Timeout of an id that takes part in two-phase commit (KIP-939) and never times out.
TWO_PHASE_COMMIT_TIMEOUT = 2147483647
