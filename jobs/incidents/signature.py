"""What a signature is: a rule over traits of findings, and what tells two causes apart.

A rule uses `&`, `|` and `~` only, so that it works on one finding and on arrays of all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from jobs.model.commands import ABORT_BY_START, DESCRIBE_PRODUCERS, EXPORT_OPEN, SHOW_OPEN
from jobs.model.ending import (
    DO_NOT_DECIDED,
    DO_NOT_RUNNING,
    FENCED_DATA,
    FOREIGN,
    FOREIGN_DECIDED,
    SAVE_FIRST,
    UNCHANGED,
)

# The consequence that offsets wait behind a last stable offset.
BLOCKED = "records_blocked"
PROVEN, CONSISTENT, UNEXPLAINED = "proven", "consistent", "unexplained"
# Batches at which a consumer stops (`CompletedFetch.maybeEnsureValid`, and what reading on throws).
DAMAGED_BATCH = (
    "batch_crc_mismatch", "batch_length_invalid", "batch_magic_unknown",
    "batch_decompression_failed", "batch_record_malformed", "batch_record_count_mismatch",
)  # fmt: skip
# What makes two incidents of one signature: see `Signature.key`.
ONE, BROKER, PRODUCER, MOMENT = "one", "broker", "producer", "moment"
MISSING_MARKER = "missing_marker_in_listed_partition"
# A finding of that check where neither data nor marker of the transaction are there.
LOST = f"{MISSING_MARKER}/lost"
# A finding of hanging_transaction whose producer the coordinator's log has lost.
HANGING = "hanging_transaction"
FORGOTTEN = f"{HANGING}/forgotten"
# A log that ends below its high watermark; and one whose offsets between no replica has.
ENDS_BELOW = "hw_beyond_log_end"
IN_NONE = f"{ENDS_BELOW}/in_none"
# A marker whose decision the coordinator's log does not have; and one that is proven.
UNDECIDED_MARKER = "marker_without_prepare"
DECISION_LOST = f"{UNDECIDED_MARKER}/proven"
# Data of a higher epoch behind open data, of a producer of transaction.version 2.
BUMPED = "epoch_bump_inside_open_txn"
BUMPED_BY_2 = f"{BUMPED}/version_2"
# A batch of a lower epoch; and one that is in the log before, byte for byte.
FENCED, OF_LOWER_EPOCH = FENCED_DATA
AGAIN = (f"{FENCED}/again", f"{OF_LOWER_EPOCH}/again")
ZOMBIE = (FENCED, OF_LOWER_EPOCH, "marker_epoch_regression")
# A finding with such a label has the code of its check, too.
PARTS = {
    MISSING_MARKER: LOST, HANGING: FORGOTTEN, ENDS_BELOW: IN_NONE, UNDECIDED_MARKER: DECISION_LOST,
    BUMPED: BUMPED_BY_2, FENCED: AGAIN[0], OF_LOWER_EPOCH: AGAIN[1],
}  # fmt: skip
DIVERGED = "replica_divergence"
# A finding of that check where one copy was offline while the cleaner passed the other.
DIVERGED_CLEANED = f"{DIVERGED}/cleaned"
# One where both batches have one leader epoch: no election parted the copies.
DIVERGED_ALIKE = f"{DIVERGED}/alike"
# One where the copies are equal again behind it: what is cut off takes all from an offset on.
DIVERGED_WITHIN = f"{DIVERGED}/within"
# What proves a cause as a code does: a finding about data behind the end of their own transaction.
CAME_LATE = "came_late"
CLEANED_DATA = "cleaned_data_without_marker"
MALFORMED_INDEX = "txnindex_malformed"
OPEN_DATA = "open_data_of_completed_transaction"
# Data of a partition that no record of the coordinator lists; and a marker of it there.
UNLISTED = ("data_in_unlisted_partition", "offset_commit_unlisted")
# What consumers get by the index is not what the markers say; which of the two is wrong is open.
LACKS_ENTRY, EXTRA_ENTRY = "txnindex_missing_entry", "txnindex_extra_entry"
INDEXED_OUTCOME = (LACKS_ENTRY, EXTRA_ENTRY)
UNLISTED_MARKER = "marker_in_unlisted_partition"


class Traits(Protocol):
    """What a rule may ask of a finding; every answer is a NumPy boolean, or an array of them."""

    def one_of(self, *codes: str) -> Any:
        """Whether the finding has one of the codes; those of PARTS are codes, too.

        DIVERGED_CLEANED, DIVERGED_ALIKE and DIVERGED_WITHIN are codes of their own: such a finding
        has not the code DIVERGED.
        """

    def beside(self, *codes: str) -> Any:
        """Whether the topic partition has such a finding in any copy, suspect or proven."""

    def behind(self, *codes: str) -> Any:
        """Whether the topic partition has such a finding in any copy at its last offset or before.

        Suspect or proven.
        """

    def at_marker(self, *codes: str) -> Any:
        """Whether its topic partition has such a finding with the same last offset: of one marker.

        As in `beside`: in any copy, suspect or proven.
        """

    def beside_without(self, code: str, others: tuple[str, ...]) -> Any:
        """Whether the partition has such a finding at a last offset without one of the others."""

    def same_producer(self, chosen: Any) -> Any:
        """Whether its producer id has one of the chosen findings, suspect or proven."""

    def of_producer(self, *codes: str) -> Any:
        """Whether the producer id has such a finding anywhere, suspect or proven."""

    def of_both(self, *codes: str) -> Any:
        """Whether its topic partition has such a finding of its producer, suspect or proven.

        Data have one fate.
        """

    def contains(self, *codes: str) -> Any:
        """Whether such a finding of its producer begins in its own range of the topic partition.

        Suspect or proven.
        """

    def of_moment(self, *codes: str) -> Any:
        """Whether its producer id has such a finding of about the same moment.

        That is within one to two times GAP_MS of `jobs.incidents.causes`; or one of the two has no
        moment. Suspect or proven.
        """


def of_zombie(finding: Traits) -> Any:
    """Whether data that lie open came with an epoch that the producer no longer had there.

    Where a marker is missing, or data came without a transaction, these are what lies open.
    """
    lies_open = finding.one_of(BUMPED, HANGING, OPEN_DATA, "marker_stale")
    otherwise = finding.of_both(MISSING_MARKER, "late_write_after_marker", *UNLISTED)
    fenced = finding.contains(FENCED, OF_LOWER_EPOCH)
    return lies_open & fenced & ~otherwise & ~finding.one_of(FORGOTTEN)


def of_one_end(finding: Traits, *codes: str) -> Any:
    """Whether such a finding may be about the same end of a transaction of its producer.

    That is in the same topic partition, or of about the same moment. A producer lives for weeks:
    what another partition lost long ago says nothing.
    """
    return finding.of_both(*codes) | finding.of_moment(*codes)


class Step(NamedTuple):
    """A step of a repair plan (`schemas.incident.STEP`).

    `command` may name what a Place or a Commit of `jobs.incidents.plan` has, in braces: it is made
    for each place, or each commit of a group, that needs it.
    """

    what: str
    command: str | None = None
    before: str | None = None
    check: str | None = None
    cannot: str | None = None
    reversible: bool = True
    # The consequences that call for it; none: always. Of records_blocked only those that are ended
    # so (`jobs.model.ending.NAMES`); none: all.
    of: tuple[str, ...] = ()
    ended_by: tuple[str, ...] = ()
    # Only for `__consumer_offsets`, or only for other topics; None: for both.
    offsets: bool | None = None
    # Findings of which the incident must have one, or none.
    where: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


# What of `jobs.model.ending.NAMES` an operator's abort ends, and what its own marker will.
ABORTED = ("abort", "save_and_abort")
ENDED_BY_MARKER = ("decided",), ("running",)


def end_steps(what: str, cannot: str) -> tuple[Step, ...]:
    """The steps that end what blocks the readers of a partition: the same for every cause.

    `jobs.model.ending` says which of them a partition needs.
    """
    blocked = (BLOCKED,)
    return (
        Step(
            _sentences(DO_NOT_DECIDED, FOREIGN_DECIDED),
            command=DESCRIBE_PRODUCERS,
            check="the last stable offset of the partition advances with that marker",
            of=blocked,
            ended_by=("decided",),
        ),
        Step(
            _sentences(DO_NOT_RUNNING, FOREIGN),
            command=DESCRIBE_PRODUCERS,
            check="the last stable offset of the partition advances with that marker",
            of=blocked,
            ended_by=("running",),
        ),
        Step(
            _sentences(SAVE_FIRST),
            command=EXPORT_OPEN,
            check=(
                "the table record has them: rows of the partition with the producer id and the "
                "producer epoch that the next step names, from its offset on. Rows of other "
                "producers lie between them"
            ),
            of=blocked,
            ended_by=("save_and_abort",),
        ),
        Step(
            "Check that each transaction is still open, and that no coordinator runs it",
            command=SHOW_OPEN,
            check=UNCHANGED,
            of=blocked,
            ended_by=ABORTED,
        ),
        Step(
            what,
            command=ABORT_BY_START,
            before="the step before this one has shown that the transaction is still open",
            check="the last stable offset of the partition advances",
            cannot=cannot,
            reversible=False,
            of=blocked,
            ended_by=ABORTED,
        ),
    )


def _sentences(*told: str) -> str:
    """As a step has them: the last full stop is the report's."""
    return " ".join(told).removesuffix(".")


@dataclass(frozen=True)
class Signature:
    """A cause. `name` is that of its file, and its manual the docstring of that.

    `explains`: whether a finding belongs to it; of several signatures the first of the catalogue
    takes it. `proven_by`: codes of which one violation proves the cause; with others only it is
    consistent. `key`: what tells two causes of it apart. MOMENT: findings of moments that follow
    each other closely have one, in however many partitions they show; BROKER and PRODUCER: each
    has its own; ONE: a dump has one at most.
    """

    name: str
    title: str
    why: str
    explains: Callable[[Traits], Any]
    proven_by: tuple[str, ...] = ()
    known_bug: str | None = None
    key: str = ONE
    steps: tuple[Step, ...] = ()

    def grade(self, violated: frozenset[str]) -> str:
        """Proven or consistent, by the codes of the violations that it explains."""
        return PROVEN if violated & set(self.proven_by) else CONSISTENT
