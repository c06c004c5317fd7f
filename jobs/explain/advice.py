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
from jobs.explain.words import printable
from jobs.model import commands
from jobs.model.ending import (
    DO_NOT_DECIDED,
    DO_NOT_RUNNING,
    FOREIGN,
    OWES_A_MARKER,
    SAVE_FIRST,
    UNENDED,
)
from udfs.rules.ending import SAVE_AND_ABORT


def abort_commands(given: Situation) -> list[str]:
    """The command that aborts the holder, for the versions that the brokers may have."""
    holder = given.holder or {}
    known = given.state.get("lso_coordinator_epoch")
    coordinator_epoch = -1 if known is None else known
    newer = _command(given, commands.ABORT_BY_START, first_offset=given.start)
    older = _command(
        given,
        commands.ABORT_BY_PRODUCER,
        producer_id=holder["producer_id"],
        producer_epoch=holder["producer_epoch"],
        coordinator_epoch=commands.given_coordinator_epoch(coordinator_epoch),
    )
    if _surely_newer(given):
        return [newer]
    of_newer = ["On brokers of 3.0 and newer:", newer]
    of_older = ["On older brokers:", older]
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
    identity = (given.owner or {}).get("transactional_id") or given.state["lso_transactional_id"]
    # An id that a terminal would not show as it is cannot be typed into one either.
    shown = "ID" if identity is None or printable(identity) != identity else shlex.quote(identity)
    return f"  {commands.TOOL} describe --transactional-id {shown}"


def _log(given: Situation) -> str:
    number = "N" if given.owner is None else given.owner["partition"]
    return f"__transaction_state-{number}"


def _abort(given: Situation) -> list[str]:
    """The abort of what no marker ends; before it, what is to be saved."""
    saved = [SAVE_FIRST] if given.ended_by == SAVE_AND_ABORT else []
    return [
        *saved,
        "Check that the transaction is still open: describe-producers must show it with this start "
        "offset. And describe must show no transaction of its transactional id that is Ongoing or "
        "prepared and includes this partition. Then abort it. Its records become invisible to "
        "read_committed consumers. The abort affects this partition only.",
        _command(given, commands.DESCRIBE_PRODUCERS),
        *([] if given.owner is None else [_describe(given)]),
        *abort_commands(given),
    ]


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
    return [DO_NOT_RUNNING, *_in_front(given), FOREIGN, _describe(given)]


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
        "Its outcome is decided outside Kafka, and it never times out. Ask the owner of this id "
        "for the outcome; do not abort it yourself.",
        _describe(given),
    ]


def _prepare_pending(given: Situation) -> list[str]:
    return [
        DO_NOT_DECIDED,
        *_in_front(given),
        f"If it stays open, check the leader of {_log(given)}, which sends its markers, and the "
        f"leader of {given.name}, which writes them. A new leader of {_log(given)} sends them "
        "again.",
        _describe(given),
    ]


def _overdue(given: Situation) -> list[str]:
    return [
        "Do not abort it by hand: the coordinator lists it and aborts it as soon as it runs. "
        f"Check whether the leader of {_log(given)} is up and has loaded that partition. A "
        "producer that starts again with this transactional id ends the transaction too.",
        _describe(given),
    ]


def _open(given: Situation) -> list[str]:
    return [
        "Nothing is wrong: its producer is still writing, or its coordinator will abort it after "
        "its timeout. If consumers wait too long, lower transaction.timeout.ms of that producer, "
        "or let it commit more often.",
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
    return [
        "It is too recent to be reported as hanging, or the copies were taken at different "
        "moments. If it is still open after transaction.max.timeout.ms, abort it if the brokers "
        "report it as hanging:",
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
