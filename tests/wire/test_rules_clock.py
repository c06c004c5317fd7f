"""Moments of brokers, and what is never taken for one."""

import re
from pathlib import Path

import numpy as np

from udfs.rules.clock import LONGEST_PAUSE_MS, counted_pause, covers, is_broker_clock

ROOT = Path(__file__).resolve().parents[2]
# Where a client's timestamp of data may be read: the expiry of producer state, the age that is told
# beside a proof, and what is shown.
CLIENT_TIME = re.compile(r"\b(?:first|last)_timestamp\b")
MAY_READ = {
    "jobs/replay/coordinator_log.py",  # of records of the coordinator
    "jobs/replay/producers.py",
    "jobs/replay/transactions.py",
    "jobs/verify/contexts/append_bound.py",
    "jobs/verify/checks/producer/producer_timestamp_expired_state.py",
    "jobs/verify/contexts/decided/data.py",  # of batches that the broker stamped
    "jobs/verify/contexts/decided/places.py",  # which of several decisions is named, no verdict
    "jobs/verify/contexts/offset_transaction.py",  # stamped by the group's coordinator
    "jobs/verify/contexts/open_coordinator.py",  # of what a coordinator stamped
    "jobs/verify/contexts/open_transaction.py",
    "jobs/verify/contexts/producer.py",  # of batches that the broker stamped
    "jobs/verify/contexts/run.py",
    "jobs/verify/contexts/transaction.py",
}


def test_brokers_stamp_markers_what_has_log_append_time_and_logs_of_coordinators() -> None:
    marker, appended = np.array([True, False, False]), np.array([False, True, False])
    assert is_broker_clock(marker, appended, False).tolist() == [True, True, False]
    assert is_broker_clock(marker, appended, True).tolist() == [True, True, True]


def test_a_copy_holds_what_another_clock_saw_only_with_the_tolerance() -> None:
    moments = np.array([89, 90, 91])
    assert covers(np.int64(100), moments, 10).tolist() == [True, True, False]
    farthest = np.iinfo(np.int64).max
    assert not covers(np.int64(0), np.int64(farthest), 60_000)


def test_a_long_pause_counts_as_a_short_one() -> None:
    pauses = np.array([-5, 0, 7, LONGEST_PAUSE_MS + 1])
    assert counted_pause(pauses).tolist() == [0, 0, 7, LONGEST_PAUSE_MS]


def test_no_other_code_reads_when_a_client_says_that_it_wrote() -> None:
    reading = {
        str(path.relative_to(ROOT))
        for room in ("replay", "verify", "audit")
        for path in (ROOT / "jobs" / room).rglob("*.py")
        if CLIENT_TIME.search(path.read_text("utf-8"))
    }
    assert reading <= MAY_READ, reading - MAY_READ
