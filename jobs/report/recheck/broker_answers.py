"""Claims about what brokers answered while their logs were fetched."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from jobs.report.recheck.cases import Case, data_proofs
from jobs.report.recheck.copies import Copy
from jobs.report.recheck.dump import folders_of
from jobs.report.recheck.results import HoldsError
from jobs.report.recheck.snapshots import replayed

ANSWERS = "broker-answers.json"
STATE_NAMES = (
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort",
)  # fmt: skip


@cache
def answers_in(log_directory: Path) -> list[dict[str, Any]]:
    """What brokers answered before and after the logs of a folder were fetched."""
    path = log_directory / ANSWERS
    return list(json.loads(path.read_text("utf-8"))["answers"]) if path.is_file() else []


def told_copy(case: Case) -> Copy:
    """The copy of the partition that was fetched."""
    proofs = data_proofs(case)
    if proofs:
        return case.copy(proofs[0])
    return case.dump.copy(case.dump.folder(case.place, case.finding.get("broker")))


def told_of(case: Case, copy: Copy, request: str, isolation: int = 0) -> list[dict[str, Any]]:
    """The answers about a partition, one a moment; raises HoldsError where there are not both."""
    case.dump.beside(ANSWERS)
    found = [
        (str(one.get("moment")), there)
        for one in answers_in(copy.folder.parent)
        if one.get("request") == request and one.get("isolation", 0) == isolation
        for topic in one["answer"].get("topics", ())
        for there in topic["partitions"]
        if (topic["name"], there["partition_index"]) == case.place and not there["error_code"]
    ]
    if {moment for moment, _ in found} != {"before", "after"}:
        raise HoldsError(f"{ANSWERS} has not both answers to {request}")
    return [there for _, there in found]


def told_producers(case: Case, copy: Copy) -> list[dict[str, Any] | None]:
    """What each answer says of the producer, None for nothing."""
    producer = case.finding.get("producer_id")
    return [
        next((one for one in told["active_producers"] if one["producer_id"] == producer), None)
        for told in told_of(case, copy, "DescribeProducers")
    ]


def other_memory(case: Case) -> bool | None:
    """A leader knew another epoch or sequence of a producer than its log has, both times."""
    copy = told_copy(case)
    heads = copy.of(int(case.finding.get("producer_id") or 0))
    epoch, sequence, *_ = replayed(heads)
    told = told_producers(case, copy)
    if not heads or None in told:
        raise HoldsError("the log or an answer has nothing of the producer")
    return all(one and (one["producer_epoch"], one["last_sequence"]) != (epoch, sequence)
               for one in told)  # fmt: skip


def other_open(case: Case) -> bool | None:
    """A leader had another transaction of a producer open than its log has, both times."""
    copy = told_copy(case)
    heads = copy.of(int(case.finding.get("producer_id") or 0))
    *_, begun = replayed(heads)
    copy.require_complete(heads[0].batch.base if heads else copy.begin)
    told = [one["current_txn_start_offset"] if one else -1 for one in told_producers(case, copy)]
    return all(one != begun for one in told)


def other_stable(case: Case) -> bool | None:
    """A last stable offset, told both times, that waits for nothing, or passes what is open.

    A leader that passes an open transaction may tell another one each time, as its log goes on.
    """
    copy = told_copy(case)
    told = {one["offset"] for one in told_of(case, copy, "ListOffsets", isolation=1)}
    copy.require_complete(copy.begin)
    begun = {replayed(copy.of(one))[-1] for one in copy.by_producer if one >= 0} - {-1}
    holds = min(begun, default=copy.end)
    waits = len(told) == 1 and min(told) < holds
    return waits or (bool(begun) and min(told) > holds)


def other_coordinator_state(case: Case) -> bool | None:
    """A coordinator knew another state of an id than its log has, both times."""
    name = str(case.finding.get("transactional_id"))
    newest = case.dump.newest(name)
    case.dump.beside(ANSWERS)
    told = [
        (one["transaction_state"], one["producer_id"])
        for root in case.dump.roots
        for folders in folders_of(root).values()
        for folder in folders
        for answer in answers_in(folder)
        if answer["request"] == "ListTransactions"
        for one in answer["answer"].get("transaction_states", ())
        if one["transactional_id"] == name
    ]
    if newest is None or newest.state is None or newest.state.state >= len(STATE_NAMES) or not told:
        raise HoldsError("the log or the answers have nothing of the transactional id")
    return (STATE_NAMES[newest.state.state], newest.state.producer) not in told
