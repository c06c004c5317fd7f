"""What checks read: the contexts by name, in the order in which a log is judged."""

import re
from types import ModuleType

from schemas.contexts import (
    committed_end,
    coordinator_copies,
    coordinator_step,
    decided_partition,
    frame,
    group_record,
    log_directory,
    offset_commit,
    offset_discontinuity,
    offset_transaction,
    partition,
    producer,
    producer_block,
    replicas,
    run,
    segment,
    side_fault,
    snapshot,
    told,
    told_transaction,
    torn_epoch,
    transaction,
    txn_index_entry,
)

# Name -> module with ROW (what one row is) and COLUMNS (names and types).
CONTEXTS: dict[str, ModuleType] = {
    "frame": frame,
    "offset_discontinuity": offset_discontinuity,
    "segment": segment,
    "partition": partition,
    "txn_index_entry": txn_index_entry,
    "side_fault": side_fault,
    "run": run,
    "producer": producer,
    "producer_block": producer_block,
    "decided_partition": decided_partition,
    "coordinator_step": coordinator_step,
    "coordinator_copies": coordinator_copies,
    "told_transaction": told_transaction,
    "transaction": transaction,
    "torn_epoch": torn_epoch,
    "snapshot": snapshot,
    "told": told,
    "group_record": group_record,
    "offset_commit": offset_commit,
    "offset_transaction": offset_transaction,
    "committed_end": committed_end,
    "log_directory": log_directory,
    "replicas": replicas,
}

_INNERMOST = re.compile("<[^<>]*>")


def columns_of(context: str) -> list[str]:
    """Names of the columns that a context gives its checks."""
    declared, nested = CONTEXTS[context].COLUMNS, 1
    while nested:
        declared, nested = _INNERMOST.subn("", declared)
    return [column.split()[0] for column in declared.split(",")]
