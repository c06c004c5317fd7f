"""All checks, written down by hand, in the order of the families."""

from jobs.verify.check import Check
from jobs.verify.checks.producer.sequence_gap import CHECK as SEQUENCE_GAP
from jobs.verify.checks.transaction.hanging_transaction import CHECK as HANGING_TRANSACTION

CHECKS: tuple[Check, ...] = (
    SEQUENCE_GAP,
    HANGING_TRANSACTION,
)
