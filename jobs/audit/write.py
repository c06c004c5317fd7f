"""Writes the tables of a finished audit, `audit` last."""

import json
from dataclasses import astuple, replace
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from jobs.audit.audit import Audit
from jobs.audit.identity import code_digest, of_incomplete
from jobs.model.expectation_results import Result
from jobs.model.transactions import all_transactions
from jobs.replay.coordinator import with_owner
from jobs.report import history
from jobs.report.verdict import Verdict
from jobs.spark import delta_tables
from jobs.spark.delta_tables import Part
from jobs.spark.joins import inner, small
from jobs.spark.local import local_frame
from jobs.spark.threads import side_by_side
from jobs.verify.verify import Verified
from schemas.tables import TABLES
from udfs.arrow.txn_rows import Place, folded_as_txn
from udfs.rules.logic import surely

# Most of writing a small table is waiting for its commit.
TABLES_AT_ONCE = 4
# So many rows of a table are no burden for the driver; their commit by Spark takes longer.
FEW_ROWS = 200_000
OUTCOMES = "code string, context string, status string, detail string"
EXAMINED = "context string, rows_examined long"


class Stored(NamedTuple):
    """The verdict as it is in the table `audit`; `added`: it was not there before."""

    verdict: Verdict
    added: bool


def write(spark: SparkSession, audit: Audit, tables: dict[str, DataFrame]) -> Stored:
    """Appends `tables`, the policy's results and `audit`, unless the audit is there already.

    The verdict is that which is stored: an audit that is there already keeps the place among the
    others, and the comparison with the one before it, that it had when it was finished.
    """
    found = audit.verdict
    identity = of_incomplete(found.audit_id, found.missing)
    audit = replace(audit, verdict=replace(found, audit_id=identity))
    out = audit.request.out
    audits = delta_tables.read(spark, out, "audit")
    stored = None
    if audits is not None:
        stored = audits.filter(F.col("audit_id") == identity).select("result").head()
    if stored is not None:
        return Stored(Verdict.from_json(stored.result), added=False)
    rows = dict(tables)
    if audit.request.policy:
        rows["expectation_result"] = _expectation_results(spark, audit.expectation_results)
    if [*rows, "audit"] != [name for name in TABLES if name in rows or name == "audit"]:
        raise AssertionError("tables are written in the order of schemas/tables.py")

    few = {name: _are_few(audit, name) for name in rows}

    def append(name: str) -> None:
        parts = [] if few[name] else _parts(audit, name, rows[name], identity)
        if few[name] or not delta_tables.append_by_tasks(parts, out, name, identity):
            delta_tables.append(rows[name], out, name, identity, few=few[name])

    # Of many transactions the table is written with code that is compiled for it.
    with audit.read.planned(spark), side_by_side(TABLES_AT_ONCE) as pool:
        list(pool.map(append, [name for name in rows if name != "txn" or few[name]]))
        verdict = _with_history(spark, audit, audits, rows)
    if not few["txn"]:
        append("txn")
    with audit.read.planned(spark):
        delta_tables.append(audit_row(spark, audit, verdict), out, "audit", identity, few=True)
    return Stored(verdict, added=True)


def _are_few(audit: Audit, name: str) -> bool:
    """Whether the driver can take the rows of a table; their number is known but roughly."""
    decoded = audit.read.decoded
    if name == "txn":
        return decoded.fits_one_task()
    packed = decoded.aborts if name == "aborted_txn" else 0
    return len(audit.dump.files) + decoded.unpacked_rows() + packed <= FEW_ROWS


def _parts(audit: Audit, name: str, rows: DataFrame, identity: str) -> list[Part]:
    """`rows` of a table, as its tasks write them.

    Transactions that are still packed are written by the tasks that unpack them. On their way
    through Spark as rows they would take ten times as long.
    """
    packed = audit.read.decoded.regular_blocks() if name == "txn" else None
    if packed is None:
        return [Part(delta_tables.stamped(rows, name, identity), iter)]
    names = ("partition_index", *Place._fields)
    known = audit.replayed.partition_info.select(*names).collect()
    places = {row.partition_index: Place(*row[1:]) for row in known}
    return [
        Part(delta_tables.stamped(_placed(audit, _replayed(audit)), name, identity), iter),
        Part(packed, folded_as_txn(places, identity)),
    ]


def _with_history(
    spark: SparkSession, audit: Audit, audits: DataFrame | None, rows: dict[str, DataFrame]
) -> Verdict:
    """The verdict with what was open at the end, and beside the audit finished before it.

    `rows`: of the tables.
    """
    out, verdict = audit.request.out, audit.verdict
    states = rows["partition_state"]
    known = replace(verdict, open_transactions=history.open_transactions(states))
    # The same audit may have been finished by another process since.
    others = None if audits is None else audits.filter(F.col("audit_id") != verdict.audit_id)
    previous = None if others is None else history.newest(others)
    if previous is None:
        return known
    before = delta_tables.rows_of(spark, out, "violation", previous.audit_id)
    read = rows["dump_file"].filter(F.col("status") == "audited").select(*history.COPY)
    copies = states.select(*history.COPY).unionByName(read)
    changed = history.since(previous.audit_id, audit.verified.findings, before, copies)
    changed = replace(changed, differs=_differing(audit, previous))
    lines = verdict.incidents
    if lines:
        new = history.new_incidents(rows["incident_finding"], before)
        lines = tuple(replace(one, new=new.get(one.incident)) for one in lines)
    number = previous.audit_number + 1
    return replace(known, audit_number=number, since=changed, incidents=lines)


def _differing(audit: Audit, previous: history.Newest) -> tuple[str, ...]:
    """In what this audit differs from the one before it, as in `Since`.

    What an earlier version of the table does not tell of that one counts as different.
    """
    told = {
        "files": (previous.input_digest, audit.read.input_digest),
        "moment": (previous.as_of_ms, audit.verdict.as_of_ms),
        "code": (previous.code_digest, code_digest()),
        "configuration": (_asked(previous.configuration), _asked(audit.request.configuration())),
    }
    return tuple(name for name, (before, now) in told.items() if before != now)


def _asked(configuration: str) -> dict[str, object]:
    """The configuration without the moment."""
    return {**json.loads(configuration), "as_of": None}


def result_tables(spark: SparkSession, audit: Audit) -> dict[str, DataFrame]:
    """Table name -> rows, in the order of writing, of all that does not depend on the policy."""
    return {
        "dump_file": _dump_files(audit),
        "decode_failure": _placed(audit, _named(audit.read.damages, audit.read.files)),
        "txn": _placed(audit, _transactions(audit)),
        "aborted_txn": _placed(audit, _aborted(audit)),
        "coordinator_txn": with_owner(audit.replayed.coordinator, audit.replayed.owners),
        "partition_state": audit.read.kept.keep(audit.replayed.partition_states()),
        "violation": audit.verified.findings,
        "check_run": _check_runs(spark, audit.verified),
    }


def _placed(audit: Audit, rows: DataFrame) -> DataFrame:
    """The rows with broker, topic and partition."""
    place = audit.replayed.partition_info.select("partition_index", *Place._fields)
    return inner(rows, small(place), on="partition_index")


def _named(rows: DataFrame, files: DataFrame) -> DataFrame:
    names = files.select("file_index", F.col("path").alias("file"))
    return inner(rows, small(names), on="file_index")


def _dump_files(audit: Audit) -> DataFrame:
    joined = audit.read.files.join(small(audit.read.digests), on="file_index", how="left")
    failed = F.col("error").isNotNull() | surely(F.col("shrank"))
    return joined.select(
        *[name for name in audit.read.files.columns if name not in ("status", "note")],
        F.when(F.col("status") != "skipped", F.col("sha256")).alias("sha256"),
        F.when(F.col("kind") == "segment", F.col("batches")).alias("batches"),
        F.when(F.col("kind") == "segment", F.col("records")).alias("records"),
        F.when(failed, F.lit("failed")).otherwise(F.col("status")).alias("status"),
        F.coalesce("error", "note").alias("note"),
    )


def _transactions(audit: Audit) -> DataFrame:
    """Rows of the table `txn` with partition_index instead of the place."""
    folded = audit.read.decoded.regular_transactions().withColumn("head_known", F.lit(True))
    return _replayed(audit, folded)


def _replayed(audit: Audit, folded: DataFrame | None = None) -> DataFrame:
    """The same of transactions that were not folded away, and of `folded` ones."""
    with_data = audit.replayed.transactions.filter(F.col("first_offset").isNotNull())
    starts = audit.replayed.partition_info.select("partition_index", "start_known", "first_base")
    known = inner(with_data, small(starts), on="partition_index")
    preceded = F.col("previous_marker").isNotNull()
    # If it began before the log, a snapshot has its first offset, but not its batches.
    in_log = F.col("first_offset") >= F.coalesce("first_base", F.lit(0))
    head_known = in_log & (F.col("start_known") | preceded)
    every = all_transactions(known.withColumn("head_known", head_known), folded, "head_known")
    of_table = every.withColumn("producer_epoch", F.col("highest_epoch"))
    names = [field.name for field in TABLES["txn"] if field.name in of_table.columns]
    return of_table.select("partition_index", *names)


def _aborted(audit: Audit) -> DataFrame:
    """As in a `.txnindex`: the last offset of an aborted transaction is that of its marker."""
    aborted = audit.aborts.lists.aborted()
    return aborted.withColumn("last_offset", F.col("marker_offset"))


def _check_runs(spark: SparkSession, verified: Verified) -> DataFrame:
    ran = [
        (outcome.check.code, outcome.check.context, outcome.status, outcome.detail)
        for outcome in verified.outcomes
    ]
    runs = local_frame(spark, ran, OUTCOMES)
    counts = verified.findings.groupBy("code").agg(
        *[
            F.sum((F.col("verdict") == verdict).cast("long")).alias(name)
            for verdict, name in (
                ("violation", "violations"),
                ("suspect", "suspects"),
                ("inconclusive", "inconclusive"),
            )
        ]
    )
    numbers = local_frame(spark, verified.rows_examined.items(), EXAMINED)
    joined = runs.join(small(counts), on="code", how="left").join(
        small(numbers), on="context", how="left"
    )
    nothing: dict[str, bool | float | int | str] = {
        "violations": 0,
        "suspects": 0,
        "inconclusive": 0,
    }
    examined = F.when(F.col("status") == "ran", F.coalesce("rows_examined", F.lit(0)))
    return joined.withColumn("rows_examined", examined).fillna(nothing).orderBy("code")


def _expectation_results(spark: SparkSession, results: list[Result]) -> DataFrame:
    schema = StructType(list(TABLES["expectation_result"])[1:])
    return local_frame(spark, map(astuple, results), schema)


def audit_row(spark: SparkSession, audit: Audit, verdict: Verdict) -> DataFrame:
    """The row of the table `audit`."""
    request, since = audit.request, verdict.since
    row = {
        "audit_id": verdict.audit_id,
        "version": verdict.version,
        "verdict": verdict.verdict,
        "exit_code": verdict.exit_code,
        "as_of_ms": verdict.as_of_ms,
        "depth": request.depth,
        "configuration": request.configuration(),
        "input_digest": audit.read.input_digest,
        "code_digest": code_digest(),
        "examples_per_code": request.settings.examples_per_code,
        "files": verdict.totals["files"],
        "bytes": verdict.totals["bytes"],
        "partitions": verdict.totals["partitions"],
        "batches": verdict.totals["batches"],
        "transactions": verdict.totals["transactions"],
        "violations": verdict.number("violation"),
        "suspects": verdict.number("suspect"),
        "inconclusive": verdict.number("inconclusive"),
        "audit_number": verdict.audit_number,
        "previous_audit_id": since.previous_audit_id if since else None,
        "new_findings": sum(since.new.values()) if since else None,
        "gone_findings": sum(since.gone.values()) if since else None,
        "open_transactions": verdict.open_transactions.number,
        "oldest_open_since_ms": verdict.open_transactions.oldest_since_ms,
        "largest_lag": verdict.open_transactions.largest_lag,
        "result": verdict.as_json(),
    }
    schema = TABLES["audit"]
    return local_frame(spark, [row], schema)
