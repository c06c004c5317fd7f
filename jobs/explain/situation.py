"""One partition and the transaction that holds its last stable offset, as plain rows.

Rows are dicts with the columns of the table they come from (docs/tables.md). `explain` reads
them; what follows from them is decided here.
"""

from dataclasses import dataclass
from typing import Any

from jobs.model.state_names import named
from schemas.coordinator_states import (
    IN_TRANSACTION,
    ONGOING,
    STATE_NAMES,
    TWO_PHASE_COMMIT_TIMEOUT,
)

Row = dict[str, Any]

# Causes of a blocked last stable offset, from the surest to the least sure.
NOTHING = "nothing blocks consumers"
HIGH_WATERMARK = "the high watermark is below the log end offset; no transaction blocks"
MARKER_NOT_REPLICATED = "the transaction is decided, but its marker is above the high watermark"
UNMARKED = "the transaction was completed, but this partition has no marker of it"
HANGING = "the transaction hangs"
LATE_WRITE = "a late write that belongs to no transaction"
MAY_HANG = "the transaction may hang"
TWO_PHASE_COMMIT = "a transaction of two-phase commit"
PREPARE_PENDING = "the transaction is decided, and its marker is pending"
OVERDUE = "the transaction is overdue"
OPEN = "the transaction is open, and its coordinator lists it"
UNKNOWN_OWNER = "the transaction is open, and the dump has no coordinator record of it"
NOT_LISTED = "the transaction is open, and its coordinator does not list this partition"

OWES_A_MARKER = ("missing_marker_in_listed_partition", "open_data_of_completed_transaction")


@dataclass(frozen=True)
class Situation:
    """`state`: row of partition_state. `replicas`: those of the other brokers' copies.

    `holder`: row of txn that holds the last stable offset, None where none does. `owner`: row of
    coordinator_txn of its producer id, None where there is none. `behind`: further open
    transactions of the partition, the first few. `waiting`: (transactions, records) in the table
    txn at or after the last stable offset. `here`, `elsewhere`: findings in the partition, and
    about the holder's producer id in others; the first ones, `here_in_all` and `elsewhere_in_all`
    how many there are. `coordinator_epoch`: of the newest marker of the producer id here, None for
    none. `knows_topic_ids`: the brokers store topic ids, so they are 2.8 or newer. `dumped`:
    whether the dump has a coordinator log. `as_of_ms`: the moment that ages refer to.
    """

    audit_id: str
    as_of_ms: int | None
    state: Row
    replicas: tuple[Row, ...] = ()
    holder: Row | None = None
    owner: Row | None = None
    behind: tuple[Row, ...] = ()
    waiting: tuple[int, int] = (0, 0)
    here: tuple[Row, ...] = ()
    here_in_all: int = 0
    elsewhere: tuple[Row, ...] = ()
    elsewhere_in_all: int = 0
    coordinator_epoch: int | None = None
    knows_topic_ids: bool = False
    dumped: bool = True

    @property
    def name(self) -> str:
        """topic-partition."""
        return f"{self.state['topic']}-{self.state['partition']}"

    @property
    def held_ms(self) -> int | None:
        """How long the last stable offset has been held at the audit's moment, ms."""
        since = self.state["lso_since_ms"]
        if since is None or self.as_of_ms is None:
            return None
        return int(self.as_of_ms - since)

    def finding(self, *codes: str) -> Row | None:
        """The finding of one of these codes about the holder, a proven one first."""
        about = [
            row
            for row in self.here
            if row["code"] in codes
            and self.holder is not None
            and row["producer_id"] == self.holder["producer_id"]
            and (row["offset_last"] or 0) >= self.holder["first_offset"]
        ]
        return min(about, key=lambda row: row["verdict"] != "violation", default=None)

    def proven(self, *codes: str) -> bool:
        """Whether such a finding is a violation."""
        found = self.finding(*codes)
        return found is not None and found["verdict"] == "violation"

    @property
    def covered(self) -> bool:
        """Whether the coordinator's last record is of a transaction that lists the partition."""
        owner = self.owner
        running = owner is not None and owner["state"] in named(*IN_TRANSACTION)
        return bool(running and owner and self.name in (owner["partitions"] or ()))


def what_holds(given: Situation) -> str:
    """What holds the last stable offset: one of the constants above."""
    state, holder, owner = given.state, given.holder, given.owner
    if state["lso_producer_id"] is None or holder is None:
        behind = state["last_stable_offset"] < state["log_end_offset"]
        return HIGH_WATERMARK if behind else NOTHING
    if holder["marker_offset"] is not None:
        return MARKER_NOT_REPLICATED
    if given.proven(*OWES_A_MARKER):
        return UNMARKED
    if given.proven("hanging_transaction"):
        return HANGING
    if given.proven("late_write_after_marker"):
        return LATE_WRITE
    if owner is not None and owner["timeout_ms"] == TWO_PHASE_COMMIT_TIMEOUT:
        return TWO_PHASE_COMMIT
    return _of_undecided(given)


def _of_undecided(given: Situation) -> str:
    """As `what_holds`, for an open transaction about which nothing is proven."""
    owner = given.owner
    if given.finding("hanging_transaction", "late_write_after_marker", *OWES_A_MARKER):
        return MAY_HANG
    if owner is None:
        return UNKNOWN_OWNER
    if not given.covered:
        return NOT_LISTED
    if owner["state"] != STATE_NAMES[ONGOING]:
        return PREPARE_PENDING
    return OVERDUE if given.finding("open_transaction_overdue") else OPEN
