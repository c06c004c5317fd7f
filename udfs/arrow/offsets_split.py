"""The records of one split of `__consumer_offsets`, read."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_schema

from schemas import log_row
from udfs.arrow.batches import DecodedBatches
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.sections import Sections, sections
from udfs.wire.batches import faults, records
from udfs.wire.batches.batch_headers import BatchHeaders, Bools, Int64s
from udfs.wire.coordinator.txn_log import placing_hash
from udfs.wire.distinct import Distinct
from udfs.wire.errors import WireError
from udfs.wire.offsets import offsets_log
from udfs.wire.offsets.offset_commits import Keys, read_commits
from udfs.wire.offsets.offset_replay import Commits, Markers
from udfs.wire.offsets.offsets_log import GroupKey

UNDECODABLE, MISPLACED = "undecodable", "misplaced"
EVENT_FIELDS = list(to_arrow_schema(log_row.COMMIT_EVENT))
# A key that cannot be decoded has no kind; kinds are 16-bit numbers.
NO_KIND = -(1 << 16)
NO_KEY = offsets_log.GroupKey(NO_KIND, None)

Row = dict[str, Any]


class OffsetsRecords(NamedTuple):
    """Records, one array element each.

    `batch`: index of the batch; `key`: number of the key; `committed`: the offset committed, -1
    for what is no commit or has no value; `error`: why it cannot be decoded, else None.
    """

    batch: Int64s
    offset: Int64s
    key: Int64s
    committed: Int64s
    has_value: Bools
    error: NDArray[np.object_]


def _read(part: Sections, headers: BatchHeaders, keys: Keys) -> OffsetsRecords:
    """Keys and values of some sections."""
    data = part.data
    counts = headers.record_count[part.batch]
    spans = part.find_spans(data, part.start, part.end, counts)
    batch = part.batch[spans[records.SECTION]]
    key = keys.number(data.tobytes(), spans)
    kinds = [NO_KIND if one is None else one.type for one in keys.decoded]
    kind = np.array(kinds, dtype=np.int64)[key]
    start, length = spans[records.VALUE_START], spans[records.VALUE_LENGTH]
    error = np.full(key.size, None, dtype=object)
    for record in np.flatnonzero(np.isin(key, list(keys.errors))).tolist():
        error[record] = keys.errors[int(key[record])]
    committed = np.full(key.size, -1, dtype=np.int64)
    commits = np.flatnonzero(np.isin(kind, offsets_log.OFFSET_COMMIT_TYPES))
    committed[commits], wrong = read_commits(data, start[commits], length[commits])
    for i, text in wrong.items():
        error[commits[i]] = text
    of_groups = (kind == offsets_log.GROUP_METADATA_TYPE) & (length >= 0)
    for record in np.flatnonzero(of_groups).tolist():
        error[record] = _fault_of_group(data[start[record] : start[record] + length[record]])
    offset = headers.base_offset[batch] + spans[records.OFFSET_DELTA]
    return OffsetsRecords(batch, offset, key, committed, length >= 0, error)


def _fault_of_group(value: NDArray[np.uint8]) -> str | None:
    try:
        offsets_log.decode_group_metadata(value.tobytes())
    except WireError as error:
        return f"{error.reason}: {error.detail}"
    return None


def offsets_split(
    source: ByteRange, decoded: DecodedBatches, split: Row, limit: int
) -> "OffsetsSplit":
    """Reads keys and values of a split; `limit` bounds a decompressed batch, bytes."""
    keys = Keys()
    parts = [_read(part, decoded.headers, keys) for part in sections(source, decoded, limit)]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return OffsetsSplit(
        keys, OffsetsRecords._make(column[order] for column in columns), decoded, split
    )


class OffsetsSplit:
    """The records of one split of `__consumer_offsets`, in log order."""

    def __init__(
        self,
        keys: Distinct[Any, GroupKey],
        read: OffsetsRecords,
        decoded: DecodedBatches,
        split: Row,
    ):
        """`keys`: the keys that `read` numbers."""
        self._decoded, self._split = decoded, split
        self._keys, self._read = keys, read
        self._faulty = np.array([text is not None for text in self._read.error], dtype=np.bool_)
        kinds = [NO_KIND if key is None else key.type for key in self._keys.decoded]
        self._kind = np.array(kinds, dtype=np.int64)[self._read.key]

    def faults(self) -> Iterator[Row]:
        """Rows of the records that cannot be decoded."""
        for record in np.flatnonzero(self._faulty).tolist():
            yield self._fault(record, UNDECODABLE, self._read.error[record])

    def _fault(self, record: int, fault: str, text: str | None) -> Row:
        headers, batch = self._decoded.headers, self._read.batch[record]
        key = self._keys.decoded[self._read.key[record]]
        return {
            "fault": fault,
            "group": None if key is None else key.group,
            "key": None,
            "alive": None,
            "offset": int(self._read.offset[record]),
            "position": int(headers.position[batch]) + self._split["start"],
            "length": int(headers.length[batch]),
            "error": text,
        }

    def placement(self) -> tuple[list[Row], Row]:
        """Rows of keys of groups that belong elsewhere; what the summary says of partitions.

        The number of partitions is assumed; whether any other number fits all groups, the
        divisors of all splits show together.
        """
        here, assumed = self._split["partition"], self._split["topic_partitions"]
        numbers_of: dict[str, list[int]] = {}
        for number, key in enumerate(self._keys.decoded):
            if key is not None and key.group is not None:
                numbers_of.setdefault(key.group, []).append(number)
        _, first, totals = np.unique(self._read.key, return_index=True, return_counts=True)
        _, behind = np.unique(self._read.key[::-1], return_index=True)
        alive = self._read.has_value[::-1][behind]
        divisor, placed, misplaced = 0, 0, 0
        rows: list[Row] = []
        for group, numbers in numbers_of.items():
            hashed = placing_hash(group)
            divisor = math.gcd(divisor, hashed - here)
            count = int(totals[numbers].sum())
            if hashed % assumed == here:
                placed += count
            else:
                misplaced += count
                rows.extend(
                    self._fault(int(first[number]), MISPLACED, None)
                    | {"key": self._name(number), "alive": bool(alive[number])}
                    for number in numbers
                )
        newer = (self._kind > offsets_log.GROUP_METADATA_TYPE) | (
            (self._kind < 0) & (self._kind != NO_KIND)
        )
        return rows, {
            "skipped_group_records": int(newer.sum()),
            "placed_records": placed,
            "misplaced_records": misplaced,
            "group_divisor": divisor,
        }

    def _name(self, number: int) -> str | None:
        """The partition that a key commits an offset of; None for the record of the group."""
        key = self._keys.decoded[number]
        return None if key is None or key.topic is None else f"{key.topic}-{key.partition}"

    def commits(self) -> tuple[Commits, Int64s]:
        """The commits that could be read, and the record of each."""
        is_commit = np.isin(self._kind, offsets_log.OFFSET_COMMIT_TYPES)
        record = np.flatnonzero(is_commit & ~self._faulty)
        headers, batch = self._decoded.headers, self._read.batch[record]
        owner = np.where(headers.transactional[batch], headers.producer_id[batch], -1)
        commits = Commits(
            key=self._read.key[record],
            offset=self._read.offset[record],
            producer_id=np.maximum(owner, -1),
            committed=self._read.committed[record],
            tombstone=~self._read.has_value[record],
        )
        return commits, record

    def batch_of(self, record: Int64s) -> Int64s:
        """The batch that each of some records lies in, its number in the split."""
        return self._read.batch[record]

    def markers(self) -> Markers:
        """COMMIT and ABORT markers of the split."""
        headers, kind = self._decoded.headers, self._decoded.control_type
        is_marker = (kind == records.COMMIT) | (kind == records.ABORT)
        is_marker &= (self._decoded.fault & faults.NOT_REPLAYED) == 0
        chosen = np.flatnonzero(is_marker)
        return Markers(
            headers.base_offset[chosen], headers.producer_id[chosen], kind[chosen] == records.COMMIT
        )

    def names(self, record: int) -> Row:
        """Group and partition that a commit is for."""
        key = self._keys.decoded[self._read.key[record]]
        if key is None:
            raise ValueError("a commit without a key")
        return {
            "group": key.group,
            "committed_topic": key.topic,
            "committed_partition": key.partition,
        }

    def event(self, commits: Commits, i: int, record: int, effective: int | None) -> Row:
        """One commit as `log_row.COMMIT_EVENT`."""
        headers, batch = self._decoded.headers, self._read.batch[record]
        owner = int(commits.producer_id[i])
        return {
            "record_offset": int(commits.offset[i]),
            "effective_offset": effective,
            "committed_offset": None if commits.tombstone[i] else int(commits.committed[i]),
            "producer_id": owner,
            "producer_epoch": int(headers.producer_epoch[batch]) if owner >= 0 else -1,
            "file_index": self._split["file_index"],
            "position": int(headers.position[batch]) + self._split["start"],
            "length": int(headers.length[batch]),
            "timestamp": int(headers.max_timestamp[batch]),
        }

    def name_columns(self, record: Int64s) -> list[pa.Array]:
        """`names` of many commits, as columns."""
        number = pa.array(self._read.key[record])
        fields = zip(*[key or NO_KEY for key in self._keys.decoded], strict=True)
        _, group, topic, partition = fields
        return [
            pa.array(values, type=kind).take(number)
            for values, kind in (
                (group, pa.string()),
                (topic, pa.string()),
                (partition, pa.int32()),
            )
        ]

    def events(
        self, commits: Commits, index: Int64s, record: Int64s, effective: Int64s
    ) -> pa.StructArray:
        """`event` of many commits, as a column."""
        headers, batch = self._decoded.headers, self._read.batch[record]
        owner = commits.producer_id[index]
        columns = {
            "record_offset": commits.offset[index],
            "effective_offset": effective,
            "committed_offset": commits.committed[index],
            "producer_id": owner,
            "producer_epoch": np.where(owner >= 0, headers.producer_epoch[batch], -1),
            "file_index": np.full(index.size, self._split["file_index"]),
            "position": headers.position[batch] + self._split["start"],
            "length": headers.length[batch],
            "timestamp": headers.max_timestamp[batch],
        }
        null = {"committed_offset": commits.tombstone[index]}
        arrays = [
            pa.array(columns[field.name], mask=null.get(field.name)).cast(field.type)
            for field in EVENT_FIELDS
        ]
        return pa.StructArray.from_arrays(arrays, fields=EVENT_FIELDS)
