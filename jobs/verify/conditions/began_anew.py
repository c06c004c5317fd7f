"""Conditions: what began anew, as the head of its log went."""

from collections.abc import Callable
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.conditions.forgotten import (
    below_the_start,
    forgotten_behind_a_marker,
    forgotten_in_place,
    log_start_unknown,
    state_may_have_expired,
)
from jobs.verify.verdict import (
    DUMP_BEFORE_EVENT,
    VERSION_DEPENDENT,
    Excuse,
    explained,
    inconclusive,
    suspect,
)
from udfs.rules.logic import surely


def is_marker_again() -> Column:
    """Whether the row is a marker, and nothing of its producer lies behind another of its epoch."""
    same_epoch: Column = F.col("previous_marker.epoch") == F.col("marker_epoch")
    return (F.col("all_batches") == 0) & same_epoch


def marker_of_what_began_anew() -> tuple[Excuse, ...]:
    """A marker that ends such data, as in `began_anew_where_the_start_is_unknown`.

    What was forgotten of the producer was forgotten as a whole, the marker before with it.
    """

    def anew() -> Column:
        begins = ~F.col("coordinator_topic") & (F.col("first_sequence") == 0)
        return begins & ~F.col("created_once")

    return _where_the_start_is_unknown(anew)


def _where_the_start_is_unknown(concerned: Callable[[], Column]) -> tuple[Excuse, ...]:
    """The log start was not copied, or may be higher than the checkpoint of a running broker."""
    return (
        log_start_unknown(concerned),
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("clean_shutdown") & concerned()),
    )


def began_anew_where_the_start_is_unknown() -> tuple[Excuse, ...]:
    """A producer begins at 0 again, on a log of which nobody knows where it began at that moment.

    Up to 2.3 it was forgotten with the head of the log (`udfs.rules.memory`), and its client then
    began anew in its epoch (`TransactionManager.startSequencesAtBeginning`, up to 2.4): after each
    DeleteRecords of Kafka Streams. The checkpoint of a running or killed broker is older than the
    log. A topic that KRaft created was on newer brokers only, nobody deletes a group's offsets so,
    and a batch that is there byte for byte did not begin anew.
    """

    def anew() -> Column:
        begins = F.col("client_data") & (F.col("first_sequence") == 0) & ~F.col("same_bytes")
        return begins & ~F.col("created_once")

    return _where_the_start_is_unknown(anew)


def may_begin_anew() -> Column:
    """Whether the broker may have forgotten what was before a run (context `run`).

    It then took the run for the first of its producer, up to 2.4 with sequence 0 alone. A batch
    that is there byte for byte did not begin anew.
    """
    anew = (
        state_may_have_expired(),
        forgotten_in_place("state_offset"),
        forgotten_behind_a_marker(),
        *began_anew_where_the_start_is_unknown(),
    )
    head = (F.col("first_sequence") == 0) & below_the_start("previous.last_offset")
    forgotten = reduce(or_, (surely(excuse.when()) for excuse in anew), surely(head))
    return forgotten & ~F.col("same_bytes")


def began_anew_above_the_start() -> Excuse:
    """An open transaction with all its data below the log start offset was forgotten with them.

    Its records cannot be read, so none is stored twice.
    """
    return explained(
        VERSION_DEPENDENT,
        lambda: (
            F.col("open_transaction")
            & F.col("transactional")
            & (F.col("first_sequence") == 0)
            & below_the_start("previous.last_offset")
        ),
    )


def begun_and_gone() -> Excuse:
    """All data of the transaction are below the log start: see `forgotten_with_the_head`.

    A broker that has it open in the snapshot of its clean stop has not forgotten it.
    """
    return suspect(
        VERSION_DEPENDENT, lambda: below_the_start("last_offset") & ~F.col("open_at_the_stop")
    )
