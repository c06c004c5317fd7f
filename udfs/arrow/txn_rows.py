"""Transactions that the decoder folded away, as rows of the table `txn`."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.txn import TXN
from udfs.arrow.blocks import Unpack, unpack_blocks

SCHEMA: pa.Schema = to_arrow_schema(TXN)
OUTCOMES = pa.array(["abort", "commit"])


class Place(NamedTuple):
    """A copy of a partition: as `schemas.columns.PLACE`."""

    broker: int | None
    topic: str
    partition: int


def folded_as_txn(places: Mapping[int, Place], audit_id: str) -> Unpack:
    """For `mapInArrow` over partition_index and blocks of `log_row.REGULAR_TXN`: rows of TXN.

    `places`: by partition_index. Text is dictionary-encoded. Their beginning is always known: what
    was folded away follows a marker of its producer or the beginning of the log.
    """
    topics = sorted({place.topic for place in places.values()})

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for block in unpack_blocks(batches):
            number = block.num_rows
            place = places[block.column("partition_index")[0].as_py()]
            made = {
                "audit_id": _repeated(pa.array([audit_id]), 0, number),
                "broker": pa.repeat(pa.scalar(place.broker, pa.int32()), number),
                "topic": _repeated(pa.array(topics), topics.index(place.topic), number),
                "partition": pa.repeat(pa.scalar(place.partition, pa.int32()), number),
                "outcome": pa.DictionaryArray.from_arrays(
                    block.column("marker_commit").cast(pa.int8()), OUTCOMES
                ),
                "head_known": pa.repeat(True, number),
            }
            columns = [
                made[field.name] if field.name in made else block.column(field.name)
                for field in SCHEMA
            ]
            yield pa.RecordBatch.from_arrays(columns, names=SCHEMA.names)

    return rows


def _repeated(texts: pa.Array, which: int, number: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(which, pa.int32()), number), texts)
