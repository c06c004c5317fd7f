"""All checks, written down by hand, in the order of the families."""

from jobs.verify.check import Check
from jobs.verify.checks.producer.duplicate_batch import CHECK as DUPLICATE_BATCH
from jobs.verify.checks.producer.first_sequence_nonzero import CHECK as FIRST_SEQUENCE_NONZERO
from jobs.verify.checks.producer.mixed_transactional_mode import CHECK as MIXED_TRANSACTIONAL_MODE
from jobs.verify.checks.producer.nontransactional_in_open_txn import (
    CHECK as NONTRANSACTIONAL_IN_OPEN_TXN,
)
from jobs.verify.checks.producer.producer_epoch_out_of_range import (
    CHECK as PRODUCER_EPOCH_OUT_OF_RANGE,
)
from jobs.verify.checks.producer.producer_epoch_regression import CHECK as PRODUCER_EPOCH_REGRESSION
from jobs.verify.checks.producer.producer_timestamp_expired_state import (
    CHECK as PRODUCER_TIMESTAMP_EXPIRED_STATE,
)
from jobs.verify.checks.producer.sequence_gap import CHECK as SEQUENCE_GAP
from jobs.verify.checks.producer.sequence_nonzero_at_new_epoch import (
    CHECK as SEQUENCE_NONZERO_AT_NEW_EPOCH,
)
from jobs.verify.checks.producer.sequence_regression import CHECK as SEQUENCE_REGRESSION
from jobs.verify.checks.producer.zombie_write_after_fence import CHECK as ZOMBIE_WRITE_AFTER_FENCE
from jobs.verify.checks.transaction.aborted_data_below_cleaned_bound import (
    CHECK as ABORTED_DATA_BELOW_CLEANED_BOUND,
)
from jobs.verify.checks.transaction.cleaned_data_without_marker import (
    CHECK as CLEANED_DATA_WITHOUT_MARKER,
)
from jobs.verify.checks.transaction.conflicting_markers import CHECK as CONFLICTING_MARKERS
from jobs.verify.checks.transaction.coordinator_epoch_regression import (
    CHECK as COORDINATOR_EPOCH_REGRESSION,
)
from jobs.verify.checks.transaction.duplicate_marker import CHECK as DUPLICATE_MARKER
from jobs.verify.checks.transaction.epoch_bump_inside_open_txn import (
    CHECK as EPOCH_BUMP_INSIDE_OPEN_TXN,
)
from jobs.verify.checks.transaction.hanging_transaction import CHECK as HANGING_TRANSACTION
from jobs.verify.checks.transaction.lso_stuck import CHECK as LSO_STUCK
from jobs.verify.checks.transaction.marker_epoch_invalid import CHECK as MARKER_EPOCH_INVALID
from jobs.verify.checks.transaction.marker_epoch_regression import CHECK as MARKER_EPOCH_REGRESSION
from jobs.verify.checks.transaction.marker_without_transaction import (
    CHECK as MARKER_WITHOUT_TRANSACTION,
)

CHECKS: tuple[Check, ...] = (
    SEQUENCE_GAP,
    SEQUENCE_REGRESSION,
    DUPLICATE_BATCH,
    SEQUENCE_NONZERO_AT_NEW_EPOCH,
    FIRST_SEQUENCE_NONZERO,
    PRODUCER_EPOCH_REGRESSION,
    ZOMBIE_WRITE_AFTER_FENCE,
    PRODUCER_EPOCH_OUT_OF_RANGE,
    MIXED_TRANSACTIONAL_MODE,
    NONTRANSACTIONAL_IN_OPEN_TXN,
    PRODUCER_TIMESTAMP_EXPIRED_STATE,
    HANGING_TRANSACTION,
    EPOCH_BUMP_INSIDE_OPEN_TXN,
    MARKER_WITHOUT_TRANSACTION,
    DUPLICATE_MARKER,
    CONFLICTING_MARKERS,
    MARKER_EPOCH_REGRESSION,
    MARKER_EPOCH_INVALID,
    COORDINATOR_EPOCH_REGRESSION,
    LSO_STUCK,
    CLEANED_DATA_WITHOUT_MARKER,
    ABORTED_DATA_BELOW_CLEANED_BOUND,
)
