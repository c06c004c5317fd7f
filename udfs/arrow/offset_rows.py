"""Records of `__consumer_offsets` as rows (`OffsetMetadataManager`).

Plain commits are most of this log, and no rule needs them one by one. The order in which commits
took effect is replayed within the split; only commits near its ends are passed on, packed.
"""

from collections.abc import Generator, Iterator
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas import log_row
from udfs.arrow.blocks import pack_block
from udfs.arrow.offsets_split import OffsetsSplit
from udfs.arrow.rows import RowBuilder, Rows
from udfs.wire.batches.batch_headers import Int64s
from udfs.wire.offsets.offset_replay import Commits, InEffect, take_effect, went_back

BLOCK_SCHEMA: pa.Schema = to_arrow_schema(log_row.OFFSET_COMMIT)
BLOCK_COMMITS = 32_768
ROWS_PER_BATCH = 16_384

Row = dict[str, Any]


def _blocks(
    split: OffsetsSplit, commits: Commits, record: Int64s, effect: InEffect
) -> Iterator[Row]:
    """Commits near the ends of the split, packed."""
    kept = np.flatnonzero(effect.at_edge)
    if not kept.size:
        return
    index = effect.record[kept]
    rows = pa.RecordBatch.from_arrays(
        [
            *split.name_columns(record[index]),
            split.events(commits, index, record[index], effect.effective[kept]),
            pa.array(effect.ordinal[kept].astype(np.int32)),
            pa.array(effect.number[kept].astype(np.int32)),
        ],
        schema=BLOCK_SCHEMA,
    )
    transactional = commits.producer_id[index] >= 0
    for at in range(0, kept.size, BLOCK_COMMITS):
        yield {
            "number": min(BLOCK_COMMITS, kept.size - at),
            "transactional": int(transactional[at : at + BLOCK_COMMITS].sum()),
            "commits": pack_block(rows.slice(at, BLOCK_COMMITS)),
        }


def _late_commits(
    split: OffsetsSplit, commits: Commits, record: Int64s, effect: InEffect
) -> Iterator[Row]:
    for here in went_back(commits, effect).tolist():
        row = split.names(int(record[effect.record[here]]))
        for name, step in (("replaced", -1), ("late", 0), ("following", 1)):
            i = int(effect.record[here + step])
            effective = int(effect.effective[here + step])
            row[name] = split.event(commits, i, int(record[i]), effective)
        yield row


def offset_rows(builder: RowBuilder, split: OffsetsSplit) -> Generator[Rows, None, Row]:
    """Yields rows of all kinds of this topic, and returns what the summary says."""
    commits, record = split.commits()
    effect, pending = take_effect(commits, split.markers())
    misplaced, of_summary = split.placement()
    waiting = (
        split.names(int(record[i]))
        | {"commit": split.event(commits, i, int(record[i]), None), "ordinal": 0, "number": 1}
        for i in pending.tolist()
    )
    kinds: tuple[tuple[int, str, Iterator[Row]], ...] = (
        (log_row.GROUP_FAULT, "group_fault", chain(split.faults(), misplaced)),
        (log_row.PENDING_COMMIT, "pending", waiting),
        (log_row.LATE_COMMIT, "late_commit", _late_commits(split, commits, record, effect)),
        (log_row.COMMITS, "commits", _blocks(split, commits, record, effect)),
    )
    for kind, column, rows in kinds:
        while some := list(islice(rows, ROWS_PER_BATCH)):
            yield builder.nested(kind, column, some)
    return of_summary
