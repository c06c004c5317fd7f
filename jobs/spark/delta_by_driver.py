"""Tables of few rows on a disk of the driver, written without a job of Spark.

A save by Spark plans, runs and commits some four jobs, however few the rows are; a small audit has
nine to sixteen tables. delta-rs (package deltalake, by the makers of Delta, Apache-2.0) writes the
same protocol from Arrow within milliseconds. It knows other addresses only by settings of its own,
so that what lies in an object store stays Spark's.
"""

import json
from importlib.util import find_spec

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

VERSION = 1


def is_there() -> bool:
    """Whether the driver has the package."""
    return find_spec("deltalake") is not None


def append(
    rows: DataFrame, path: str, schema: StructType, app: str, audit_id: str, options: dict[str, str]
) -> None:
    """Appends rows to the table at `path`, a folder of this machine, once for each `app`.

    `rows`: at least the columns of `schema` but `audit_id`; `options`: properties of a table that is
    made. Raises what deltalake raises.
    """
    # Takes a tenth of a second, and only an audit needs it.
    from deltalake import CommitProperties, Transaction, write_deltalake  # noqa: PLC0415
    from deltalake.exceptions import CommitFailedError  # noqa: PLC0415

    if _is_written(path, app):
        return
    table = _typed(rows, schema, audit_id)
    once = CommitProperties(
        custom_metadata={"userMetadata": audit_id}, app_transactions=[Transaction(app, VERSION)]
    )
    try:
        write_deltalake(
            path, table, mode="append", schema_mode="merge", configuration=options,
            commit_properties=once,
        )  # fmt: skip
    except CommitFailedError:
        # The same audit, running beside this one, was faster.
        if not _is_written(path, app):
            raise


def _is_written(path: str, app: str) -> bool:
    from deltalake import DeltaTable  # noqa: PLC0415

    return DeltaTable.is_deltatable(path) and DeltaTable(path).transaction_version(app) is not None


def _typed(rows: DataFrame, schema: StructType, audit_id: str) -> pa.Table:
    """The columns of the schema in its order, types and comments."""
    from deltalake import Schema  # noqa: PLC0415

    wanted = pa.schema(Schema.from_json(json.dumps(schema.jsonValue())).to_arrow())
    found = rows.select(*[name for name in schema.names if name != "audit_id"]).toArrow()
    identity = pa.array([audit_id] * found.num_rows, pa.string())
    columns = [identity if name == "audit_id" else found[name] for name in wanted.names]
    return pa.Table.from_arrays(columns, names=wanted.names).cast(wanted)
