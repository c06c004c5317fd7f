"""Copies of one history that were cleaned at other moments never contradict each other.

The model of the cleaner is that of docs/kafka-rules.md, written anew here.
"""

from dataclasses import dataclass, replace
from io import BytesIO
from random import Random
from typing import Any

import pytest
from split_rows import rows_of_split

from schemas import log_row
from tests.wire_writer import batches as writer
from udfs.arrow.batches import DecodeOptions
from udfs.arrow.retained_differences import contradictions
from udfs.arrow.retained_records import KEY, OUTCOME, RECORD, UNREAD

LIMIT = 1 << 20
OPTIONS = DecodeOptions(LIMIT, LIMIT, 0, with_records=True)
BUCKETS = 3
HISTORIES = 40


@dataclass(frozen=True)
class Batch:
    """A data batch of one record, or a marker: `end` is the offset of the marker of its data."""

    offset: int
    pid: int
    sequence: int = -1
    key: bytes | None = None
    value: bytes | None = None
    commit: bool | None = None
    end: int | None = None
    committed: bool = True
    empty: bool = False
    horizon: bool = False

    def stored(self) -> bytes:
        """As bytes."""
        horizon = 1 << 40 if self.horizon else None
        if self.commit is not None:
            return writer.marker(
                self.offset, self.pid, 0, self.commit, 0, 0, delete_horizon=horizon
            )
        one = [] if self.empty else [writer.record(0, key=self.key, value=self.value)]
        return writer.batch(
            self.offset, one, base_timestamp=0, producer_id=self.pid,
            producer_epoch=0 if self.pid >= 0 else -1, base_sequence=self.sequence,
            transactional=self.pid >= 0, last_offset_delta=0, delete_horizon=horizon,
        )  # fmt: skip


def history(random: Random) -> list[Batch]:
    """Transactions of three producers and plain records over five keys; none is left open."""
    log: list[Batch] = []
    opened: dict[int, list[int]] = {}
    sequence = dict.fromkeys(range(3), 0)

    def end(pid: int) -> None:
        commit, at = random.random() < 0.6, len(log)
        for i in opened.pop(pid):
            log[i] = replace(log[i], end=at, committed=commit)
        log.append(Batch(at, pid, commit=commit))

    for _ in range(random.randint(10, 60)):
        pid = random.randrange(-1, 3)
        if pid in opened and random.random() < 0.4:
            end(pid)
            continue
        value = None if random.random() < 0.3 else b"%d" % len(log)
        one = Batch(len(log), pid, key=b"key%d" % random.randrange(5), value=value)
        if pid >= 0:
            one = replace(one, sequence=sequence[pid])
            sequence[pid] += 1
            opened.setdefault(pid, []).append(len(log))
        log.append(one)
    for pid in list(opened):
        end(pid)
    return log


def clean(log: list[Batch], reach: int, random: Random) -> list[Batch]:
    """One pass over the offsets below `reach`."""
    dirty = [one for one in log if one.offset < reach]
    newest = {one.key: one.offset for one in dirty if one.key and one.committed and not one.empty}
    needed = {one.end for one in dirty if one.commit is None}
    kept = []
    for one in log:
        if one.offset >= reach:
            kept.append(one)
        elif one.commit is not None:
            if one.offset in needed or not one.horizon or random.random() < 0.3:
                kept.append(replace(one, horizon=one.horizon or one.offset not in needed))
        elif one.empty or not one.committed or newest[one.key] > one.offset:
            # The last batch of a producer stays, without its record.
            if one.pid >= 0 and random.random() < 0.2:
                kept.append(replace(one, empty=True, horizon=False))
        elif one.value is not None:
            kept.append(one)
        elif not one.horizon or random.random() < 0.3:
            kept.append(replace(one, horizon=True))
    return kept


def last_stable(log: list[Batch], limit: int) -> int:
    """Up to `limit`, the offset behind which no transaction is open."""
    return min([limit, *[one.offset for one in log if one.end is not None and one.offset < limit
                         and one.end >= limit]])  # fmt: skip


def cleaned_copy(log: list[Batch], random: Random) -> tuple[list[Batch], int]:
    """A copy after some passes, and how far the last one came."""
    copy, reach = log, 0
    for _ in range(random.randrange(5)):
        reach = max(reach, last_stable(log, random.randint(reach, len(log))))
        copy = clean(copy, reach, random)
    return copy, reach


def cells(copy: list[Batch], index: int, reach: int, size: int) -> list[dict[str, Any]]:
    """Rows of RETAINED_RECORDS_TYPE of a copy, with its number."""
    content = b"".join(one.stored() for one in copy)
    split = {
        "partition_index": index, "file_index": index, "topic": "t", "partition": 0,
        "kind": "segment", "file_size": len(content), "base_offset": 0, "next_base_offset": None,
        "cleaned_below": reach, "high_watermark": None, "length": size, "cuts": None,
        "snapshots": None, "log_start": None, "cleaner_reach": reach, "buckets": BUCKETS,
    }  # fmt: skip
    return [
        row["retained_records"] | {"partition_index": index, "file_index": index}
        for start in range(0, len(content), size)
        for row in rows_of_split(BytesIO(content), split | {"start": start}, OPTIONS)
        if row["kind"] == log_row.RETAINED_RECORDS
    ]


def found(
    one: list[Batch], other: list[Batch], reach: int, end: int, size: int = LIMIT
) -> list[dict[str, Any]]:
    """What contradicts between two copies whose logs end at `end`."""
    held = cells(one, 0, reach, size) + cells(other, 1, reach, size)
    assert all(cell["compared"] != UNREAD for cell in held)
    copies = [
        {"partition_index": index, "log_start_offset": 0, "replicated_below": end,
         "log_end_offset": end, "unread": False, "one_instant": True}
        for index in range(2)
    ]  # fmt: skip
    pair = {"one": copies[0], "other": copies[1]}
    rows = []
    for what, bucket in sorted({(cell["compared"], cell["bucket"]) for cell in held}):
        here = [cell for cell in held if (cell["compared"], cell["bucket"]) == (what, bucket)]
        rows += contradictions(
            {"replica_set": 0, "compared": what, "reach": reach, "pairs": [pair], "cells": here}
        )
    return rows


@pytest.mark.parametrize(("size", "histories"), [(LIMIT, HISTORIES), (500, 8)])
def test_cleaning_at_other_moments_contradicts_nothing(size: int, histories: int) -> None:
    for seed in range(histories):
        random = Random(seed)
        log = history(random)
        (one, reach), (other, further) = (cleaned_copy(log, random) for _ in range(2))
        if max(reach, further):
            assert found(one, other, max(reach, further), len(log), size) == [], seed


def test_every_marker_that_data_needs_is_missed() -> None:
    missed = 0
    for seed in range(HISTORIES):
        random = Random(seed)
        log = history(random)
        (one, _), (other, _) = (cleaned_copy(log, random) for _ in range(2))
        needed = {batch.end for batch in one if batch.end is not None and not batch.empty}
        for marker in [batch for batch in other if batch.offset in needed][:2]:
            without = [batch for batch in one if batch.offset != marker.offset]
            rows = [row for row in found(without, other, len(log), len(log))
                    if row["difference"] == OUTCOME]  # fmt: skip
            assert [row["marker_offset"] for row in rows] == [marker.offset], seed
            assert rows[0]["one_index"] == 0
            missed += 1
    assert missed > HISTORIES / 2


def test_how_a_transaction_ends_without_its_marker_is_told() -> None:
    data = [Batch(at, 1, sequence=i, key=b"k%d" % i, value=b"v") for i, at in enumerate((0, 1, 3))]
    commit, abort = Batch(2, 1, commit=True), Batch(4, 1, commit=False)
    whole = [*data[:2], commit, data[2], abort]
    for lacking, told in (
        ([*data, abort], "aborted at offset 4"),
        (data, "open"),
    ):
        # Of splits of one batch, each tells its data.
        rows = found(lacking, whole, 5, 5, 80)
        ends = {row["one_end"] for row in rows if row["difference"] == OUTCOME}
        assert ends == {told}


def test_a_value_that_nothing_replaced_is_missed() -> None:
    old, tombstone, end = Batch(0, -1, key=b"k", value=b"v"), Batch(1, -1, key=b"k"), Batch(
        2, -1, key=b"other", value=b"v"
    )  # fmt: skip
    assert found([old, tombstone, end], [end], 3, 3) == []
    (row,) = found([old, end], [end], 3, 3)
    assert (row["difference"], row["offset"], row["one_index"], row["other"]) == (KEY, 0, 0, None)


def test_a_record_that_is_another_one_is_told_with_both_places() -> None:
    first = Batch(0, -1, key=b"k", value=b"v")
    one, other = (Batch(1, -1, key=b"other", value=value) for value in (b"v", b"w"))
    (row,) = found([first, one], [first, other], 2, 2)
    assert (row["difference"], row["offset"], row["number"]) == (RECORD, 1, 1)
    assert row["one"]["position"] == row["other"]["position"] == len(first.stored())
