"""The logs of tables on a disk of the driver, read and continued without Spark.

Spark plans and runs some four jobs for a commit, however few the rows are, and some more to find
out which files a table has; a small audit has nine to sixteen tables. delta-rs (package deltalake,
by the makers of Delta, Apache-2.0) does the same by the same protocol within milliseconds. It knows
other addresses only by settings of its own, so that what lies in an object store stays Spark's.
"""

import json
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql.types import StructField, StructType

VERSION = 1
# Of tables whose rows are those of their files, all of them.
PLAIN_READER = 1
# Spark takes a path with one of these for a pattern.
OF_PATTERNS = frozenset("{}[]*?\\")
# Audits that end in the same moment, and write into one table.
MOST_TURNS = 50


def is_there() -> bool:
    """Whether the driver has the package."""
    return find_spec("deltalake") is not None


class Stored(NamedTuple):
    """A table as its newest version is: its columns, and the paths of its files."""

    schema: StructType
    files: list[str]


def stored(path: str, audit_id: str | None = None) -> Stored | None:
    """The table at `path`, a folder of this machine. None where only Spark can tell.

    With `audit_id` only files that may have rows of that audit. Only Spark can where the driver
    lacks the package, where files alone do not tell the rows (deletion vectors, renamed or
    partition columns), and where a path would be a pattern.
    """
    if not is_there() or OF_PATTERNS & {*path}:
        return None
    from deltalake import DeltaTable  # noqa: PLC0415
    from deltalake.exceptions import DeltaError  # noqa: PLC0415

    try:
        table = DeltaTable(path)
    except DeltaError:
        return None
    if table.protocol().min_reader_version > PLAIN_READER or table.metadata().partition_columns:
        return None
    files = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    names = [one["path"] for one in files if audit_id is None or _may_have(one, audit_id)]
    # What lies in a folder or at an address of its own was not written by an audit.
    if any({"%", "/"} & {*name} for name in names):
        return None
    schema = StructType.fromJson(json.loads(table.schema().to_json()))
    return Stored(schema, [str(Path(path, name)) for name in names])


def _may_have(file: dict[str, Any], audit_id: str) -> bool:
    """Whether the statistics of a file allow a row of the audit; they may cut long values off."""
    least, most = (file.get(f"{end}.audit_id") for end in ("min", "max"))
    if least is None or most is None:
        return True
    return bool(least <= audit_id and (audit_id <= most or audit_id.startswith(most)))


def append(
    rows: DataFrame, path: str, schema: StructType, app: str, audit_id: str, options: dict[str, str]
) -> None:
    """Appends rows to the table at `path`, a folder of this machine, once for each `app`.

    `rows`: at least the columns of `schema` but `audit_id`; `options`: properties of a table that
    does not exist yet. Raises what deltalake raises.
    """
    # Takes a tenth of a second, and only an audit needs it.
    from deltalake import write_deltalake  # noqa: PLC0415

    found = _typed(rows, schema, audit_id)

    def commit(table: Any, once: Any) -> None:
        write_deltalake(table, found, mode="append", schema_mode="merge", commit_properties=once)

    _commit_once(path, found.schema, app, audit_id, options, commit)


def append_files(
    files: Sequence[Row],
    path: str,
    schema: StructType,
    app: str,
    audit_id: str,
    options: dict[str, str],
) -> None:
    """The same of `files`, rows of DATA_FILE, which lie in the folder `path` already."""
    from deltalake.transaction import AddAction  # noqa: PLC0415

    now = time.time_ns() // 1_000_000
    actions = [AddAction(one.path, one.size, {}, now, True, one.stats) for one in files]

    def commit(table: Any, once: Any) -> None:
        table.create_write_transaction(actions, "append", table.schema(), commit_properties=once)

    _commit_once(path, _arrow_schema(schema), app, audit_id, options, commit)


def has(path: str, app: str) -> bool:
    """Whether the table exists and `app` was added to it."""
    from deltalake import DeltaTable  # noqa: PLC0415

    return DeltaTable.is_deltatable(path) and (
        DeltaTable(path).transaction_version(app) is not None
    )


def lacks_columns(path: str, schema: StructType) -> bool:
    """Whether the table exists, and is of an earlier version that had fewer columns."""
    from deltalake import DeltaTable  # noqa: PLC0415

    if not DeltaTable.is_deltatable(path):
        return False
    return not {*schema.names} <= {field.name for field in DeltaTable(path).schema().fields}


def _commit_once(
    path: str,
    schema: pa.Schema,
    app: str,
    audit_id: str,
    options: dict[str, str],
    commit: Callable[[Any, Any], None],
) -> None:
    """Calls `commit` with the table and the properties of its commit, unless `app` is there."""
    from deltalake import CommitProperties, Transaction  # noqa: PLC0415
    from deltalake.exceptions import CommitFailedError  # noqa: PLC0415

    # A commit that was overtaken is not just repeated: what overtook it may be this very audit.
    once = CommitProperties(
        custom_metadata={"userMetadata": audit_id},
        app_transactions=[Transaction(app, VERSION)],
        max_commit_retries=0,
    )
    for turn in range(1, MOST_TURNS + 1):
        table = _opened(path, schema, options)
        if table.transaction_version(app) is not None:
            return
        try:
            return commit(table, once)
        except CommitFailedError:
            if turn == MOST_TURNS:
                raise


def _opened(path: str, schema: pa.Schema, options: dict[str, str]) -> Any:
    """The newest version of the table, which is made where there is none."""
    from deltalake import DeltaTable  # noqa: PLC0415
    from deltalake.exceptions import DeltaError  # noqa: PLC0415

    if not DeltaTable.is_deltatable(path):
        try:
            DeltaTable.create(path, schema, mode="error", configuration=options)
        except DeltaError:
            # Another audit has made it meanwhile.
            if not DeltaTable.is_deltatable(path):
                raise
    return DeltaTable(path)


def _arrow_schema(schema: StructType) -> pa.Schema:
    """Columns, types and comments; all are nullable, as Spark makes them."""
    from deltalake import Schema  # noqa: PLC0415

    nullable = StructType([StructField(f.name, f.dataType, True, f.metadata) for f in schema])
    return pa.schema(Schema.from_json(json.dumps(nullable.jsonValue())).to_arrow())


def _typed(rows: DataFrame, schema: StructType, audit_id: str) -> pa.Table:
    """The rows in the columns and types of the schema."""
    wanted = _arrow_schema(schema)
    found = rows.select(*[name for name in schema.names if name != "audit_id"]).toArrow()
    identity = pa.array([audit_id] * found.num_rows, pa.string())
    columns = [identity if name == "audit_id" else found[name] for name in wanted.names]
    return pa.Table.from_arrays(columns, names=wanted.names).cast(wanted)
