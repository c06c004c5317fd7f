"""All Delta tables of an audit, in the order in which the data meets them; `audit` is last."""

from pyspark.sql.types import StructType

from schemas.aborted_txn import ABORTED_TXN
from schemas.audit import AUDIT
from schemas.check_run import CHECK_RUN
from schemas.coordinator_txn import COORDINATOR_TXN
from schemas.decode_failure import DECODE_FAILURE
from schemas.dump_file import DUMP_FILE
from schemas.expectation_result import EXPECTATION_RESULT
from schemas.incident import (
    AFFECTED,
    AFFECTED_GROUP,
    CONSEQUENCE,
    INCIDENT,
    INCIDENT_EVENT,
    INCIDENT_FINDING,
)
from schemas.partition_state import PARTITION_STATE
from schemas.txn import TXN
from schemas.violation import VIOLATION

TABLES: dict[str, StructType] = {
    "dump_file": DUMP_FILE,
    "decode_failure": DECODE_FAILURE,
    "txn": TXN,
    "aborted_txn": ABORTED_TXN,
    "coordinator_txn": COORDINATOR_TXN,
    "partition_state": PARTITION_STATE,
    "violation": VIOLATION,
    "check_run": CHECK_RUN,
    "incident": INCIDENT,
    "incident_finding": INCIDENT_FINDING,
    "consequence": CONSEQUENCE,
    "affected": AFFECTED,
    "affected_group": AFFECTED_GROUP,
    "incident_event": INCIDENT_EVENT,
    "expectation_result": EXPECTATION_RESULT,
    "audit": AUDIT,
}
# Written by an audit with a violation only; elsewhere they are as if empty.
OF_INCIDENTS = (
    "incident", "incident_finding", "consequence", "affected", "affected_group", "incident_event",
)  # fmt: skip
