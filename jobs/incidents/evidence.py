"""What the metadata log shows of a cause: who led what is affected, and when nobody did. Pure.

A moment of a decision has the coordinator's clock, one of a leader the controller's.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jobs.incidents.signature import DIVERGED, DIVERGED_ALIKE, LOST, MISSING_MARKER
from jobs.model.moment import moment
from udfs.arrow.survivors import Asked

UNCLEAN, NO_LEADER = "leader_elected_uncleanly", "no_leader"
OF_LEADERS = ("leader_elected", UNCLEAN, NO_LEADER)
CUT, SKIPPED, LATE = "unclean_election", "skipped_markers", "late_write"
# The kinds of which the metadata log may have evidence.
CONCERNED = (CUT, SKIPPED, LATE)
# Findings that tell what an incident is about; others of a place follow from them.
DIFFERS = (DIVERGED, DIVERGED_ALIKE)
CAUSED = (LOST, MISSING_MARKER, *DIFFERS)
# How far around what is affected changes of brokers and leaders are told to belong to it, ms.
AROUND_MS = 600_000
# How long nobody leads a partition of which the log has no further change, ms.
NEAR_MS = 120_000


# From one moment to another, ms.
Span = tuple[int, int]


class Change(NamedTuple):
    """A partition has another leader (`broker`), or none; `event`: one of OF_LEADERS.

    `cut`: the leader may lack what the one before it had.
    """

    at_ms: int
    event: str
    broker: int | None = None
    cut: bool = False


class Found(NamedTuple):
    """A violation at one place.

    `at`: when its transaction was decided or its data began, ms; `completed`: when its decision
    was, None where that is not known; `last`: its last offset, None for none; `committed`: it was
    decided so; `listed`: the topic-partitions of its Prepare record.
    """

    label: str
    at: int | None
    completed: int | None
    last: int | None = None
    committed: bool = False
    listed: Sequence[str] = ()


class Seen(NamedTuple):
    """What the metadata log has of one place of an incident.

    `gone_ms`: when the leader was lost, where the markers of all its violations were skipped;
    `completed_ms`: when the decision of the first was completed. `cut_ms` and `cut_broker`: the
    first cut, where behind each violation there is one; `asked`: what would refute one of them.
    None where not all are so.
    """

    incident: int
    partition_index: int | None
    topic: str
    partition: int
    gone_ms: int | None = None
    completed_ms: int | None = None
    cut_ms: int | None = None
    cut_broker: int | None = None
    asked: Sequence[Asked] = ()


def kind_by(kind: str, proven: bool, seen: Sequence[Seen]) -> str:
    """The signature of an incident, as far as the controller's records contradict the findings.

    A marker that a cut took without any data leaves the traces of one that was skipped, or of
    data that came late; one that was skipped, of a transaction without data there, those of a
    cut. The records of the controller tell them apart, where they show it at each place of the
    incident. `proven`: the findings prove the signature by themselves. `seen`: of each place.
    """
    if proven or kind not in CONCERNED:
        return kind
    if evidence(SKIPPED, seen) is not None:
        return SKIPPED
    return kind if evidence(CUT, seen) is None else CUT


def evidence(kind: str, seen: Sequence[Seen]) -> str | None:
    """A sentence, where the controller's records show what the signature of an incident says.

    At each of its places: the cause of one is not that of another. `seen`: see `kind_by`.
    """
    if not seen:
        return None
    if kind == CUT and all(one.cut_ms is not None for one in seen):
        return _unclean(seen)
    if kind == SKIPPED and all(one.gone_ms is not None for one in seen):
        return _without_leader(seen)
    return None


def _unclean(seen: Sequence[Seen]) -> str:
    first = min(seen, key=lambda one: (one.cut_ms or 0, one.topic, one.partition))
    return (
        f"The metadata log has it: broker {first.cut_broker} became leader of {first.topic}-"
        f"{first.partition} at {moment(first.cut_ms or 0)} without being in sync."
    )


def _without_leader(seen: Sequence[Seen]) -> str:
    first = min(seen, key=lambda one: (one.gone_ms or 0, one.topic, one.partition))
    gone, completed = moment(first.gone_ms or 0), moment(first.completed_ms or 0)
    return (
        f"The metadata log has it: {first.topic}-{first.partition} lost its leader at {gone}, and "
        f"the decision was completed at {completed}, while it had none (by the clocks of the "
        "controller and of the coordinator)."
    )


def seen_at(
    place: tuple[int, int | None, str, int],
    kind: str,
    found: Sequence[Found],
    changes: Mapping[str, Sequence[Change]],
    unled: Mapping[str, Sequence[Span]],
) -> Seen | None:
    """What changes of the leaders of one partition tell of the violations at one place.

    `place`: the first fields of `Seen`; `kind`: of the incident; `changes`: of each
    topic-partition all, in the order of the log; `unled`: see `unled_spans`. Findings that name the
    cause are asked before what lies behind; None where nothing of a cut is there but that.
    """
    asked = [one for one in found if one.label in CAUSED]
    if not asked and kind != CUT:
        asked = list(found)
    if not asked:
        return None
    asked.sort(key=lambda one: -1 if one.last is None else one.last)
    told, name = Seen(*place), f"{place[2]}-{place[3]}"
    gone = [_gone(one, name, unled) for one in asked]
    cuts = [one for one in changes.get(name, ()) if one.cut]
    behind = [_behind(one, cuts) for one in asked]
    if gone[0] is not None and None not in gone:
        # A leader that is alone in sync and cut off from the controllers goes on without knowing
        # that it is fenced (`BrokerLifecycleManager`): another one may have cut its marker off.
        doubtful = any(behind)
        return told if doubtful else told._replace(gone_ms=gone[0], completed_ms=asked[0].completed)
    pairs = [(one, cut) for one, cut in zip(asked, behind, strict=True) if cut is not None]
    if len(pairs) < len(asked):
        return told
    first = pairs[0][1]
    return told._replace(cut_ms=first.at_ms, cut_broker=first.broker, asked=_refuting(pairs))


def _since(found: Found) -> int | None:
    """From when on a cut may have taken what is missing, ms."""
    return found.at if found.completed is None else found.completed


def _behind(found: Found, cuts: Sequence[Change]) -> Change | None:
    """The first cut behind a decision, or behind the data: none takes what is written after it."""
    since = _since(found)
    if since is None:
        return None
    return next((one for one in cuts if since <= one.at_ms <= since + AROUND_MS), None)


def _refuting(pairs: Sequence[tuple[Found, Change]]) -> list[Asked]:
    """What would show that a cut cannot have taken what is missing: it takes all from an offset on.

    What was written before the decision was completed may lie in front of its marker. Where the
    transaction has nothing in the log, all that is newer lay behind it; what only one copy has, the
    cut took for sure. Of violations that the same batches refute there is one.
    """
    every = sorted(
        Asked(0 if one.label == LOST or one.last is None else one.last + 1, _since(one) or 0,
              cut.at_ms)
        for one, cut in pairs
        if one.label not in DIFFERS
    )  # fmt: skip
    earliest: dict[int, int] = {}
    asked = []
    for one in every:
        if one.after_ms < earliest.get(one.before_ms, one.after_ms + 1):
            earliest[one.before_ms] = one.after_ms
            asked.append(one)
    return asked


def unled_spans(changes: Sequence[Change]) -> list[Span]:
    """The times without a leader, ms: from its loss to the next election, as far as is known."""
    spans = []
    since: int | None = None
    for one in changes:
        if one.event == NO_LEADER:
            since = one.at_ms if since is None else since
        elif since is not None:
            spans.append((since, one.at_ms))
            since = None
    if since is not None:
        spans.append((since, since + NEAR_MS))
    return spans


def _gone(found: Found, name: str, unled: Mapping[str, Sequence[Span]]) -> int | None:
    """When the leader was lost, if the marker was skipped, ms. `name`: of the partition.

    It had no leader when the Complete record was written. By itself that tells nothing of its
    marker, as that record waits for the last partition to answer
    (`TransactionMarkerChannelManager.maybeWriteTxnCompletion`). But no marker is sent before the
    Prepare record is written; and where no partition of the transaction had a leader, the last one
    did not answer: it was skipped, as were those that were sent to again because the coordinator
    was loaded since (`TransactionStateManager.loadTransactionsForTxnTopicPartition`). Another of
    several may have answered, and lost its marker with the power; the same repairs it. A committed
    transaction had data: where these are gone, that is another cause.
    """
    named = found.label == MISSING_MARKER or (found.label == LOST and not found.committed)
    if not named or found.completed is None:
        return None
    gone = _since_unled(unled.get(name, ()), found.completed)
    if gone is None or (found.at is not None and gone <= found.at):
        return gone
    others = [_since_unled(unled.get(one, ()), found.completed) for one in found.listed]
    return gone if others and None not in others else None


def _since_unled(unled: Sequence[Span], at: int) -> int | None:
    """When the time without a leader began that a moment is of; None if there was a leader."""
    turn = bisect_right(unled, at, key=lambda span: span[0])
    # A new leader of the very moment may have come behind it.
    return unled[turn - 1][0] if turn and at <= unled[turn - 1][1] else None
