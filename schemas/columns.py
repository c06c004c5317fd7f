"""How columns are written down: type, comment, nullability in one call each."""

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)


def column(name: str, data_type: DataType, comment: str, nullable: bool = True) -> StructField:
    """A column with its comment, which reaches the Delta table and `docs/tables.md`."""
    return StructField(name, data_type, nullable, {"comment": comment})


def long(name: str, comment: str) -> StructField:
    """A 64-bit integer column: offsets, producer ids, timestamps in ms, byte positions."""
    return column(name, LongType(), comment)


def integer(name: str, comment: str) -> StructField:
    """A 32-bit integer column: partitions, epochs, sequences, counts."""
    return column(name, IntegerType(), comment)


def string(name: str, comment: str) -> StructField:
    """A text column."""
    return column(name, StringType(), comment)


def boolean(name: str, comment: str) -> StructField:
    """A yes/no column."""
    return column(name, BooleanType(), comment)


def binary(name: str, comment: str) -> StructField:
    """A column of bytes."""
    return column(name, BinaryType(), comment)


def array(name: str, element: DataType, comment: str) -> StructField:
    """A column that holds a list."""
    return column(name, ArrayType(element), comment)


AUDIT_ID = column("audit_id", StringType(), "digest of input, configuration and code", False)

PLACE = (
    integer("broker", "broker id from meta.properties; null if unknown"),
    string("topic", "topic name"),
    integer("partition", "partition number"),
)
"""Where a row belongs: the first columns of most tables."""


def table(*fields: StructField) -> StructType:
    """A schema from its columns."""
    return StructType(list(fields))
