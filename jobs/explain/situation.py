"""One partition and the transaction that holds its last stable offset, as plain rows.

Rows are dicts with the columns of the table they come from (docs/tables.md). `explain` reads
them; what follows from them is decided here.
"""

from dataclasses import dataclass
from typing import Any

from jobs.model import ending
from jobs.model.ending import (
    FENCED_DATA,
    LOST_ITS_MARKER,
    NEVER_LISTED,
    OWES_A_MARKER,
    UNENDED,
)
from jobs.model.found import ALL_ABORTED
from schemas.coordinator_states import TWO_PHASE_COMMIT_TIMEOUT
from schemas.verdicts import VIOLATION
from udfs.rules.ending import DECIDED

Row = dict[str, Any]

# Causes of a blocked last stable offset, from the surest to the least sure.
NOTHING = "nothing blocks consumers"
HIGH_WATERMARK = "the high watermark is below the log end offset; no transaction blocks"
MARKER_NOT_REPLICATED = "the transaction is decided, but its marker is above the high watermark"
UNMARKED = "the transaction was completed, but this partition has no marker of it"
HANGING = "the transaction hangs: no coordinator will write a marker for it"
CLEANED = "the cleaner has passed the transaction, and its marker is lost"
FOREIGN_DATA = "data that no transaction of this partition owns"
LATE_WRITE = "a late write that belongs to no transaction"
MAY_HANG = "the transaction may hang"
TWO_PHASE_COMMIT = "a transaction of two-phase commit"
PREPARE_PENDING = "the transaction is decided, and its marker is pending"
JOINED = "data that their own marker did not end, and a running transaction that has joined them"
OVERDUE = "the transaction is overdue"
OPEN = "the transaction is open, and its coordinator lists it"
UNKNOWN_OWNER = "the transaction is open, and the dump has no coordinator record of it"
NOT_LISTED = "the transaction is open, and its coordinator does not list this partition"

# A coordinator that runs has aborted what timed out so long ago, clocks included.
LOOKS_WITHIN_MS = 60_000
MISSING_MARKER = "missing_marker_in_listed_partition"


@dataclass(frozen=True)
class Situation:
    """`state`: row of partition_state. `replicas`: those of the other brokers' copies.

    `of_several_topics`: copies have different topic ids, so one may be of a deleted topic; false
    where the copy was chosen.
    `holder`: row of txn that holds the last stable offset, None where none does; see `remembered`.
    `owner`: row of coordinator_txn of its producer id, None where there is none. `behind`: further
    open transactions of the partition, the first few. `waiting`: (transactions, records) in the
    table txn that begin at or after the last stable offset, and how many end there that began
    before.
    `here`, `elsewhere`: findings in the copy, and others about the holder's producer id in other
    partitions; the first ones, `here_in_all` and `elsewhere_in_all` how many there are.
    `also_elsewhere`: how many findings of the copy about that producer id have places there, too.
    `in_other_copies`: (broker, findings, proven, has_state) of the copies that have findings which
    this one has not; `has_state`: `--broker` can name the copy. `knows_topic_ids`: the
    brokers store topic ids, so they are 2.8 or newer. `dumped`: whether the dump has a coordinator
    log. `as_of_ms`: the moment that ages refer to. `blocking`: rows of
    the table consequence about open transactions of this copy that nothing will end.
    """

    audit_id: str
    as_of_ms: int | None
    state: Row
    replicas: tuple[Row, ...] = ()
    of_several_topics: bool = False
    holder: Row | None = None
    owner: Row | None = None
    behind: tuple[Row, ...] = ()
    waiting: tuple[int, int, int] = (0, 0, 0)
    here: tuple[Row, ...] = ()
    here_in_all: int = 0
    elsewhere: tuple[Row, ...] = ()
    elsewhere_in_all: int = 0
    also_elsewhere: int = 0
    in_other_copies: tuple[Row, ...] = ()
    knows_topic_ids: bool = False
    dumped: bool = True
    blocking: tuple[Row, ...] = ()

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

    def findings(self, *codes: str) -> list[Row]:
        """The findings of these codes about the holder, proven ones first."""
        about = [
            row
            for row in self.here
            if row["code"] in codes
            and self.holder is not None
            and row["producer_id"] == self.holder["producer_id"]
            and (row["offset_last"] or 0) >= self.holder["first_offset"]
        ]
        return sorted(about, key=lambda row: row["verdict"] != VIOLATION)

    def proven(self, *codes: str) -> list[Row]:
        """Those that are violations."""
        return [row for row in self.findings(*codes) if row["verdict"] == VIOLATION]

    @property
    def others(self) -> list[Row]:
        """Of `blocking` those that are about other transactions than the holder."""
        held_by = self.state["lso_producer_id"]
        return [row for row in self.blocking if row["producer_id"] != held_by]

    @property
    def past_timeout_ms(self) -> int | None:
        """How long before the audit's moment the timeout was over, ms; None: not, or just now.

        A coordinator looks every ten seconds (`TransactionStateManagerConfig`).
        """
        owner = self.owner or {}
        started, timeout = owner.get("start_ms"), owner.get("timeout_ms")
        if self.as_of_ms is None or started is None or started < 0 or timeout is None:
            return None
        late: int = self.as_of_ms - started - timeout
        return late if late > LOOKS_WITHIN_MS else None

    @property
    def two_phase_commit(self) -> bool:
        """Whether the last record of the coordinator is of two-phase commit."""
        return self.owner is not None and self.owner["timeout_ms"] == TWO_PHASE_COMMIT_TIMEOUT

    @property
    def covered(self) -> bool:
        """Whether the coordinator's last record is of a transaction that lists the partition."""
        return ending.covers(self.owner, self.name)

    @property
    def ended_by(self) -> int:
        """What ends the holder: a number of `udfs.rules.ending`."""
        aborted = any(ALL_ABORTED in (row.get("found") or "") for row in self.proven(*UNENDED))
        return ending.ending_of(self.owner, self.name, aborted)

    @property
    def start(self) -> int:
        """The first offset of the holder, as the broker remembers it."""
        remembered = self.state.get("lso_first_offset")
        return int((self.holder or {})["first_offset"] if remembered is None else remembered)


def remembered(state: Row) -> Row | None:
    """A row of txn of the holder by its partition alone; None where nothing holds it.

    Of a transaction that has no batch at or above the log start a broker remembers what its newest
    producer snapshot has (`udfs.rules.memory`); the table txn does not have it. Null is what only
    its batches tell.
    """
    if state["lso_producer_id"] is None:
        return None
    first = state.get("lso_first_offset")
    return {
        "producer_id": state["lso_producer_id"],
        "producer_epoch": state["lso_producer_epoch"],
        "first_offset": state["last_stable_offset"] if first is None else first,
        "last_offset": None,
        "outcome": "open",
        "marker_offset": None,
        "records": None,
        "batches": None,
        "head_known": False,
    }


def what_holds(given: Situation) -> str:
    """What holds the last stable offset: one of the constants above."""
    state, holder, owner = given.state, given.holder, given.owner
    if holder is None:
        behind = state["last_stable_offset"] < state["log_end_offset"]
        return HIGH_WATERMARK if behind else NOTHING
    if holder["marker_offset"] is not None:
        return MARKER_NOT_REPLICATED
    if given.covered:
        return _of_listed(given)
    for holds, codes in (
        (UNMARKED, OWES_A_MARKER),
        (HANGING, ("hanging_transaction",)),
        (LATE_WRITE, ("late_write_after_marker",)),
        (CLEANED, LOST_ITS_MARKER),
        (FOREIGN_DATA, NEVER_LISTED),
    ):
        if given.proven(*codes):
            return holds
    if any(row["offset_first"] <= given.start for row in given.proven(*FENCED_DATA)):
        return FOREIGN_DATA
    if given.two_phase_commit:
        return TWO_PHASE_COMMIT
    if given.findings(*UNENDED):
        return MAY_HANG
    return UNKNOWN_OWNER if owner is None else NOT_LISTED


def _of_listed(given: Situation) -> str:
    """As `what_holds`, where the coordinator's last record runs a transaction in the partition."""
    if given.ended_by == DECIDED:
        return PREPARE_PENDING
    if given.proven(*UNENDED):
        return JOINED
    if given.two_phase_commit:
        return TWO_PHASE_COMMIT
    if given.findings(*UNENDED):
        return MAY_HANG
    return OVERDUE if given.findings("open_transaction_overdue") else OPEN
