"""What a person on call should do, by what holds the last stable offset."""

import shlex
from collections.abc import Callable

from jobs.explain.situation import (
    CLEANED,
    FOREIGN_DATA,
    HANGING,
    HIGH_WATERMARK,
    JOINED,
    LATE_WRITE,
    MARKER_NOT_REPLICATED,
    MAY_HANG,
    MISSING_MARKER,
    NOT_LISTED,
    NOTHING,
    OPEN,
    OVERDUE,
    PREPARE_PENDING,
    TWO_PHASE_COMMIT,
    UNKNOWN_OWNER,
    UNMARKED,
    Row,
    Situation,
)
from jobs.explain.words import duration, printable
from jobs.model import commands
from jobs.model.commands import FOR_OLDER
from jobs.model.ending import (
    DO_NOT_DECIDED,
    DO_NOT_RUNNING,
    FOREIGN,
    FOREIGN_DECIDED,
    NAMES,
    OFFSETS_ABORTED,
    OFFSETS_FIRST,
    OFFSETS_SET,
    OWES_A_MARKER,
    SAVE_FIRST,
    STILL_OPEN,
    UNENDED,
)
from schemas.topics import OFFSETS_TOPIC
from udfs.rules.coordinator_step import EXHAUSTED_EPOCH
from udfs.rules.ending import DECIDED, RUNNING, SAVE_AND_ABORT

OUTSIDE = (
    "Its outcome is decided outside Kafka, and it never times out. Ask the owner of this id for "
    "the outcome; do not abort it yourself."
)
# `prepareTransitionTo` refuses the epoch that both raises come to (KAFKA-19367).
USED_UP = (
    "But a coordinator of Kafka 4.0.0 can never abort it: its epoch is used up (KAFKA-19367). Only "
    "its producer can still end it, if nothing has tried to fence it. Upgrade the brokers to 4.0.1 "
    "or later; the coordinator then aborts it when it has loaded its log."
)


def abort_commands(given: Situation) -> list[str]:
    """The command that aborts the holder, for the versions that the brokers may have."""
    holder = given.holder or {}
    known = given.state.get("lso_coordinator_epoch")
    coordinator_epoch = None
    if not _surely_newer(given):
        coordinator_epoch = int(commands.given_coordinator_epoch(-1 if known is None else known))
    return _abort_commands(
        given,
        {
            "first_offset": given.start,
            "producer_id": holder["producer_id"],
            "producer_epoch": holder["producer_epoch"],
            "coordinator_epoch": coordinator_epoch,
        },
    )


def _abort_commands(given: Situation, values: Row) -> list[str]:
    """The abort by start, and, where the coordinator epoch is given, that for older brokers."""
    newer = _command(given, commands.ABORT_BY_START, **values)
    if values["coordinator_epoch"] is None:
        return [newer]
    older = _command(given, commands.ABORT_BY_PRODUCER, **values)
    of_newer = ["On brokers of 2.8 and newer:", newer]
    of_older = [f"{FOR_OLDER[0].upper()}{FOR_OLDER[1:]}:", older]
    return of_newer + of_older if given.knows_topic_ids else of_older + of_newer


def _surely_newer(given: Situation) -> bool:
    version = None if given.owner is None else given.owner["client_transaction_version"]
    return version is not None and bool(commands.takes_a_start(version))


def _command(given: Situation, template: str, **values: object) -> str:
    """A command about the partition, on a line of its own."""
    topic, partition = shlex.quote(given.state["topic"]), given.state["partition"]
    return "  " + template.format(topic=topic, partition=partition, **values)


def _ask_the_brokers(given: Situation) -> list[str]:
    return [
        _command(given, commands.FIND_HANGING),
        _command(given, commands.DESCRIBE_PRODUCERS),
    ]


def _describe(given: Situation) -> str:
    return _described(
        (given.owner or {}).get("transactional_id") or given.state["lso_transactional_id"]
    )


def _described(identity: str | None) -> str:
    # An id that a terminal would not show as it is cannot be typed into one either.
    shown = "ID" if identity is None or printable(identity) != identity else shlex.quote(identity)
    return f"  {commands.DESCRIBE_TRANSACTION.format(transactional_id=shown)}"


def _log(given: Situation) -> str:
    number = "N" if given.owner is None else given.owner["partition"]
    return f"__transaction_state-{number}"


def _abort(given: Situation) -> list[str]:
    """The abort of what no marker ends; before it, what is to be saved."""
    before, after = _around_abort(given, given.ended_by)
    return [
        *before,
        f"{STILL_OPEN} Then abort it. Its records become invisible to read_committed consumers. "
        "The abort affects this partition only.",
        _command(given, commands.DESCRIBE_PRODUCERS),
        *([] if given.owner is None else [_describe(given)]),
        *abort_commands(given),
        *after,
    ]


def _around_abort(given: Situation, ended_by: int) -> tuple[list[str], list[str]]:
    """What is to be done before an abort, and after it."""
    may_be_committed = ended_by == SAVE_AND_ABORT
    if given.state["topic"] != OFFSETS_TOPIC:
        return ([SAVE_FIRST] if may_be_committed else []), []
    plan = [
        f"./spark-submit.sh explain --out OUT --incident {number} has their names and offsets."
        for number in dict.fromkeys(row["incident"] for row in given.blocking)
    ]
    return [" ".join([OFFSETS_FIRST, *plan])], [
        OFFSETS_SET if may_be_committed else OFFSETS_ABORTED
    ]


def also_blocking(given: Situation) -> list[str]:
    """What to do about other open transactions of the partition that nothing will end."""
    lines = []
    for row in given.others:
        ended_by = NAMES.index(row["ended_by"])
        lines.append(
            f"Producer {row['producer_id']}, epoch {row['producer_epoch']}, has open data from "
            f"offset {row['start_offset']} on, which block, too."
        )
        if ended_by in (DECIDED, RUNNING):
            lines.append(DO_NOT_DECIDED if ended_by == DECIDED else DO_NOT_RUNNING)
            continue
        before, after = _around_abort(given, ended_by)
        values = row | {"first_offset": row["start_offset"]}
        values = {
            name: values[name]
            for name in ("first_offset", "producer_id", "producer_epoch", "coordinator_epoch")
        }
        lines += [
            *before,
            "Check it in the same way, then abort it:",
            *([] if row["transactional_id"] is None else [_described(row["transactional_id"])]),
            *_abort_commands(given, values),
            *after,
        ]
    return lines


def _unmarked(given: Situation) -> list[str]:
    missing = [f"Missing: {printable(row['expected'])}." for row in given.proven(*OWES_A_MARKER)]
    return [
        *dict.fromkeys(missing),
        "The producer's next marker here decides these records, whatever was decided before.",
        *_abort(given),
    ]


def _in_front(given: Situation) -> list[str]:
    """Which records of the holder are not of the transaction that runs now."""
    return [
        f"Not of that transaction: {_offsets(row)}, {row['code']} (expected: "
        f"{printable(row['expected'])})."
        for row in given.proven(*UNENDED)
    ]


def _offsets(row: Row) -> str:
    """Of a decision the data are told; of others the finding has all that lies open."""
    if row["code"] == MISSING_MARKER:
        return f"offsets {row['offset_first']} to {row['offset_last']}"
    return f"data from offset {row['offset_first']} on"


def _joined(given: Situation) -> list[str]:
    foreign = OUTSIDE if given.two_phase_commit else FOREIGN
    return [DO_NOT_RUNNING, *_in_front(given), foreign, _describe(given)]


def _may_hang(given: Situation) -> list[str]:
    found = next(iter(given.findings(*UNENDED)), None)
    reason = "see the findings" if found is None else found["reason"] or found["verdict"]
    return [
        f"This dump does not prove that it hangs ({reason}). Query the brokers, and abort only "
        "transactions that they report as hanging:",
        *_ask_the_brokers(given),
    ]


def _two_phase_commit(given: Situation) -> list[str]:
    return [
        OUTSIDE,
        _describe(given),
    ]


def _prepare_pending(given: Situation) -> list[str]:
    in_front = _in_front(given)
    return [
        DO_NOT_DECIDED,
        *in_front,
        *([FOREIGN_DECIDED] if in_front else []),
        f"If it stays open, check the leader of {_log(given)}, which sends its markers, and the "
        f"leader of {given.name}, which writes them. A new leader of {_log(given)} sends them "
        "again.",
        _describe(given),
    ]


def _used_up(given: Situation) -> list[str]:
    """What is said of a transaction of version 2 in the last epoch of its producer id."""
    owner = given.owner or {}
    of_version_2 = (owner.get("client_transaction_version") or 0) >= 2
    used_up = (owner.get("producer_epoch") or 0) >= EXHAUSTED_EPOCH
    return [USED_UP] if of_version_2 and used_up else []


def _overdue(given: Situation) -> list[str]:
    return [
        "Do not abort it by hand: the coordinator lists it and aborts it as soon as it runs. "
        f"Check whether the leader of {_log(given)} is up and has loaded that partition. A "
        "producer that starts again with this transactional id ends the transaction too.",
        *_used_up(given),
        _describe(given),
    ]


def _open(given: Situation) -> list[str]:
    late = given.past_timeout_ms
    if late is not None:
        return [
            f"Its timeout was over {duration(late)} before the audit's moment, and its coordinator "
            "had not aborted it when its log was copied. It does so as soon as it runs: do not "
            f"abort it by hand. A later copy of {_log(given)} shows whether it did. If it did not, "
            "check whether the leader of that partition is up and has loaded it.",
            *_used_up(given),
            _describe(given),
        ]
    return [
        "Nothing is wrong: its producer is still writing, or its coordinator will abort it after "
        "its timeout. If consumers wait too long, lower transaction.timeout.ms of that producer, "
        "or let it commit more often.",
        *_used_up(given),
        _describe(given),
    ]


def _unknown_owner(given: Situation) -> list[str]:
    advice = (
        "No transactional id in the dump owns this producer id. Query the brokers:"
        if given.dumped
        else "Audit again with __transaction_state of all brokers in the dump, or query the "
        "brokers:"
    )
    return [advice, *_ask_the_brokers(given)]


def _not_listed(given: Situation) -> list[str]:
    unseen = given.holder is not None and given.holder["last_offset"] is None
    reason = (
        "Its batches are gone, so the checks do not see it"
        if unseen
        else "It is too recent to be reported as hanging, or the copies were taken at different "
        "moments"
    )
    return [
        f"{reason}. If it is still open after transaction.max.timeout.ms, abort it if the "
        "brokers report it as hanging:",
        *_ask_the_brokers(given),
    ]


def _replication(given: Situation) -> list[str]:
    return [
        "Offsets above the high watermark are not replicated to all in-sync replicas, or the "
        "checkpoint in this copy is older than its log (brokers write it every five seconds). "
        "Check replication:",
        _command(given, commands.DESCRIBE_TOPIC),
    ]


def _nothing(_given: Situation) -> list[str]:
    return ["Nothing: read_committed consumers can read to the end of this log."]


ADVICE: dict[str, Callable[[Situation], list[str]]] = {
    NOTHING: _nothing,
    HIGH_WATERMARK: _replication,
    MARKER_NOT_REPLICATED: _replication,
    UNMARKED: _unmarked,
    HANGING: _abort,
    LATE_WRITE: _abort,
    CLEANED: _abort,
    FOREIGN_DATA: _abort,
    JOINED: _joined,
    MAY_HANG: _may_hang,
    TWO_PHASE_COMMIT: _two_phase_commit,
    PREPARE_PENDING: _prepare_pending,
    OVERDUE: _overdue,
    OPEN: _open,
    UNKNOWN_OWNER: _unknown_owner,
    NOT_LISTED: _not_listed,
}
