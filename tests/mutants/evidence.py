"""What the bytes of a history can tell: how far copies go, whose marker one is, who owns data.

An operator asks here whether its fault is proven by the bytes, by Kafka's rules alone
(docs/kafka-rules.md, *Attribution*, *Extent*, *Time*); no check is asked. Each answer is the reason
why it is not, or "".
"""

from laws.dump_files import INTERNAL, TopicPartition
from laws.log_batches import Batch

from mutants.scene import CLOCK_TOLERANCE_MS, Decision, Scene, Txn, View
from schemas.coordinator_states import ONGOING

# The longest timeout and the slack of conf/audit.toml.
LONGEST_TRANSACTION_MS = 1_200_000
MADE_SINCE = "the partition may have been made since the first decision of the epoch"
SENT_AGAIN = "it may be another COMMIT of the epoch, sent again"


def _of_a_broker(view: View, batch: Batch) -> bool:
    """Whether a broker stamped it: markers, and all of the internal topics."""
    return batch.control or view.place[0] in INTERNAL


def newest_moment(view: View, but: int = -1) -> int:
    """The newest moment of a broker's clock in a partition, ms; `but`: a batch that goes."""
    told = [
        batch.max_timestamp
        for index, batch in enumerate(view.batches)
        if index != but and _of_a_broker(view, batch)
    ]
    return max(told, default=-1)


def appended_by(view: View, index: int) -> int | None:
    """The first moment of a broker's clock from a batch on: by then it lay there. None: no such."""
    behind = (b.max_timestamp for b in view.batches[index:] if _of_a_broker(view, b))
    return next(behind, None)


def goes_on(view: View, moment: int | None, but: int = -1) -> bool:
    """Whether a copy is surely from after a moment, ms: a replica may have lagged before it."""
    return moment is not None and newest_moment(view, but) > moment + CLOCK_TOLERANCE_MS


def completed_at(one: Decision) -> int:
    """When the coordinator had all answers, ms."""
    at = one.prepare if one.complete is None else one.complete
    return one.view.batches[at.index].max_timestamp


def of_epoch(
    scene: Scene, one: Decision, place: TopicPartition, commit: bool | None = None
) -> list[Decision]:
    """Decisions of a producer id and epoch that list a partition; `commit`: of this outcome."""
    mine = one.prepare.value
    return [
        other
        for other in scene.decisions
        if (other.prepare.value.producer_id, other.prepare.value.producer_epoch)
        == (mine.producer_id, mine.producer_epoch)
        and place in other.listed
        and commit in (None, other.commit)
    ]


def decided_elsewhere(scene: Scene, one: Decision, place: TopicPartition, commit: bool) -> bool:
    """Whether the epoch of a decision was decided so, by one that does not list a partition."""
    mine = one.prepare.value
    return any(
        (other.prepare.value.producer_id, other.prepare.value.producer_epoch)
        == (mine.producer_id, mine.producer_epoch)
        and other.commit == commit
        and place not in other.listed
        for other in scene.decisions
    )


def raises(one: Decision, view: View, txn: Txn) -> bool:
    """Whether a marker ends data of a lower epoch, which no operator's abort does."""
    return (
        bool(txn.data)
        and view.batches[txn.data[-1]].producer_epoch < one.prepare.value.producer_epoch
    )


def _alike(scene: Scene, one: Decision, place: TopicPartition) -> list[Decision]:
    """Decisions of one epoch and outcome that clocks do not tell from each other, in order."""
    run, others = [one], [x for x in of_epoch(scene, one, place, one.commit) if x is not one]

    def meet(first: Decision, second: Decision) -> bool:
        apart = max(
            first.prepare.value.last_update_ms - completed_at(second),
            second.prepare.value.last_update_ms - completed_at(first),
        )
        return apart <= 2 * CLOCK_TOLERANCE_MS

    while near := [x for x in others if any(meet(x, known) for known in run)]:
        run += near
        others = [x for x in others if x not in near]
    return sorted(run, key=lambda x: x.prepare.value.last_update_ms)


def _has_older(view: View, index: int, run: list[Decision]) -> bool:
    """Whether a partition has something from before the first of such decisions.

    A lower epoch of the producer, or a marker of anyone that is older by all clocks.
    """
    first = run[0].prepare.value
    begin = first.last_update_ms - CLOCK_TOLERANCE_MS
    return any(
        (b.producer_id == first.producer_id and b.producer_epoch < first.producer_epoch)
        or (b.control and b.max_timestamp < begin)
        for b in view.batches[:index]
    )


def not_owed(scene: Scene, one: Decision, view: View, txn: Txn) -> str:
    """Why a partition may lack the marker of a decision. Asked while the marker is there.

    Its copy may be older than the marker. Markers of one epoch are counted, and a partition loses
    them from its beginning (retention, made again): so it must have something older than the first
    of those that cannot be told apart, or the data of this decision and nothing later of the epoch.
    """
    assert txn.marker is not None
    run = _alike(scene, one, view.place)
    # What is counted shows behind the last of those that cannot be told apart.
    if not goes_on(view, max(completed_at(each) for each in run), txn.marker):
        return "the copy of the partition may end before the marker"
    later = any(
        other.prepare.index > one.prepare.index for other in of_epoch(scene, one, view.place)
    )
    alone = bool(txn.data) and not later
    if (alone and len(run) == 1) or _has_older(view, txn.marker, run):
        return ""
    return MADE_SINCE


def not_owed_without_data(scene: Scene, one: Decision, view: View) -> str:
    """Why a partition may lack the marker of a decision that wrote nothing to it."""
    if not goes_on(view, completed_at(one)):
        return "the copy of the partition may end before the marker"
    older = _has_older(view, len(view.batches), _alike(scene, one, view.place))
    return "" if older else MADE_SINCE


def may_go_on(one: Decision, at: list[tuple[View, Txn]]) -> str:
    """Why markers that all contradict a decision may be of a later one of their epoch.

    The version was lowered, the partitions were made again, and late data of the epoch before came
    first: nothing in them tells otherwise, so the coordinator's log must be later than they are.
    """
    moments = [view.batches[txn.marker or 0].max_timestamp for view, txn in at]
    later = goes_on(one.view, max(moments, default=None))
    return "" if later else "the coordinator's log may end before a later decision"


def may_be_decided(scene: Scene, one: Decision, view: View, txn: Txn) -> str:
    """Why a COMMIT, in the place of the marker of a decision that does not say so, proves nothing.

    Another COMMIT of the epoch may have been sent again, late (KIP-890), or the coordinator's log
    may end before the decision. Before the first one was decided none can be late.
    """
    assert txn.marker is not None
    at = view.batches[txn.marker].max_timestamp
    if not goes_on(one.view, at):
        return "the coordinator's log may end before its decision"
    others = [
        other
        for other in of_epoch(scene, one, view.place, commit=True)
        if other is not one and other.prepare.value.last_update_ms <= at + CLOCK_TOLERANCE_MS
    ]
    return SENT_AGAIN if others else ""


def may_be_running(scene: Scene, one: Decision, view: View) -> str:
    """Why data of the epoch of a decision, behind its marker, may be of a running transaction."""
    newest = scene.states(one.view)[one.name][-1].value
    mine = one.prepare.value
    same = (newest.producer_id, newest.producer_epoch) == (mine.producer_id, mine.producer_epoch)
    listed = [(topic, n) for topic, numbers in newest.partitions or () for n in numbers]
    if same and newest.status == ONGOING and view.place in listed:
        return "the running transaction of the epoch lists the partition: they may be its data"
    return ""


def may_be_owned(scene: Scene, view: View, index: int) -> str:
    """Why open data of a producer that no id has may still be ended.

    The id may have another producer by now, with the old record compacted away; its transaction has
    ended then before its timeout. Only a log that never lost a record would tell earlier.
    """
    by = appended_by(view, index)
    if not all(goes_on(log, by) for log in scene.coordinators):
        return "the coordinator's log may end before its owner is named"
    assert by is not None
    ended = newest_moment(view) - LONGEST_TRANSACTION_MS > by
    return "" if ended else "no timeout has passed: an owner that got another producer may end it"
