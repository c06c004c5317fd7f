"""May open data be aborted, by which command, and what is lost: one answer for all who advise.

`udfs.rules.ending` decides; here are the same questions to columns and to rows of tables, and the
words for the answers. Remedies of findings, repair plans and `explain` have them from here.
"""

from typing import Any

import numpy as np
from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.model import commands
from jobs.model.state_names import named
from schemas.coordinator_states import IN_TRANSACTION, PREPARE_ABORT, PREPARE_COMMIT
from udfs.rules.ending import ended_by
from udfs.rules.logic import surely

Row = dict[str, Any]

# `udfs.rules.ending`, by number, as the table consequence names them.
NAMES = ("decided", "running", "abort", "save_and_abort")
# Findings that, proven, say that no marker will end data that lie open, or not that of their own
# decision: of the last two, that this never was a transaction of the partition.
OWES_A_MARKER = ("missing_marker_in_listed_partition", "open_data_of_completed_transaction")
LOST_ITS_MARKER = ("cleaned_data_without_marker",)
NEVER_LISTED = ("data_in_unlisted_partition", "offset_commit_unlisted")
UNENDED = (
    *OWES_A_MARKER, "hanging_transaction", "late_write_after_marker", *LOST_ITS_MARKER,
    *NEVER_LISTED,
)  # fmt: skip
# No marker is written for data with an epoch that the producer no longer had there. Where they came
# into a transaction that was open, its own marker ends them.
FENCED_DATA = ("zombie_write_after_fence", "producer_epoch_regression")
PREPARED = named(PREPARE_COMMIT, PREPARE_ABORT)

DO_NOT_DECIDED = (
    "Do not abort it: the coordinator has decided a transaction that lists this partition. Its "
    "marker is due, and ends all of these records."
)
DO_NOT_RUNNING = (
    "Do not abort it: the coordinator runs a transaction that lists this partition. An abort by "
    "hand drops its records, too, and its producer can still commit without them. Its own marker "
    "ends all of these records."
)
# What a decided marker does to records that are not its own.
FOREIGN_DECIDED = (
    "Records in front that were to be aborted become visible if that marker is a COMMIT. Those "
    "that were committed become invisible if it is an ABORT: save them (isolation.level="
    "read_uncommitted), and produce them again when it is there."
)
# What the marker of the running transaction does to those that are not its own.
FOREIGN = (
    "If this transaction commits, it also delivers older open records here that should have been "
    "aborted. To prevent that, stop the producer and start it again with the same transactional "
    "id: the coordinator then aborts the transaction. Not one of two-phase commit, which has no "
    "timeout: ask its owner. Before that, save older open records that "
    "were committed, or may have been (read them with isolation.level=read_uncommitted): its ABORT "
    "hides them for ever, its COMMIT delivers them."
)
SAVE_FIRST = (
    "Save its records before anything else (read them with isolation.level=read_uncommitted). They "
    "were committed, or may have been, and Kafka has no tool that writes a COMMIT marker. An abort "
    "hides them for ever. The next COMMIT of the same producer in this partition would deliver "
    "them."
)
# The same of offset commits: their records are of no use to anybody, but their groups wait.
OFFSETS_FIRST = (
    "Stop all members of the groups whose offsets are pending here, and note these offsets: the "
    "abort drops them."
)
OFFSETS_SET = (
    "They were committed, or may have been: where the output of the transaction is committed, and "
    "the group's offset is lower, set the group to its pending offset before you start it again. "
    "Else it processes that input a second time."
)
OFFSETS_ABORTED = (
    "Start the groups again: they go on from the offsets that they have, as the output was aborted."
)
# What the brokers must show before an abort, which cannot be taken back.
SHOWN_OPEN = (
    "describe-producers lists it with this start offset and producer id, and describe shows no "
    "transaction of its transactional id that is Ongoing or prepared with this partition"
)
STILL_OPEN = f"Check that the transaction is still open: kafka-transactions.sh {SHOWN_OPEN}."
UNCHANGED = (
    f"{SHOWN_OPEN} (brokers before 3.0 cannot describe: there the last record of the id in "
    "__transaction_state, by kafka-dump-log.sh --transaction-log-decoder, is not)"
)


def runs_here(coordinator: str = "coordinator") -> Column:
    """Whether the last record of the coordinator runs a transaction that lists the partition.

    Prepared ones run, too. `coordinator`: a struct with its columns, beside topic and partition.
    """
    listed = F.array_contains(f"{coordinator}.partitions", F.concat_ws("-", "topic", "partition"))
    active = F.col(f"{coordinator}.state").isin(*named(*IN_TRANSACTION))
    return surely(active & listed)


def ending(coordinator: str, all_aborted: Column) -> Column:
    """What ends the open data of a row: a number of `udfs.rules.ending`.

    `all_aborted`: ABORT is proven to be what was decided about all of them
    (`udfs.rules.ending.is_decided_abort`); null where that is not known.
    """
    prepared = surely(F.col(f"{coordinator}.state").isin(*PREPARED))
    number: Column = ended_by(runs_here(coordinator), prepared, surely(all_aborted))
    return number


def covers(owner: Row | None, place: str) -> bool:
    """`runs_here` of a row of coordinator_txn. `place`: topic-partition."""
    running = owner is not None and owner["state"] in named(*IN_TRANSACTION)
    return bool(running and owner and place in (owner["partitions"] or ()))


def ending_of(owner: Row | None, place: str, all_aborted: bool) -> int:
    """`ending` of open data; `owner`: row of coordinator_txn, or None."""
    prepared = owner is not None and owner["state"] in PREPARED
    return int(ended_by(np.bool_(covers(owner, place)), np.bool_(prepared), np.bool_(all_aborted)))


def older_epoch(transaction_version: Column, coordinator_epoch: Column) -> Column:
    """The coordinator epoch for `commands.ABORT_BY_PRODUCER`; null where no broker needs that."""
    surely_newer = surely(commands.takes_a_start(transaction_version))
    given = commands.given_coordinator_epoch(F.coalesce(coordinator_epoch, F.lit(-1)))
    return F.when(~surely_newer, given)
