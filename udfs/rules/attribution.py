"""Which data, which marker and which decision of the coordinator belong together.

A decision is a Prepare record of `__transaction_state`; it leads to one marker on every partition
that it lists, and to a Complete record once all of them are written.

Rules, with where they come from:

- A decision took effect if the next record of its id is its Complete record. An append to the
  coordinator's log that times out leaves its record in the log but not in the coordinator's cache
  (`TransactionStateManager.appendTransactionToLog` resets the pending state, 0.11 to 4.3), so the
  next record comes from the older state, and no marker was sent. This may happen any number of
  times. If the record is the last one of its id, the next coordinator loads it and carries it out.
  The older state is that of the running transaction, which the next record then goes on with
  (`udfs.rules.coordinator_step.gave_way`). Where it does not, the Complete record is lost.
- A Complete record is written when every listed partition has acknowledged its marker
  (`TransactionMarkerChannelManager.maybeWriteTxnCompletion`). Markers of one id on one partition
  stand therefore in the order of its decisions, and the marker of a decision lies between its
  Prepare and its Complete record by the clock. A partition that is not known to the coordinator
  counts as deleted and gets none (`addTxnMarkersToBrokerQueue`).
- Under transaction.version 2 the end of a transaction raises the epoch and its marker carries the
  raised one (KIP-890, 4.0): an epoch is one transaction. Before, markers carry the epoch of the
  data, any number of transactions share it, and only a fence raises it
  (`TransactionMetadata.prepareFenceProducerEpoch`). transaction.version may be lowered (KIP-1050):
  a producer then goes on in its epoch by the older rule, so the epoch of a marker of version 2 may
  be that of later transactions, too.
- A partition whose message format is older than 2 (up to 3.x) can hold no marker; the coordinator
  takes its refusal for an answer (`TransactionMarkerRequestCompletionHandler`,
  UNSUPPORTED_FOR_MESSAGE_FORMAT).
- Clients take up a raised transaction.version with the next transaction, in the same epoch: the
  first one under version 2 shares the epoch of its data with those before it
  (`TransactionManager.beginTransaction`, 4.0).
- An operator's abort (KIP-664, 3.0) has the epoch of the open data and no decision. It never
  commits and never raises an epoch.
- A broker answers a marker request that is sent again with another marker. It ends no data, since
  the next transaction begins after the Complete record.
- A marker in the log does not tell that the coordinator had its answer: the broker may have died
  with it. The coordinator then keeps the marker (`addTxnMarkersToBrokerQueue`, of a partition
  without a leader in `markersQueueForUnknownBroker`), and sends it again as soon as there is one
  that it reaches (`TransactionMarkerRequestCompletionHandler.onComplete`, disconnected). Brokers
  differ in whom they reach: only markers of its own show that a coordinator reached a leader. The
  leader of one partition of `__transaction_state` is one coordinator; when it moves, the next one
  sends all that is owed.

What is gone from a partition is gone from its beginning: retention, DeleteRecords, a topic made
again. With transactions that share an epoch it is therefore not known how many of them have gone,
unless something of the partition is older than a decision: then this decision has its marker
there. Something is older if a broker's clock says so, or if it is data of a lower epoch of the same
producer that its coordinator ended. What an operator aborted may have come late, to a topic that
was created again, where no state keeps a lower epoch out. Data that nobody but this or an earlier
decision can own (no later transaction of their epoch lists the partition, or a marker ended them
before the first of those began: `TransactionMetadata.prepareAddPartitions` sets the start, and data
wait for it) may have come late, behind the marker (KIP-890). So they prove it only in a log that
has had no other head since their epoch began there.

What cannot be known: which of two markers with one epoch and outcome a decision led to, when both
came within the tolerance of the clocks. So decisions and markers are counted: the markers that
several decisions in a row may have led to must not be fewer than those decisions (Hall's condition
for intervals in order).
"""

from schemas.coordinator_states import AT_REST, IN_TRANSACTION
from udfs.rules.logic import Values, is_in
from udfs.rules.memory import at_least_later

# status of a Complete record minus that of its Prepare record.
COMPLETES = 2
# Above every leader epoch: a transaction that is not complete may have further coordinators.
ANY_LEADER_EPOCH = 2**31 - 1
# Within this time a marker without an answer is sent again, where there is a leader: ten times
# request.timeout.ms, at which a request is given up.
SENT_AGAIN_MS = 300_000


def took_effect(status: Values, next_status: Values) -> Values:
    """Whether a Prepare record was carried out; null where it is the last of its id."""
    return next_status == status + COMPLETES


def carried_out_unseen(
    next_state: Values, start_ms: Values, next_start_ms: Values, completed: Values, gave_way: Values
) -> Values:
    """Whether a decision was carried out by the next record of its id, its Complete record lost.

    That record is its Complete record (`completed`) or shows that it had no effect (`gave_way`), or
    else it is of a later transaction, or of none. By then each listed partition has a marker: of
    this decision or of one that is lost, too (`TransactionMarkerChannelManager`). Where a text does
    not tell the start, a transaction may be the same one, and go on. A tombstone counts for nothing
    here: its append may have failed late, and it names no transaction.
    """
    told = (start_ms >= -1) & (next_start_ms >= -1)
    later = is_in(next_state, IN_TRANSACTION) & told
    return (is_in(next_state, AT_REST) | later) & ~completed & ~gave_way


def raised(marker_epoch: Values, data_epoch: Values) -> Values:
    """Whether a marker raised the epoch of the data it ended; null for a marker alone."""
    return data_epoch < marker_epoch


def has_epoch_of_data(marker_epoch: Values, data_epoch: Values) -> Values:
    """Whether a marker has the epoch of the data it ended; null for a marker alone."""
    return data_epoch == marker_epoch


def raised_by_one(marker_epoch: Values, data_epoch: Values) -> Values:
    """Whether a marker has the epoch after that of the data: a fence, or transaction.version 2."""
    return marker_epoch == data_epoch + 1


def may_end(marker_epoch: Values, data_epoch: Values) -> Values:
    """Whether a marker can be that of the data, by their epochs; null for a marker alone."""
    return has_epoch_of_data(marker_epoch, data_epoch) | raised_by_one(marker_epoch, data_epoch)


def is_recorded(marker_epoch: Values, known_above: Values) -> Values:
    """Whether the coordinator's log lacks no decision of an epoch in front of what is there of it.

    `known_above`: every record of the producer id in a higher epoch is there.
    """
    return marker_epoch > known_above


def is_copied_later(marker_epoch: Values, newest_epoch: Values, covered: Values) -> Values:
    """Whether the copy of the coordinator's log is later than the decision behind a marker.

    `newest_epoch`: the highest one of the producer id there; `covered`: by the clock it is.
    """
    return (newest_epoch > marker_epoch) | covered


def is_decision_known(
    marker_epoch: Values, known_above: Values, newest_epoch: Values, covered: Values
) -> Values:
    """Whether the coordinator's log holds the decision behind a marker, if there was one."""
    recorded = is_recorded(marker_epoch, known_above)
    return recorded & is_copied_later(marker_epoch, newest_epoch, covered)


def has_leader_epoch(leader_epoch: Values) -> Values:
    """Whether a batch tells its leader epoch: messages of format 0 and 1 have none (-1)."""
    return leader_epoch >= 0


def was_loaded(leader_epoch: Values, later_epoch: Values) -> Values:
    """Whether a coordinator loaded a record: its partition went on under a later leader epoch.

    Each leader epoch begins with loading the log
    (`TransactionStateManager.loadTransactionsForTxnTopicPartition`). A decision that is the last
    record of its id is carried out then, whether its append had failed or not. -1: no epoch.
    """
    return has_leader_epoch(leader_epoch) & (later_epoch > leader_epoch)


def would_be_sent_again(from_ms: Values, to_ms: Values) -> Values:
    """Whether a marker without an answer would have been sent again between two moments.

    At both the coordinator runs, or reaches the leader of the partition. In ms of brokers' clocks.
    """
    return at_least_later(from_ms, to_ms, SENT_AGAIN_MS + 1)


def marked_in_order(
    prepare_ms: Values, marker_ms: Values, leader_epoch: Values, lowest_epoch: Values,
    highest_epoch: Values, latest_leader_epoch: Values,
) -> Values:  # fmt: skip
    """Whether markers may be of a decision by time and by coordinators.

    None has a moment before the Prepare record (`leader_epoch`), or a coordinator epoch that is not
    between the leader epochs of that record and of the Complete record (`latest_leader_epoch`).
    """
    coordinators = (lowest_epoch >= leader_epoch) & (highest_epoch <= latest_leader_epoch)
    return coordinators & (marker_ms >= prepare_ms)


def may_be_operators(commit: Values, raised_epoch: Values) -> Values:
    """Whether an operator may have written a marker, and no coordinator."""
    return ~commit & ~raised_epoch


def contradicts(of_its_epoch: Values, other_outcome: Values, raised_epoch: Values) -> Values:
    """Whether a marker says the opposite of a Complete record of its producer id.

    `of_its_epoch`: it has the epoch of that record, which is of transaction.version 2. A marker
    that raised no epoch may be an operator's, or of another version. If that was lowered after the
    record, in the same epoch, a marker of it may also raise the epoch of data that hung before.
    """
    return of_its_epoch & other_outcome & raised_epoch


def one_transaction_an_epoch(shared: Values) -> Values:
    """Whether an epoch is that of a single transaction; `shared`: 1 where others may have it."""
    return shared == 0


def is_unended(last_offset: Values, ended_last: Values) -> Values:
    """Whether data of an epoch are left for a marker that raises it.

    `last_offset`: of all data of the epoch; `ended_last`: of those that a marker of the same epoch
    ended, -1 for none. Such data are of an earlier transaction: transaction.version was raised to 2
    since, in the same epoch (`TransactionManager.beginTransaction`), or a broker aborted as version
    2 what an older client began. Or an operator ended them, and the marker of the decision nothing.
    """
    return last_offset > ended_last


def surely_before(earlier_ms: Values, later_ms: Values, tolerance_ms: Values) -> Values:
    """Whether one moment lies before another, whichever brokers' clocks told them."""
    return earlier_ms < later_ms - tolerance_ms


def epoch_given_again(marker_ms: Values, start_ms: Values, tolerance_ms: Values) -> Values:
    """Whether a marker is from before any transaction began that the log has of its epoch.

    `start_ms`: of the first one (`txnStartTimestamp`), -1 for none. Its own decision is lost, as
    where an older copy of the coordinator's log was put back: the coordinator went on from there,
    and gave the epochs behind it a second time (`TransactionMetadata.prepareTransition`).
    """
    return surely_before(marker_ms, start_ms, tolerance_ms)


def ended_before(complete_offset: Values, prepare_offset: Values) -> Values:
    """Whether a transaction has its markers everywhere before another one has any.

    `complete_offset`: of its Complete record; `prepare_offset`: of the other's Prepare record, in
    the same partition of the coordinator's log. Complete is written when the markers are, and
    markers are sent when Prepare is written (`TransactionMarkerChannelManager`): where both write
    to a partition, the offsets of their markers have the order of these records.
    """
    return complete_offset < prepare_offset


def marked_before(
    marker_ms: Values, moment_ms: Values, apart_ms: Values, of_coordinator: Values, ended: Values
) -> Values:
    """Whether a marker is in its partition from before a moment of the coordinator's log.

    `moment_ms`: of the Complete record of its own decision, or of the Prepare record of a later
    one; `apart_ms`: how far the two clocks may be apart. Either it is earlier for sure, whoever
    wrote it. Or the order of decisions tells: no operator has written it (`of_coordinator`), who
    may come at any time, and it `ended` data, which no marker does that is sent again. So the
    Complete record waited for it (`TransactionMarkerChannelManager.maybeWriteTxnCompletion`). One
    that is later for sure is of neither kind.
    """
    in_order = of_coordinator & ended & (marker_ms <= moment_ms + apart_ms)
    return surely_before(marker_ms, moment_ms, apart_ms) | in_order


def has_had_no_other_head(
    first_base: Values, coordinator_topic: Values, first_sequence: Values
) -> Values:
    """Whether a log has held all of its partition from offset 0 on since an epoch began in it.

    `first_base`: base offset of its first segment; `first_sequence`: of the first data of the epoch
    that are there. Sequences begin at 0 with each epoch of a producer in a partition
    (`ProducerAppendInfo.checkSequence`), and a topic that was created again begins without those
    that its first one had. Internal topics have none; where they are created again, with all that
    coordinators knew of transactions, is not asked.
    """
    return (first_base == 0) & (coordinator_topic | (first_sequence == 0))


def clock_went_on(prepare_ms: Values, complete_ms: Values) -> Values:
    """Whether the clock was not set back between the Prepare record and its Complete record.

    Else the moment of the marker is not known to lie between the two.
    """
    return prepare_ms <= complete_ms


def format_may_refuse(
    last_legacy_offset: Values, older_offset: Values, transaction_version_2: Values
) -> Values:
    """Whether messages of magic 0 or 1 lie after what is older than the decision.

    Then the message format of the topic was lowered, and a transaction found it so perhaps. Its
    data were refused as its marker was. Null where there are no such messages. Not if all decisions
    are of transaction.version 2: that is of 4.0 (`TransactionVersion.TV_2`), and from 3.0 on, where
    KRaft begins, no topic has an older format (`LogConfig.shouldIgnoreMessageFormatVersion`,
    KIP-724).
    """
    return (last_legacy_offset > older_offset) & ~transaction_version_2


def owns_what_is_there(newest_prepare: Values, newest_owner: Values, running: Values) -> Values:
    """Whether a decision is the last one that data of its epoch can belong to.

    `newest_prepare`: offset of its Prepare record; `newest_owner`: the highest one of all Prepare
    records about data of that epoch that list the partition, those without effect included;
    `running`: a further transaction of the epoch may have written there.
    """
    return (newest_prepare >= newest_owner) & ~running


def room_before(markers_before: Values, number: Values) -> Values:
    """What `lacks_marker` compares: markers too early for a decision, less the decisions before it.

    `markers_before`: markers of its outcome before the earliest moment of its own; `number`: of the
    decision among those that must have a marker, from 1.
    """
    return markers_before - (number - 1)


def lacks_marker(markers_until: Values, number: Values, most_room: Values) -> Values:
    """Whether the decisions up to this one cannot all have a marker of their own.

    `markers_until`: markers of its outcome up to the latest moment of its own; `most_room`: highest
    `room_before` of the decisions up to and with it. From the decision with that room on there are
    more decisions than markers at moments that fit them.
    """
    return markers_until - number < most_room


def ended_too_many(ended: Values, decided: Values) -> Values:
    """Whether markers of an outcome ended more transactions of an epoch than were decided so.

    No marker that is sent again ends data. A COMMIT too many is a delayed marker of an earlier
    transaction (KIP-890), or one that nobody decided; an ABORT may be an operator's, too.
    """
    return ended > decided


def cannot_be_delayed(commits_before: Values) -> Values:
    """Whether a COMMIT marker is no delayed one: none of its epoch was decided before it.

    `commits_before`: those decided up to the tolerance of the clocks after it.
    """
    return commits_before == 0
