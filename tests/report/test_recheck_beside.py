"""recheck.py on what no evidence shows: what is missing, what was decided elsewhere, small texts.

Each code is confirmed on a small dump that shows it, and refuted on its nearest legal twin with the
same finding. Both lie in folders of their own; the evidence is that of the finding.
"""

import json
import struct
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from log_builder import T0, LogBuilder, Placed
from rechecked import Rechecked, with_recheck
from report.test_recheck import SHOWN

from jobs.report.recheck.broker_answers import ANSWERS
from jobs.report.recheck.claims import CLAIMS
from jobs.report.recheck.dump import folders_of
from jobs.report.recheck.evidence import LAST_OF_TRANSACTION, PREPARE_RECORD
from jobs.report.recheck.findings import recheck
from jobs.report.recheck.indexes import TXNINDEX
from jobs.report.recheck.results import CONFIRMED, HOLDS, REFUTED, UNDECIDED
from jobs.report.recheck.snapshot_files import SNAPSHOT_HEAD
from tests.wire_writer import batches as writer
from tests.wire_writer import producer_snapshot as snapshot_writer
from tests.wire_writer import txn_log as txn_writer
from udfs.wire.batches.batch_layout import MAGIC
from udfs.wire.coordinator import txn_log
from udfs.wire.side_files.producer_snapshot import ProducerSnapshotEntry

LOG, STATES = "00000000000000000000.log", "__transaction_state-0"
# The producer of all logs here.
PRODUCER = 7


@dataclass(frozen=True)
class State:
    """A record of the coordinator; `at`: s after T0. Status none: a tombstone."""

    status: str | None
    epoch: int = 0
    lists: tuple[str, ...] = ()
    name: str = "x"
    at: int = 1
    pid: int = PRODUCER
    timeout_ms: int = 60_000
    start_ms: int = T0
    version: int = 0
    leader: int = 0
    stored: bytes | None = None

    def value(self) -> bytes | None:
        if self.status is None or self.stored is not None:
            return self.stored
        topics = tuple((one.rpartition("-")[0], (int(one[-1]),)) for one in self.lists)
        status = txn_log.STATUS.index(self.status)
        start = -1 if self.status == "Empty" and self.start_ms == T0 else self.start_ms
        moment = T0 + 1000 * self.at
        value = txn_log.TxnLogValue(
            int(self.version > 0), self.pid, self.epoch, self.timeout_ms, status, topics, moment,
            start, client_transaction_version=self.version,
        )  # fmt: skip
        return txn_writer.encode_value(value)

    def batch(self, offset: int) -> bytes:
        key = txn_writer.encode_key(self.name)
        return writer.batch(
            offset,
            [writer.record(0, 0, key, self.value())],
            base_timestamp=T0 + 1000 * self.at,
            partition_leader_epoch=self.leader,
        )


Logs = dict[str, list[str]]
# Role, folder (or file) and the number of the batch there (of a file: the byte).
Named = tuple[str, str, int]
SIDE_FILES = {
    "cleaner": "cleaner-offset-checkpoint",
    "high": "replication-offset-checkpoint",
    "recovery": "recovery-point-offset-checkpoint",
    "start": "log-start-offset-checkpoint",
}


@dataclass(frozen=True)
class Dumped:
    """A dump: logs by folder, records of the coordinator, other files by name."""

    logs: Logs = field(default_factory=dict)
    states: tuple[State, ...] = ()
    files: dict[str, bytes] = field(default_factory=dict)

    def write(self, root: Path) -> dict[tuple[str, int], tuple[str, int, int]]:
        """File, position and length of each batch by folder and number."""
        places = {}
        for folder, given in self.logs.items():
            log = LogBuilder()
            for line in given:
                log.add(line)
            for base, content in log.segments.items():
                name = f"{folder}/{base:020}.log"
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes(content)
            for number, one in enumerate(log.placed):
                name = f"{folder}/{one.segment:020}.log"
                places[folder, number] = name, one.start, one.end - one.start
        content = b""
        for offset, state in enumerate(self.states):
            batch = state.batch(offset)
            places[STATES, offset] = f"{STATES}/{LOG}", len(content), len(batch)
            content += batch
        files = self.files | ({f"{STATES}/{LOG}": content} if self.states else {})
        for name, data in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
        return places


def dumped(
    *lines: str, states: tuple[State, ...] = (), other: list[str] | None = None, **side: str
) -> Dumped:
    """A log of t-0; `other`: that of a second broker. Side files have one entry each."""
    files = {SIDE_FILES[name]: checkpoint(entry) for name, entry in side.items()}
    logs = ({"t-0": list(lines)} if lines else {}) | ({"b/t-0": other} if other else {})
    return Dumped(logs, states, files)


@dataclass(frozen=True)
class Shown:
    """A code, the dump that shows it, the most similar one that does not, and the evidence."""

    code: str
    dump: Dumped
    twin: Dumped
    evidence: tuple[Named, ...]
    more: dict[str, Any] = field(default_factory=dict)
    # Of the entry of a file, bytes; None: to its end.
    length: int | None = None

    def finding(self, places: dict[tuple[str, int], tuple[str, int, int]]) -> dict[str, Any]:
        evidence = []
        for role, folder, number in self.evidence:
            file, begin, length = places.get((folder, number), (folder, number, self.length))
            evidence.append({"role": role, "file": file, "byte_position": begin,
                             "byte_length": length})  # fmt: skip
        return {"code": self.code, "topic": "t", "partition": 0, "offset_first": None,
                "producer_id": PRODUCER, "transactional_id": "x", "file": f"t-0/{LOG}",
                "found": "", "expected": "", "evidence": evidence} | self.more  # fmt: skip


def run(*statuses: str, **more: Any) -> tuple[State, ...]:
    """Records of one id, a second apart; the partition is listed while a transaction runs."""
    return tuple(
        State(one, lists=() if one[0] in "EC" else ("t-0",), at=at, **more)
        for at, one in enumerate(statuses)
    )


def checkpoint(*entries: str) -> bytes:
    return "\n".join(["0", str(len(entries)), *entries, ""]).encode()


def entry(first: int, last: int, stable: int) -> bytes:
    return TXNINDEX.pack(0, PRODUCER, first, last, stable)


def snapshot(twice: bool = False, **other: int) -> bytes:
    """The right snapshot behind one batch of a transaction, but for some fields."""
    right = {"producer_epoch": 0, "last_sequence": 0, "last_offset": 0, "offset_delta": 0,
             "timestamp": T0, "coordinator_epoch": -1, "current_txn_first_offset": 0}  # fmt: skip
    of_producer = ProducerSnapshotEntry(PRODUCER, **(right | other))
    return snapshot_writer.encode([of_producer] * (1 + twice))


DATA, COMMIT, ABORT = "txn pid=7 epoch=0", "commit pid=7 epoch=0", "abort pid=7 epoch=0"
MARKER, PREPARE = "the marker", PREPARE_RECORD
FIRST = ("first batch of the transaction", "t-0", 0)
OPEN = (FIRST, (LAST_OF_TRANSACTION, "t-0", 0))
WHOLE = run("Empty", "Ongoing", "PrepareCommit", "CompleteCommit")
# Between the records of the decision and of its end.
IN_TIME = f"{COMMIT} at=2"
# Of transaction.version 2: the decision raises the epoch.
RAISED = tuple(replace(one, version=2, epoch=int(at > 1)) for at, one in enumerate(WHOLE))
RAISED_COMMIT = "commit pid=7 epoch=1"
# A fault: a second transactional id has the producer id.
OTHERS = tuple(replace(one, name="y") for one in WHOLE)
RAISED_OTHERS = tuple(replace(one, name="y") for one in RAISED)
ELSEWHERE = tuple(replace(one, lists=("u-0",) if one.lists else ()) for one in WHOLE[1:])
LATER = State("Empty", name="y", at=90)
TWO_IDS = (State("Ongoing", lists=("u-0",)), State("Ongoing", lists=("u-0", "t-0")))


def shown(code: str, broken: Dumped, legal: Dumped, *evidence: Named, **more: Any) -> Shown:
    return Shown(code, broken, legal, evidence, more)


ABSENT = [
    shown("hanging_transaction", dumped(DATA, "plain", states=WHOLE),
          dumped(DATA, ABORT, states=WHOLE), *OPEN),
    shown("hanging_transaction", dumped(DATA, states=WHOLE), dumped(DATA, states=WHOLE[:2]), *OPEN),
    shown("hanging_transaction", dumped(DATA, states=run("Empty", pid=8)),
          dumped(DATA, states=run("Empty")), *OPEN, transactional_id=None),
    shown("hanging_transaction", dumped(DATA, states=WHOLE),
          dumped(DATA, states=run("Empty", "Ongoing", "PrepareCommit", "CompleteCommit", pid=8)),
          *OPEN),
    shown("open_data_of_completed_transaction", dumped(DATA, states=run("Empty", epoch=1)),
          dumped(DATA, states=run("Empty")), *OPEN),
    shown("cleaned_data_without_marker", dumped(DATA, "plain", cleaner="t 0 1"),
          dumped(DATA, "plain", cleaner="t 0 0"), *OPEN),
    shown("cleaned_data_without_marker", dumped(DATA, "plain", cleaner="t 0 1"),
          dumped(DATA, COMMIT, cleaner="t 0 1"), *OPEN),
    shown("aborted_data_below_cleaned_bound", dumped(DATA, ABORT, cleaner="t 0 2"),
          dumped(DATA, ABORT, cleaner="t 0 1"), FIRST, (MARKER, "t-0", 1)),
    shown("data_in_unlisted_partition", dumped(DATA, states=TWO_IDS[:1]),
          dumped(DATA, states=TWO_IDS[1:]), FIRST, ("", STATES, 0)),
    shown("data_in_unlisted_partition", dumped(DATA, states=TWO_IDS[:1]),
          dumped(DATA, COMMIT, states=TWO_IDS[:1]), FIRST, ("", STATES, 0)),
    shown("offset_commit_unlisted", dumped(DATA, states=TWO_IDS[:1]),
          dumped(DATA, states=TWO_IDS[1:]), FIRST, ("", STATES, 0)),
    shown("open_transaction_overdue", dumped(DATA, states=(*WHOLE[:2], LATER)),
          dumped(DATA, states=(*WHOLE, LATER)), FIRST),
    shown("late_write_after_marker", dumped(DATA, COMMIT, DATA, states=WHOLE),
          dumped(DATA, COMMIT, DATA, COMMIT, states=WHOLE),
          ("the marker of the same epoch", "t-0", 1), ("first batch after it", "t-0", 2)),
    shown("late_write_after_marker", dumped(DATA, COMMIT, DATA, states=WHOLE),
          dumped(DATA, COMMIT, DATA, states=WHOLE + WHOLE[1:2]),
          ("the marker of the same epoch", "t-0", 1), ("first batch after it", "t-0", 2)),
    shown("lso_stuck", dumped(DATA), dumped(DATA, ABORT), FIRST,
          found="open for 60 minutes", expected="COMMIT or ABORT within 20 minutes"),
    shown("lso_stuck", dumped("txn pid=7 at=-9000"), dumped("txn pid=7 logappend"), FIRST,
          found="open for 600 minutes", expected="COMMIT or ABORT within 200 minutes"),
    # Of a client whose clock is ten days ahead.
    shown("lso_stuck", dumped("txn pid=7 at=864000", "commit pid=8 at=-9000"),
          dumped("txn pid=7 at=0 logappend", "commit pid=8 at=1"), FIRST,
          found="open for 600 minutes", expected="COMMIT or ABORT within 200 minutes"),
    shown("pending_offsets_stuck", dumped(DATA), dumped(DATA, ABORT), FIRST,
          found="none for 60 minutes"),
    shown("marker_without_transaction", dumped("plain", COMMIT), dumped(DATA, COMMIT),
          (MARKER, "t-0", 1)),
    shown("committed_output_without_offsets", dumped("plain", COMMIT), dumped(DATA, COMMIT),
          ("shows it", "t-0", 1)),
    shown("duplicate_marker", dumped(COMMIT, "plain", COMMIT), dumped(COMMIT, DATA, COMMIT),
          ("the marker before", "t-0", 0), ("the repeated marker", "t-0", 2)),
    shown("conflicting_markers", dumped(COMMIT, "plain", ABORT), dumped(COMMIT, DATA, ABORT),
          ("the first marker", "t-0", 0), ("the second marker", "t-0", 2)),
    shown("epoch_bump_inside_open_txn", dumped(DATA, "plain", "txn pid=7 epoch=1"),
          dumped(DATA, COMMIT, "txn pid=7 epoch=1"), ("", "t-0", 0), ("", "t-0", 2)),
    shown("nontransactional_in_open_txn", dumped(DATA, "plain", "data pid=7"),
          dumped(DATA, COMMIT, "data pid=7"), ("", "t-0", 0), ("", "t-0", 2)),
    shown("marker_epoch_invalid", dumped(DATA, "plain", "commit pid=7 epoch=3"),
          dumped(DATA, COMMIT, "commit pid=7 epoch=3"),
          (LAST_OF_TRANSACTION, "t-0", 0), (MARKER, "t-0", 2)),
    shown("marker_epoch_invalid", dumped(DATA, "abort pid=7 epoch=3"),
          dumped(DATA, "abort pid=7 epoch=2"),
          (LAST_OF_TRANSACTION, "t-0", 0), (MARKER, "t-0", 1)),
    shown("offset_gap", dumped("plain", "plain crc=bad", "plain offset=5"),
          dumped("plain", "plain", "plain offset=5"), ("", "t-0", 0), ("", "t-0", 2)),
    shown("sequence_gap", dumped("data pid=7", "plain", "data pid=7 seq=5"),
          dumped("data pid=7", "data pid=7 n=4", "data pid=7 seq=5"),
          ("", "t-0", 0), ("", "t-0", 2)),
    shown("sequence_regression", dumped("data pid=7 n=5", "plain", "data pid=7 seq=2"),
          dumped("data pid=7 n=5", "data pid=7 seq=1 n=1", "data pid=7 seq=2"),
          ("", "t-0", 0), ("", "t-0", 2)),
    shown("first_sequence_nonzero", dumped("plain", "data pid=7 seq=5"),
          dumped("data pid=7 n=5", "data pid=7 seq=5"), ("shows it", "t-0", 1)),
    shown("missing_marker_in_listed_partition", dumped(DATA, "plain", states=WHOLE),
          dumped(DATA, IN_TIME, states=WHOLE), ("", "t-0", 0), (PREPARE, STATES, 2)),
    shown("missing_marker_in_listed_partition", dumped(DATA, COMMIT, states=RAISED),
          dumped(DATA, "commit pid=7 epoch=1", states=RAISED),
          ("", "t-0", 0), (PREPARE, STATES, 2)),
    # Data and marker are both gone: nothing in the partition is named.
    shown("missing_marker_in_listed_partition", dumped("plain", states=WHOLE),
          dumped("plain", IN_TIME, states=WHOLE), ("", STATES, 2), (PREPARE, STATES, 2),
          offset_first=0, file=f"{STATES}/{LOG}"),
    # Two decisions of one epoch, and one marker.
    shown("missing_marker_in_listed_partition",
          dumped(DATA, IN_TIME, DATA, "plain", states=WHOLE + WHOLE[1:]),
          dumped(DATA, IN_TIME, DATA, "plain", states=WHOLE),
          ("", "t-0", 0), (PREPARE, STATES, 2)),
    # Two ids have the producer id, and both decided in one epoch: one marker is of one of them.
    shown("missing_marker_in_listed_partition",
          dumped(DATA, IN_TIME, DATA, "plain", states=WHOLE + OTHERS),
          dumped(DATA, IN_TIME, DATA, "plain", states=WHOLE),
          ("", "t-0", 0), (PREPARE, STATES, 2)),
    # The record is of the other id than the one that the finding names.
    shown("missing_marker_in_listed_partition",
          dumped(DATA, IN_TIME, DATA, "plain", states=OTHERS + WHOLE[1:]),
          dumped(DATA, IN_TIME, DATA, "plain", states=OTHERS),
          ("", "t-0", 0), (PREPARE, STATES, 2)),
    shown("missing_marker_in_listed_partition",
          dumped(DATA, RAISED_COMMIT, "plain", states=RAISED + RAISED_OTHERS),
          dumped(DATA, RAISED_COMMIT, "plain", states=RAISED),
          ("", "t-0", 0), (PREPARE, STATES, 2)),
    shown("marker_pending", dumped(DATA, COMMIT, states=RAISED[:3]),
          dumped(DATA, "commit pid=7 epoch=1", states=RAISED[:3]), (PREPARE, STATES, 2)),
    shown("marker_pending", dumped(DATA, states=WHOLE[:3]), dumped(DATA, states=WHOLE),
          (PREPARE, STATES, 2)),
    shown("txnlog_overdue_transaction", dumped(states=(*WHOLE[:2], LATER)),
          dumped(states=(*WHOLE, LATER)), ("shows it", STATES, 1)),
    shown("prepare_never_completed", dumped(states=(*WHOLE[:3], LATER)),
          dumped(states=(*WHOLE, LATER)), ("shows it", STATES, 2)),
    shown("txnlog_first_epoch_nonzero", dumped(states=(LATER, State("Empty", epoch=3))),
          dumped(states=run("Empty", "Empty", epoch=3)), ("shows it", STATES, 1)),
    shown("replica_range_hole", dumped("plain", "plain offset=2", other=["plain", "plain"]),
          dumped("plain n=2", "plain offset=2", other=["plain", "plain"]),
          ("", "t-0", 1), ("", "b/t-0", 1)),
]  # fmt: skip

DECIDED = [
    shown("marker_without_prepare", dumped(DATA, "commit pid=7 at=9", states=WHOLE[:2]),
          dumped(DATA, "commit pid=7 at=9", states=WHOLE), (MARKER, "t-0", 1)),
    shown("marker_without_prepare", dumped(DATA, "commit pid=7 epoch=2", states=RAISED),
          dumped(DATA, "commit pid=7 epoch=1", states=RAISED), (MARKER, "t-0", 1)),
    # The Complete record of the decision is there, right behind the record before its Prepare.
    shown("marker_without_prepare",
          dumped(DATA, "commit pid=7 epoch=1", states=(RAISED[0], RAISED[-1])),
          dumped(DATA, "commit pid=7 epoch=1", states=RAISED), (MARKER, "t-0", 1)),
    # Under version 0 and 1 markers are counted.
    shown("marker_without_prepare", dumped(DATA, COMMIT, DATA, "commit pid=7 at=9", states=WHOLE),
          dumped(DATA, COMMIT, DATA, "commit pid=7 at=9", states=WHOLE + WHOLE[1:]),
          (MARKER, "t-0", 3)),
    # Of two decisions of the epoch one does not list the partition; a marker of nothing is none.
    shown("marker_without_prepare",
          dumped(DATA, COMMIT, DATA, "commit pid=7 at=9", states=WHOLE + ELSEWHERE),
          dumped(DATA, COMMIT, DATA, "commit pid=7 at=9", COMMIT, states=WHOLE + WHOLE[1:]),
          (MARKER, "t-0", 3)),
    shown("marker_in_unlisted_partition",
          dumped(DATA, COMMIT, states=(State("PrepareCommit", lists=("u-0",)),)),
          dumped(DATA, COMMIT, states=(State("PrepareCommit", lists=("u-0", "t-0")),)),
          (MARKER, "t-0", 1), (PREPARE, STATES, 0)),
    shown("marker_outcome_mismatch", dumped(DATA, ABORT, states=WHOLE),
          dumped(DATA, COMMIT, states=WHOLE), (MARKER, "t-0", 1), (PREPARE, STATES, 2)),
    shown("torn_transaction", dumped(DATA, ABORT, states=WHOLE),
          dumped(DATA, ABORT, DATA, COMMIT, states=WHOLE),
          ("the ABORT marker", "t-0", 1), (PREPARE, STATES, 2)),
    shown("torn_transaction", dumped(DATA, ABORT, states=RAISED),
          dumped(DATA, "abort pid=7 epoch=1", states=RAISED),
          ("the ABORT marker", "t-0", 1), (PREPARE, STATES, 2)),
    shown("epoch_committed_and_aborted",
          dumped(DATA, ABORT, other=[DATA, COMMIT]), dumped(DATA, ABORT, other=[DATA, ABORT]),
          ("", "t-0", 0), ("", "b/t-0", 0)),
    shown("offset_commit_outcome_mismatch",
          dumped(DATA, COMMIT, other=[DATA, ABORT]), dumped(DATA, COMMIT, other=[DATA, COMMIT]),
          ("", "t-0", 0), ("", "b/t-0", 0)),
    shown("marker_stale", dumped(DATA, "commit pid=7 at=1", states=WHOLE),
          dumped(DATA, "commit pid=7 at=9", states=WHOLE),
          (MARKER, "t-0", 1), (PREPARE, STATES, 2)),
    shown("marker_before_prepare", dumped(DATA, "commit pid=7 at=1", states=WHOLE),
          dumped(DATA, "commit pid=7 at=9", states=WHOLE),
          (MARKER, "t-0", 1), (PREPARE, STATES, 2)),
    shown("marker_protocol_mixed", dumped(DATA, COMMIT, states=RAISED),
          dumped(DATA, "commit pid=7 epoch=1", states=RAISED),
          (MARKER, "t-0", 1), (PREPARE, STATES, 2)),
    shown("marker_protocol_mixed", dumped(DATA, "commit pid=7 epoch=1", states=WHOLE),
          dumped(DATA, COMMIT, states=WHOLE), (MARKER, "t-0", 1), (PREPARE, STATES, 2)),
    shown("marker_coordinator_epoch_mismatch",
          dumped(DATA, "commit pid=7 cepoch=2", states=run("PrepareCommit", leader=3)),
          dumped(DATA, "commit pid=7 cepoch=3", states=run("PrepareCommit", leader=3)),
          (MARKER, "t-0", 1), (PREPARE, STATES, 0)),
    shown("marker_coordinator_epoch_mismatch",
          dumped(DATA, "commit pid=7 cepoch=4", states=run("PrepareCommit", "CompleteCommit",
                                                           leader=3)),
          dumped(DATA, "commit pid=7 cepoch=3", states=run("PrepareCommit", "CompleteCommit",
                                                           leader=3)),
          (MARKER, "t-0", 1), (PREPARE, STATES, 0)),
    shown("pid_used_outside_transaction_id", dumped("data pid=7", states=WHOLE[:1]),
          dumped("data pid=7", states=run("Empty", pid=8)), ("", "t-0", 0), ("", STATES, 0)),
]  # fmt: skip


def steps(code: str, broken: tuple[State, ...], legal: tuple[State, ...], **more: Any) -> Shown:
    """Records of the coordinator: all of them are evidence."""
    evidence = tuple(("", STATES, number) for number in range(len(broken)))
    return Shown(code, Dumped(states=broken), Dumped(states=legal), evidence, more)


BEGUN = WHOLE[1]
# The one tagged field is made two: one of a tag that nobody knows, without content.
WITH_TAG = (run("Empty", version=2)[0].value() or b"")[:-5] + b"\2\2\2\0\2\x09\0"
COORDINATOR = [
    steps("txnlog_invalid_transition", run("Empty", "PrepareCommit"),
          run("Ongoing", "PrepareCommit")),
    steps("txnlog_invalid_transition", run("Empty", "PrepareAbort"),
          run("Empty", "PrepareAbort", version=2)),
    steps("txnlog_invalid_transition", run("Ongoing"), run("Empty")),
    steps("txnlog_complete_without_prepare", run("Ongoing", "CompleteCommit"),
          run("PrepareCommit", "CompleteCommit")),
    steps("txnlog_epoch_jump", (BEGUN, replace(BEGUN, epoch=1)), (BEGUN, BEGUN)),
    steps("txnlog_epoch_jump", (BEGUN, replace(WHOLE[2], version=2)), (BEGUN, WHOLE[2])),
    steps("txnlog_epoch_jump", run("Empty") + run("Empty", epoch=2),
          run("Empty") + run("Empty", epoch=1)),
    steps("txnlog_epoch_regression", run("Empty", epoch=2) + run("Empty", epoch=1),
          run("Empty", "Empty", epoch=1)),
    steps("txnlog_epoch_invalid", run("Empty", epoch=-1), run("Empty")),
    steps("txnlog_partitions_invalid", (BEGUN, replace(BEGUN, lists=("u-0",))),
          (BEGUN, replace(BEGUN, lists=("u-0", "t-0")))),
    steps("txnlog_partitions_invalid", (BEGUN, replace(WHOLE[2], lists=())), (BEGUN, WHOLE[2])),
    steps("txnlog_partitions_invalid", (WHOLE[2], replace(WHOLE[3], lists=("t-0",))),
          (WHOLE[2], WHOLE[3])),
    steps("txnlog_partitions_invalid", (WHOLE[0], State("PrepareAbort", lists=("t-0",))),
          (WHOLE[0], State("PrepareAbort"))),
    steps("txnlog_start_timestamp_invalid", (BEGUN, replace(WHOLE[2], start_ms=T0 + 1)),
          (BEGUN, WHOLE[2])),
    steps("txnlog_start_timestamp_invalid", (replace(BEGUN, start_ms=-1),), (BEGUN,)),
    steps("txnlog_start_timestamp_invalid", (WHOLE[0], replace(BEGUN, start_ms=T0 + 5_000)),
          (WHOLE[0], replace(BEGUN, start_ms=T0 + 1_000))),
    steps("txnlog_start_timestamp_invalid", (WHOLE[0], BEGUN),
          (WHOLE[0], replace(BEGUN, start_ms=T0 + 1_000))),
    steps("txnlog_tombstone_invalid", (BEGUN, State(None)), (WHOLE[3], State(None))),
    steps("txnlog_tombstone_invalid", (BEGUN, State(None)), (BEGUN, WHOLE[2])),
    steps("txnlog_update_timestamp_regression", (BEGUN, replace(WHOLE[2], at=0)),
          (BEGUN, WHOLE[2])),
    steps("txnlog_timeout_changed", (BEGUN, replace(WHOLE[2], timeout_ms=1)), (BEGUN, WHOLE[2])),
    steps("txnlog_timeout_invalid", run("Empty", timeout_ms=0), run("Empty")),
    steps("txnlog_pid_changed", (WHOLE[0], replace(BEGUN, pid=8)), (WHOLE[0], BEGUN)),
    Shown("txnlog_pid_regression",
          Dumped(states=(WHOLE[0], replace(WHOLE[0], pid=6), WHOLE[0])),
          Dumped(states=(WHOLE[0], replace(WHOLE[0], pid=6), replace(WHOLE[0], pid=9))),
          (("", STATES, 1), ("", STATES, 2))),

    steps("txnlog_pid_shared", (WHOLE[0], replace(WHOLE[0], name="y")),
          (WHOLE[0], replace(WHOLE[0], name="y", pid=8)), transactional_id="y"),
    steps("txnlog_state_invalid", run("Dead"), run("Empty")),
    steps("txnlog_undecodable", (State("", stored=b"\0\0\0"),), run("Empty")),
    steps("txnlog_undecodable", (State("", stored=(BEGUN.value() or b"") + b"\0"),), (BEGUN,)),
    steps("txnlog_unknown_tag", (State("", stored=WITH_TAG),), run("Empty", version=2)),
]  # fmt: skip


def at_file(code: str, broken: Dumped, legal: Dumped, name: str, begin: int, length: int | None,
            *evidence: Named, **more: Any) -> Shown:  # fmt: skip
    """An entry of a file is the first evidence."""
    return Shown(code, broken, legal, (("", name, begin), *evidence), more, length)


def placed(*lines: str) -> list[Placed]:
    log = LogBuilder()
    for line in lines:
        log.add(line)
    return log.placed


def index(name: str, data: bytes, *lines: str) -> Dumped:
    return Dumped({"t-0": list(lines)}, files={name: data})


TXN, OFFSETS, TIMES = (f"t-0/{LOG[:-3]}{kind}" for kind in ("txnindex", "index", "timeindex"))
OTHERS = ("txn pid=8", DATA, ABORT, "commit pid=8")
MARKER_OF = ("the ABORT marker", "t-0", 1)
EPOCHS = "t-0/leader-epoch-checkpoint"
SNAPSHOT = "t-0/00000000000000000001.snapshot"
# Where the second batch begins.
SECOND_AT = placed("plain", "plain")[1].start
SECOND, AT_SECOND = (struct.pack(">ii", one, SECOND_AT) for one in (1, 0))
FILES = [
    shown("txnindex_missing_entry", index(TXN, b"", DATA, ABORT),
          index(TXN, entry(0, 1, 2), DATA, ABORT), MARKER_OF),
    shown("txnindex_missing_entry", dumped(DATA, ABORT), dumped("plain", ABORT), MARKER_OF),
    at_file("txnindex_extra_entry", index(TXN, entry(0, 1, 2), DATA, COMMIT),
            index(TXN, entry(0, 1, 2), DATA, ABORT), TXN, 0, 34),
    at_file("txnindex_empty_transaction", index(TXN, entry(1, 1, 2), "plain", ABORT),
            index(TXN, entry(0, 1, 2), DATA, ABORT), TXN, 0, 34),
    at_file("txnindex_wrong_first_offset", index(TXN, entry(1, 2, 3), DATA, DATA, ABORT),
            index(TXN, entry(0, 2, 3), DATA, DATA, ABORT), TXN, 0, 34),
    at_file("txnindex_wrong_lso", index(TXN, entry(1, 2, 3), *OTHERS),
            index(TXN, entry(1, 2, 0), *OTHERS), TXN, 0, 34),
    at_file("txnindex_malformed", index(TXN, entry(2, 1, 2), DATA, ABORT),
            index(TXN, entry(0, 1, 2), DATA, ABORT), TXN, 0, 34),
    at_file("txnindex_malformed", index(TXN, entry(0, 1, 2) * 2, DATA, ABORT),
            index(TXN, entry(0, 1, 2) + entry(2, 3, 4), DATA, ABORT), TXN, 34, 34),
    at_file("index_entry_invalid", index(OFFSETS, struct.pack(">ii", 1, 9), "plain", "plain"),
            index(OFFSETS, SECOND, "plain", "plain"), OFFSETS, 0, 8),
    at_file("index_entry_invalid", index(OFFSETS, AT_SECOND, "plain", "plain"),
            index(OFFSETS, SECOND, "plain", "plain"), OFFSETS, 0, 8),
    at_file("timeindex_invalid", index(TIMES, struct.pack(">qi", T0 + 5, 1), "plain", "plain"),
            index(TIMES, struct.pack(">qi", T0 + 1000, 1), "plain", "plain"), TIMES, 0, 12),
    at_file("timeindex_invalid",
            index(TIMES, struct.pack(">qi", T0, 1), "plain at=5", "plain at=0"),
            index(TIMES, struct.pack(">qi", T0, 0), "plain at=0", "plain at=5"), TIMES, 0, 12),
    at_file("snapshot_corrupt", index(SNAPSHOT, b"\0\2" + snapshot()[2:], DATA),
            index(SNAPSHOT, snapshot(), DATA), SNAPSHOT, 0, None),
    at_file("snapshot_corrupt", index(SNAPSHOT, snapshot(twice=True), DATA),
            index(SNAPSHOT, snapshot(), DATA), SNAPSHOT, 0, None),
    at_file("snapshot_foreign_producer", index(SNAPSHOT, snapshot(), "plain"),
            index(SNAPSHOT, snapshot(), DATA), SNAPSHOT, 10, 46),
    at_file("snapshot_state_mismatch", index(SNAPSHOT, snapshot(last_sequence=4), DATA),
            index(SNAPSHOT, snapshot(), DATA), SNAPSHOT, 10, 46),
    at_file("snapshot_state_mismatch",
            index(SNAPSHOT, snapshot(current_txn_first_offset=-1), DATA),
            index(SNAPSHOT, snapshot(), DATA), SNAPSHOT, 10, 46),
    shown("hw_beyond_log_end", dumped("plain", high="t 0 2"), dumped("plain", high="t 0 1")),
    shown("hw_beyond_log_end", dumped("plain", high="t 0 2"), dumped("plain", high="u 0 2")),
    # Shorter than a header of magic 2.
    shown("hw_beyond_log_end", dumped("v0", high="t 0 2"), dumped("v0", high="t 0 1")),
    shown("recovery_point_beyond_log_end", dumped("plain", recovery="t 0 2"),
          dumped("plain", recovery="t 0 1")),
    shown("log_start_beyond_end", dumped("plain", start="t 0 2"), dumped("plain", start="t 0 1")),
    shown("hw_below_log_start", dumped("plain n=5", high="t 0 2", start="t 0 3"),
          dumped("plain n=5", high="t 0 3", start="t 0 3")),
    at_file("leader_epoch_checkpoint_mismatch",
            index(EPOCHS, checkpoint("1 0", "3 1"), "plain leader=1", "plain leader=2"),
            index(EPOCHS, checkpoint("1 0", "2 1"), "plain leader=1", "plain leader=2"), EPOCHS,
            0, None, ("the first batch", "t-0", 1)),
    at_file("cluster_id_mismatch", Dumped(files={"meta.properties": b"cluster.id=b\n"}),
            Dumped(files={"meta.properties": b"cluster.id=a\n"}), "meta.properties", 0, None,
            expected="cluster id a"),
    at_file("topic_id_mismatch", Dumped(files={"a": b"topic_id: 1\n", "b": b"topic_id: 2\n"}),
            Dumped(files={"a": b"topic_id: 1\n", "b": b"topic_id: 1\n"}), "a", 0, None,
            ("", "b", 0)),
    shown("segment_offset_out_of_range", dumped("plain n=3", "roll base=2", "plain offset=2"),
          dumped("plain n=2", "roll base=2", "plain offset=2"), ("shows it", "t-0", 0)),
]  # fmt: skip


def of_log(code: str, broken: list[str], legal: list[str]) -> Shown:
    """All batches of a log are evidence."""
    evidence = tuple(("", "t-0", number) for number in range(len(broken)))
    return Shown(code, dumped(*broken), dumped(*legal), evidence)


def of_tail(code: str) -> Shown:
    """Bytes at the end of a file that are a batch, or not."""
    return at_file(code, dumped("plain", "cut 9"), dumped("plain"), f"t-0/{LOG}", 0, None)


def other_state(epoch: int) -> Dumped:
    """Two copies of the coordinator's log; `epoch`: of the one record of the second."""
    content = State("Empty", epoch=epoch).batch(0)
    return Dumped(states=(State("Empty"),), files={f"b/{STATES}/{LOG}": content})


def groups(*lines: str) -> Dumped:
    return Dumped({"__consumer_offsets-0": list(lines), "__consumer_offsets-1": ["plain"]})


def committed_beside(*lines: str) -> Dumped:
    """Commits, and a partition with two records."""
    return Dumped({OF_GROUPS: list(lines), "t-0": ["plain n=2"], "t-1": ["plain n=5"]})


def given_out(*lines: str) -> Dumped:
    return Dumped({"t-0": [DATA], "__cluster_metadata-0": list(lines)})


def two_clusters(own: str, other: str) -> Dumped:
    """A second copy of the list of producer ids in a log directory of that cluster."""
    dump = given_out("ids 7")
    logs = dump.logs | {"b/__cluster_metadata-0": ["ids 900"]}
    properties = {"meta.properties": own, "b/meta.properties": other}
    told = {name: f"version=1\ncluster.id={one}\n".encode() for name, one in properties.items()}
    return Dumped(logs, files=told)


METADATA, OF_GROUPS = "__cluster_metadata-0", "__consumer_offsets-0"
BYTES = [
    of_tail("active_tail_torn"),
    of_tail("closed_segment_tail_garbage"),
    of_tail("batch_length_invalid"),
    of_log("batch_codec_invalid", ["plain codec=7"], ["plain codec=gzip"]),
    of_log("batch_count_below_range", ["plain n=2 count=1"], ["plain n=2"]),
    of_log("batch_record_count_mismatch", ["plain n=2 count=3"], ["plain n=2"]),
    of_log("batch_producer_fields_inconsistent", ["plain transactional=1"], ["plain"]),
    of_log("control_batch_malformed", ["commit pid=7 ckey=ffff0000"], ["commit pid=7"]),
    of_log("control_batch_malformed", ["commit pid=7 seq=3"], ["data pid=7 seq=3"]),
    shown("sequence_nonzero_at_new_epoch", dumped(DATA, "plain", "txn pid=7 epoch=1 seq=4"),
          dumped(DATA, "txn pid=7 epoch=1 n=4", "txn pid=7 epoch=1 seq=4"),
          ("", "t-0", 0), ("", "t-0", 2)),
    of_log("delete_horizon_unexpected", ["plain horizon=90"], ["plain"]),
    of_log("producer_epoch_out_of_range", ["data pid=7 epoch=32767"], ["data pid=7 epoch=32766"]),
    shown("duplicate_batch", dumped("data pid=7 n=2", "data pid=7", "data pid=7 seq=0 n=2"),
          dumped("data pid=7 n=2", "data pid=7", "data pid=7 n=2"), ("", "t-0", 1), ("", "t-0", 2)),
    of_log("marker_epoch_regression", ["commit pid=7 epoch=3", "commit pid=7 epoch=2"],
           ["commit pid=7 epoch=3", "commit pid=7 epoch=3"]),
    of_log("mixed_transactional_mode", ["data pid=7", "txn pid=7"], ["data pid=7", "data pid=7"]),
    of_log("segment_missing", ["plain", "plain offset=5"], ["plain", "plain"]),
    of_log("sequence_nonzero_at_new_epoch", [DATA, "txn pid=7 epoch=1 seq=4"],
           [DATA, "txn pid=7 epoch=1 seq=0"]),
    shown("sequence_nonzero_at_new_epoch", dumped("plain", "data pid=7 seq=4"),
          dumped("data pid=7 n=4", "data pid=7 seq=4"), ("", "t-0", 1)),
    shown("replica_divergence", dumped("plain", other=["plain value=w"]),
          dumped("plain", other=["plain"]), ("", "t-0", 0), ("", "b/t-0", 0)),
    shown("replica_divergence", dumped(DATA, "plain", other=[DATA, COMMIT]),
          dumped(DATA, COMMIT, other=[DATA, COMMIT]), ("", "t-0", 0), ("", "b/t-0", 1)),
    shown("txnlog_batch_shape", Dumped({STATES: [DATA]}), Dumped({STATES: ["plain"]}),
          ("", STATES, 0)),
    at_file("txnlog_replica_divergence", other_state(1), other_state(0), f"b/{STATES}/{LOG}", 0,
            None, ("", STATES, 0)),
    # The hash of x is 120, that of y 121.
    shown("txnlog_wrong_partition", Dumped(states=(State("Empty", name="y"),)),
          Dumped(states=(State("Empty", name="x"),)), ("", STATES, 0),
          transactional_id=None, expected="partition 1 of 5"),
    shown("group_wrong_partition", groups("offsets group=y t-0=7"), groups("offsets group=x t-0=7"),
          ("", OF_GROUPS, 0), topic="__consumer_offsets"),
    shown("offsets_undecodable",
          groups("offsets group=x t-0=7 rvalue=0003000000000000002a0000000500000000018bcfe5680000"),
          groups("offsets group=x t-0=7"), ("", OF_GROUPS, 0)),
    of_log("legacy_wrapper_invalid", ["v1 n=2 codec=snappy inner_crc=bad"],
           ["v1 n=2 codec=snappy"]),
    shown("producer_timestamp_expired_state", dumped("data pid=7", "data pid=7 n=2 at=90000"),
          dumped("data pid=7", "data pid=7 at=9"), ("", "t-0", 0), ("", "t-0", 1),
          found=f"the previous batch or marker has timestamp {T0} ms, this batch "
          f"{T0 + 90_000_000} ms"),
    shown("offset_commit_regression", groups(*(f"offsets group=x t-0={n}" for n in (7, 5, 9))),
          groups(*(f"offsets group=x t-0={n}" for n in (7, 8, 9))),
          *(("", OF_GROUPS, number) for number in range(3))),
    shown("offset_commit_beyond_log_end", committed_beside("offsets group=x t-0=3"),
          committed_beside("offsets group=x t-0=2 t-1=3"), ("", OF_GROUPS, 0)),
    shown("producer_block_regression", given_out("ids 5000", "ids 3000"),
          given_out("ids 5000", "ids 6000"), ("", METADATA, 1), ("", METADATA, 0)),
    shown("producer_id_unallocated", given_out("ids 7"), given_out("ids 8"), FIRST),
    shown("producer_id_unallocated", two_clusters("one", "two"), two_clusters("one", "one"), FIRST),
]  # fmt: skip


def answered(*lines: str, request: str, isolation: int = 0, states: tuple[State, ...] = (),
             moments: tuple[str, ...] = ("before", "after"), **told: Any) -> Dumped:  # fmt: skip
    """A fetched dump in which the broker answered the same before and after."""
    there = {"partition_index": 0, "error_code": 0, **told}
    answer = told if states else {"topics": [{"name": "t", "partitions": [there]}]}
    answers = [
        {"moment": one, "request": request, "isolation": isolation, "answer": answer}
        for one in moments
    ]
    content = json.dumps({"answers": answers}).encode()
    return Dumped({"t-0": list(lines)}, states, {ANSWERS: content})


def knows(sequence: int, begun: int, **more: Any) -> Dumped:
    """A leader that knows of the producer of one open transaction of two records."""
    one = {"producer_id": PRODUCER, "producer_epoch": 0, "last_sequence": sequence,
           "current_txn_start_offset": begun}  # fmt: skip
    log = "plain", "txn pid=7 epoch=0 n=2"
    return answered(*log, request="DescribeProducers", active_producers=[one], **more)


def stable(offset: int, after: int | None = None) -> Dumped:
    """A leader that says up to where all is decided; `after`: another one after the fetch."""
    asked = {"request": "ListOffsets", "isolation": 1}
    before = answered("plain", DATA, "plain", offset=offset, **asked)
    if after is None:
        return before
    both = []
    for moment, one in (("before", offset), ("after", after)):
        told = answered(moments=(moment,), offset=one, **asked)
        both += json.loads(told.files[ANSWERS])["answers"]
    return replace(before, files={ANSWERS: json.dumps({"answers": both}).encode()})


def lists(state: str) -> Dumped:
    told = {"transactional_id": "x", "producer_id": PRODUCER, "transaction_state": state}
    return answered(request="ListTransactions", states=WHOLE, transaction_states=[told])


NEWEST = ("the newest batch of the producer", "t-0", 1)
TOLD = [
    shown("told_producer_mismatch", knows(0, 1), knows(1, 1), NEWEST),
    shown("told_open_mismatch", knows(1, -1), knows(1, 1), NEWEST),
    shown("told_lso_mismatch", stable(2), stable(1), NEWEST),
    shown("told_lso_mismatch", stable(0), stable(1), NEWEST),
    shown("told_lso_mismatch", stable(2, after=3), stable(1, after=3), NEWEST),
    shown("told_lso_mismatch", stable(0, after=0), stable(0, after=1), NEWEST),
    shown("told_coordinator_mismatch", lists("Ongoing"), lists("CompleteCommit")),
]
ALL = [*BYTES, *ABSENT, *DECIDED, *COORDINATOR, *FILES, *TOLD]


@pytest.mark.parametrize("one", ALL, ids=[f"{one.code}-{at}" for at, one in enumerate(ALL)])
def test_what_the_dump_shows_is_confirmed_and_its_twin_refutes(one: Shown, tmp_path: Path) -> None:
    told = []
    for name, dump in (("broken", one.dump), ("legal", one.twin)):
        root = tmp_path / name
        finding = one.finding(dump.write(root))
        told.append(recheck(finding, [root], as_of=T0 + 3_600_000))
    assert told[0][0] == CONFIRMED, told
    # By what it says, and not because bytes are elsewhere.
    assert told[1][0] == REFUTED and told[1][1].endswith("show otherwise"), told


def test_every_claim_is_shown_and_refuted_here() -> None:
    assert {one.code for one in ALL} | {code for code, _, _ in SHOWN} == {*CLAIMS}


def test_only_evidence_is_read_where_that_is_asked(tmp_path: Path) -> None:
    for number, one in enumerate(ABSENT):
        root = tmp_path / str(number)
        finding = one.finding(one.dump.write(root))
        kept = {root / evidence["file"] for evidence in finding["evidence"]}
        for path in root.rglob("*"):
            if path.is_file() and path not in kept:
                path.unlink()
        told = recheck(finding, [root], evidence_only=True)
        assert told[0] == HOLDS, (one.code, told)


def test_one_answer_alone_proves_nothing(tmp_path: Path) -> None:
    dump = knows(0, 1, moments=("before",))
    finding = TOLD[0].finding(dump.write(tmp_path))
    assert recheck(finding, [tmp_path])[0] == HOLDS


HANGING = ABSENT[0]


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ([DATA, "plain offset=9"], "offsets 1 to 8 are not in this copy"),
        ([DATA, "plain flip=-1 keep_crc", "garbage 80", "plain"], "t-0 cannot be read behind"),
        ([DATA, "commit pid=8 flip=-1 keep_crc"], "t-0 cannot be read behind"),
    ],
)
def test_what_may_lie_in_a_gap_is_not_confirmed(log: list[str], why: str, tmp_path: Path) -> None:
    made = Dumped({"t-0": log}, HANGING.dump.states)
    told = recheck(HANGING.finding(made.write(tmp_path)), [tmp_path])
    assert told[0] == HOLDS and told[1].startswith(why), told


@pytest.mark.parametrize(("pid", "answer"), [(8, CONFIRMED), (7, HOLDS)])
def test_a_marker_of_another_producer_that_cannot_be_read_hides_nothing(
    pid: int, answer: str, tmp_path: Path
) -> None:
    (one, *_) = (x for x in ABSENT if x.code == "marker_without_transaction")
    made = dumped("plain", COMMIT, f"commit pid={pid} ckey=ffff0000", COMMIT)
    finding = replace(one, evidence=((MARKER, "t-0", 3),)).finding(made.write(tmp_path))
    assert recheck(finding, [tmp_path])[0] == answer


def test_offsets_that_are_missing_hold_no_marker_in_this_copy(tmp_path: Path) -> None:
    (one, *_) = (x for x in ABSENT if x.code == "missing_marker_in_listed_partition")
    for number, (behind, answer) in enumerate(
        (
            ("plain offset=9", CONFIRMED),
            (f"{IN_TIME} offset=9", REFUTED),
            ("commit pid=7 epoch=0 offset=9", HOLDS),
            ("plain flip=-1 keep_crc", CONFIRMED),
            ("commit pid=8 flip=-1 keep_crc", HOLDS),
        )
    ):
        root = tmp_path / str(number)
        finding = one.finding(dumped(DATA, behind, states=WHOLE).write(root))
        assert recheck(finding, [root])[0] == answer, behind


@pytest.mark.parametrize(
    ("states", "answer"),
    [
        (WHOLE[:2], CONFIRMED),
        (WHOLE[:1], HOLDS),
        (WHOLE[:3], HOLDS),
        (run("Empty", "Ongoing", pid=8), HOLDS),
        (ELSEWHERE[:1], HOLDS),
    ],
)
def test_what_cannot_be_read_is_no_marker_of_what_its_coordinator_runs(
    states: tuple[State, ...], answer: str, tmp_path: Path
) -> None:
    (one, *_) = (x for x in ABSENT if x.code == "lso_stuck")
    made = dumped(DATA, "commit pid=8 flip=-1 keep_crc", states=states)
    finding = one.finding(made.write(tmp_path))
    assert recheck(finding, [tmp_path], as_of=T0 + 3_600_000)[0] == answer


@pytest.mark.parametrize(
    ("begun", "name", "answer"),
    [
        (0, 9, CONFIRMED),
        (0, 8, HOLDS),  # the gap goes on behind the snapshot
        (-1, 9, HOLDS),  # the marker was in the gap
        (5, 9, HOLDS),  # so was that of these data, and the next transaction is open
    ],
)
def test_a_snapshot_behind_a_gap_shows_what_is_still_open(
    begun: int, name: int, answer: str, tmp_path: Path
) -> None:
    made = Dumped({"t-0": [DATA, "plain offset=9"]}, HANGING.dump.states)
    finding = HANGING.finding(made.write(tmp_path))
    path = tmp_path / "t-0" / f"{name:020}.snapshot"
    path.write_bytes(snapshot(current_txn_first_offset=begun))
    assert recheck(finding, [tmp_path])[0] == answer
    path.write_bytes(snapshot(current_txn_first_offset=begun)[:-1])
    assert recheck(finding, [tmp_path])[0] == HOLDS


# Fields that hide where a batch ends: (byte position in it, bytes).
UNREAD = {
    "magic": (MAGIC, b"\x09"),
    "length too small": (8, bytes(4)),
    "too large": (8, b"\x7f" * 4),
}


@pytest.mark.parametrize("unread", UNREAD)
@pytest.mark.parametrize(
    ("log", "there", "answer"),
    [
        (["plain", DATA, "plain"], 0, CONFIRMED),
        (["plain", DATA, ABORT], 0, REFUTED),
        ([DATA, "plain", "plain"], 1, HOLDS),
        ([DATA, "plain", ABORT], 1, REFUTED),
    ],
)
def test_behind_a_batch_that_cannot_be_read_the_next_ones_are(
    unread: str, log: list[str], there: int, answer: str, tmp_path: Path
) -> None:
    """It is no place where a marker of data behind it may be; behind the data it is one."""
    places = Dumped({"t-0": log}, HANGING.dump.states).write(tmp_path)
    file, begin, _ = places["t-0", there]
    content = bytearray((tmp_path / file).read_bytes())
    position, wrong = UNREAD[unread]
    content[begin + position : begin + position + len(wrong)] = wrong
    (tmp_path / file).write_bytes(content)
    places["t-0", 0] = places["t-0", log.index(DATA)]
    told = recheck(HANGING.finding(places), [tmp_path])
    assert told[0] == answer, told


@pytest.mark.parametrize(
    ("reason", "answer"),
    [
        ("txnlog_not_dumped", CONFIRMED),
        ("dump_before_event", CONFIRMED),
        ("config_unknown", HOLDS),
        (None, HOLDS),
    ],
)
def test_a_coordinators_log_that_cannot_be_read_is_what_such_a_finding_says(
    reason: str | None, answer: str, tmp_path: Path
) -> None:
    places = HANGING.dump.write(tmp_path)
    content = bytearray((tmp_path / STATES / LOG).read_bytes())
    content[-1] ^= 1
    (tmp_path / STATES / LOG).write_bytes(content)
    told = recheck(HANGING.finding(places) | {"reason": reason}, [tmp_path])
    assert told[0] == answer and told[1].startswith(f"{STATES} cannot be read behind"), told
    gap = Dumped({"t-0": [DATA, "plain offset=9"]}, HANGING.dump.states)
    finding = HANGING.finding(gap.write(tmp_path / "gap")) | {"reason": reason}
    told = recheck(finding, [tmp_path / "gap"])
    assert told == (HOLDS, "offsets 1 to 8 are not in this copy")


def test_what_an_append_left_at_the_end_is_not_of_the_log(tmp_path: Path) -> None:
    for number, end in enumerate(("cut 9", "zeros 200", "bytes 00ff")):
        made = Dumped({"t-0": [DATA, "plain", end]}, HANGING.dump.states)
        finding = HANGING.finding(made.write(tmp_path / str(number)))
        assert recheck(finding, [tmp_path / str(number)])[0] == CONFIRMED


def test_a_clients_clock_alone_does_not_show_that_data_are_young(tmp_path: Path) -> None:
    (one, *_) = (x for x in ABSENT if x.code == "lso_stuck")
    finding = one.finding(dumped("txn pid=7 at=864000").write(tmp_path))
    told = recheck(finding, [tmp_path], as_of=T0 + 3_600_000)
    assert told[0] == HOLDS and told[1].endswith("no broker tells"), told


def test_data_behind_a_decision_may_be_of_the_next_transaction(tmp_path: Path) -> None:
    (one,) = (x for x in ABSENT if x.code.startswith("missing") and x.dump.states == WHOLE
              and x.evidence[0][1] == "t-0" and x.more == {})  # fmt: skip
    made = dumped(DATA, "commit pid=7 at=3", "txn pid=7 at=9", states=WHOLE)
    places = made.write(tmp_path)
    places["t-0", 0] = places["t-0", 2]
    told = recheck(one.finding(places), [tmp_path])
    assert told == (HOLDS, "the data may be of a transaction behind the decision")


def test_a_prepare_record_may_be_missing_before_its_complete_record(tmp_path: Path) -> None:
    (one,) = (x for x in DECIDED if x.dump.states == (RAISED[0], RAISED[-1]))
    finding = one.finding(replace(one.dump, states=RAISED[-1:]).write(tmp_path / "one"))
    told = recheck(finding, [tmp_path / "one"])
    assert told == (HOLDS, "only the Complete record of the decision is left")
    finding = one.finding(one.dump.write(tmp_path / "gap"))
    path = tmp_path / "gap" / STATES / LOG
    first, last = RAISED[0].batch(0), RAISED[-1].batch(2)
    path.write_bytes(first + last)
    told = recheck(finding, [tmp_path / "gap"])
    assert told == (HOLDS, "offsets 1 to 1 are not in this copy")


def test_a_record_that_cannot_be_read_may_be_the_one_that_is_missing(tmp_path: Path) -> None:
    odd = State("", stored=b"\0\0\0")
    for number, name in enumerate(("x", "y")):
        made = replace(HANGING.dump, states=(*WHOLE, replace(odd, name=name)))
        finding = HANGING.finding(made.write(tmp_path / str(number)))
        told = recheck(finding, [tmp_path / str(number)])[0]
        assert told == (HOLDS if name == "x" else CONFIRMED)


def test_each_place_is_rechecked_where_its_evidence_is_known(tmp_path: Path) -> None:
    lines = [DATA, "plain"]
    for number, there in enumerate((lines, [DATA, ABORT])):
        root = tmp_path / str(number)
        made = Dumped({"t-0": lines, "t-1": there}, WHOLE)
        finding = HANGING.finding(made.write(root)) | {"byte_position": 0}
        places = [
            {"topic": "t", "partition": one, "file": f"t-{one}/{LOG}", "byte_position": 0}
            for one in (0, 1)
        ]
        told = recheck(finding | {"places": places}, [root])
        wanted = ((CONFIRMED, "(2 of 2 places)"), (REFUTED, "(place 2 of 2)"))
        assert (told[0], told[1].endswith(wanted[number][1])) == (wanted[number][0], True), told


def test_a_place_may_be_the_entry_of_a_snapshot(tmp_path: Path) -> None:
    """Where retention took the data, the snapshot in front of the log has them open."""
    begin = SNAPSHOT_HEAD.size
    name = "t-1/00000000000000000001.snapshot"
    for number, there in enumerate(("plain offset=1", "abort pid=7 epoch=0 offset=1")):
        root = tmp_path / str(number)
        made = Dumped({"t-0": [DATA, "plain"], "t-1": [there]}, WHOLE, {name: snapshot()})
        finding = HANGING.finding(made.write(root)) | {"byte_position": 0}
        places = [
            {"topic": "t", "partition": 0, "file": f"t-0/{LOG}", "byte_position": 0},
            {"topic": "t", "partition": 1, "file": name, "byte_position": begin},
        ]
        told = recheck(finding | {"places": places}, [root])
        assert told[0] == (CONFIRMED, REFUTED)[number], told


@pytest.mark.parametrize("old", ["v0", "plain"])
def test_what_cannot_be_read_at_the_end_is_no_log(old: str, tmp_path: Path) -> None:
    finding = Shown("hw_beyond_log_end", Dumped(), Dumped(), ()).finding({}) | {"file": None}
    for damage, answer in (("flip=-1 keep_crc", CONFIRMED), ("", REFUTED)):
        dumped(old, f"{old} {damage}", high="t 0 2").write(tmp_path)
        assert recheck(finding, [tmp_path])[0] == answer


def test_the_folder_of_a_partition_is_that_of_the_broker(tmp_path: Path) -> None:
    logs = {"a/t-0": ["plain"], "b/t-0": ["plain", "plain"]}
    files = {f"{one}/meta.properties": f"node.id={one == 'b':d}\n".encode() for one in "ab"}
    files |= {f"{one}/{SIDE_FILES['high']}": checkpoint("t 0 2") for one in "ab"}
    Dumped(logs, files=files).write(tmp_path)
    finding = Shown("hw_beyond_log_end", Dumped(), Dumped(), ()).finding({}) | {"file": None}
    told = [recheck(finding | {"broker": one}, [tmp_path])[0] for one in (0, 1, None)]
    assert told == [CONFIRMED, REFUTED, HOLDS]


def test_results_are_counted_once_a_finding_and_refuted_ones_are_told(tmp_path: Path) -> None:
    found = HANGING.finding(HANGING.dump.write(tmp_path)) | {"broker": 1, "byte_position": 0}
    one = {"topic": "t", "partition": 0, "file": f"t-0/{LOG}", "byte_position": 0}
    places = [one | {"broker": 1}, one | {"broker": 2}]
    rows = [found | one | {"places": places} for one in places]
    rows += [found | {"places": None}, found | {"places": None, "producer_id": 8}]
    results = Rechecked()
    results.take("here", with_recheck(rows, tmp_path, T0))
    counts = results.by_code["hanging_transaction"]
    assert counts == {REFUTED: 1, CONFIRMED: 2}
    assert [one.split(": ")[:2] for one in results.refuted] == [["refuted", "here"]]
    assert results.table().splitlines()[-1] == "| all | 2 | 0 | 1 | 0 |"


def test_a_partition_folder_that_was_audited_is_the_dump(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are told with its name; of several, as of other folders, behind their labels."""
    found = HANGING.finding(HANGING.dump.write(tmp_path))
    alone, states = tmp_path / "t-0", tmp_path / STATES
    of_log = [one for one in found["evidence"] if one["file"].startswith("t-0/")]
    for evidence_only, result in ((False, HOLDS), (True, HOLDS)):
        told = recheck(found | {"evidence": of_log}, [alone], evidence_only, T0)
        assert told[0] == result, told
    monkeypatch.chdir(alone)
    assert recheck(found | {"evidence": of_log}, [Path()], False, T0)[0] == HOLDS
    labelled = [one | {"file": f"{one['file'].partition('/')[0]}/{one['file']}"}
                for one in found["evidence"]]  # fmt: skip
    both = found | {"evidence": labelled, "file": f"t-0/{found['file']}"}
    assert recheck(both, [alone, states], False, T0)[0] == CONFIRMED
    # The twins: the folder around them, and one of another name.
    assert recheck(found, [tmp_path], False, T0)[0] == CONFIRMED
    assert recheck(both | {"producer_id": 8}, [alone, states], False, T0)[0] == REFUTED
    alone.rename(tmp_path / "u-0")
    assert recheck(found, [tmp_path / "u-0"], False, T0)[0] == UNDECIDED


def test_checkpoints_around_a_partition_folder_are_not_of_its_audit(tmp_path: Path) -> None:
    dumped("plain", high="t 0 9").write(tmp_path)
    finding = Shown("hw_beyond_log_end", Dumped(), Dumped(), ()).finding({})
    assert recheck(finding, [tmp_path])[0] == CONFIRMED
    assert recheck(finding, [tmp_path / "t-0"])[0] == UNDECIDED


def test_copies_behind_links_are_of_the_dump(tmp_path: Path) -> None:
    """As an audit follows them; a loop of them ends."""
    lacks_it = {f"b/{STATES}/{LOG}": State("Empty", name="y").batch(0)}
    made = Dumped(states=(State("Empty"),), files=lacks_it)
    root, elsewhere = tmp_path / "dump", tmp_path / "elsewhere"
    one = shown("txnlog_replica_divergence", made, made, ("", STATES, 0))
    finding = one.finding(made.write(root))
    (root / "b").rename(elsewhere)
    assert recheck(finding, [root]) == (HOLDS, f"no other copy of {STATES} is in the dump")
    folders_of.cache_clear()
    (root / "b").symlink_to(elsewhere)
    (elsewhere / "loop").symlink_to(root)
    assert recheck(finding, [root])[0] == CONFIRMED


def test_a_file_that_cannot_be_read_is_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = HANGING.finding(HANGING.dump.write(tmp_path))
    opened = Path.open
    for number, name in enumerate((LOG, "anything else")):

        def refuse(path: Path, *how: Any, unreadable: str = name) -> Any:
            if path.name == unreadable:
                raise PermissionError(13, "Permission denied", str(path))
            return opened(path, *how)

        monkeypatch.setattr(Path, "open", refuse)
        told = recheck(finding, [tmp_path])
        assert told[0] == (UNDECIDED, CONFIRMED)[number]
        assert number or told[1].endswith("t-0/" + LOG + " cannot be read: Permission denied")
        monkeypatch.undo()
