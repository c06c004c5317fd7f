"""`eosaudit report`, and the report at the end of an audit: from the tables to text and files."""

import random
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from jobs.audit.audit import Audit
from jobs.audit.finished import finished_audit
from jobs.cli.commands.checks import described
from jobs.model.dump import Dump
from jobs.model.errors import NotFinishedError, UsageError
from jobs.model.settings import load
from jobs.report import history
from jobs.report.evidence import with_bytes
from jobs.report.facts import Facts, Finding, PastAudit
from jobs.report.formats import VERDICT, files
from jobs.report.gather import Source, examples, gather
from jobs.report.seal import SIGNATURE
from jobs.report.verdict import Verdict
from jobs.spark import delta_tables
from jobs.spark.files import are_there, content_of, is_same_folder, write_files
from jobs.verify.catalogue import CHECKS
from schemas.tables import OF_INCIDENTS

MOST_TRIES = 10
LONGEST_PAUSE_SECONDS = 1.0


@dataclass(frozen=True)
class Finished:
    """A finished audit in the tables of `out`; `per_code`: examples of a check and verdict.

    `at_hand`: rows of tables that this process has just written, by name; they are not read again.
    """

    spark: SparkSession
    out: str
    verdict: Verdict
    depth: str
    configuration: str
    per_code: int
    at_hand: Mapping[str, DataFrame] = field(default_factory=dict)

    def table(self, name: str) -> DataFrame:
        """Its rows in a table; those of `violation` say whether they are new."""
        identity = self.verdict.audit_id
        if name in self.at_hand:
            rows = delta_tables.stamped(self.at_hand[name], name, identity)
        elif name in OF_INCIDENTS:
            rows = delta_tables.rows_or_none(self.spark, self.out, name, identity)
        else:
            rows = delta_tables.rows_of(self.spark, self.out, name, identity)
        if name != "violation":
            return rows
        since = self.verdict.since
        if since is None:
            return history.marked(rows, None)
        before = delta_tables.rows_of(self.spark, self.out, name, since.previous_audit_id)
        return history.marked(rows, before)

    def examples(self) -> tuple[Finding, ...]:
        """Some findings of each check and verdict."""
        return examples(self.table("violation"), self.per_code) if self.verdict.counts else ()

    def past_audits(self) -> tuple[PastAudit, ...]:
        """The audits of this folder up to this one; none where it is the first."""
        audits = delta_tables.read(self.spark, self.out, "audit") if self.verdict.since else None
        return () if audits is None else history.past_audits(audits, self.verdict.audit_number)

    def facts(self, dump: Dump | None) -> Facts:
        """What its reports are made of, with the bytes of the evidence where `dump` is given."""
        facts = gather(
            Source(
                table=self.table,
                verdict=self.verdict,
                depth=self.depth,
                configuration=self.configuration,
                per_code=self.per_code,
                manuals={check.code: described(check) for check in CHECKS},
                history=self.past_audits(),
            )
        )
        listed = dump.files if dump else []
        places = {file.path: (file.root, file.below_root) for file in listed}
        return replace(facts, findings=with_bytes(facts.findings, places.get))


def just_written(
    spark: SparkSession, done: Audit, verdict: Verdict, tables: Mapping[str, DataFrame]
) -> Finished:
    """An audit of this process. `tables`: rows it has added to those of its output, by name."""
    request = done.request
    # Looking for a few transactions among many is what a stored table is good at.
    few = done.read.decoded.fits_one_task()
    at_hand = {name: rows for name, rows in tables.items() if few or name != "txn"}
    return Finished(
        spark,
        request.out,
        verdict,
        request.depth,
        request.configuration(),
        request.settings.examples_per_code,
        at_hand,
    )


def finished(
    spark: SparkSession, out: str, audit: str | None, per_code: int | None = None
) -> Finished:
    """The audit that is asked for. Raises UsageError where there is none.

    `per_code`: None for as many examples as the audit itself has shown.
    """
    row = finished_audit(spark, out, audit)
    verdict = Verdict.from_json(row.result)
    if per_code is None:
        # Rows of older code do not tell it.
        stored = row.asDict().get("examples_per_code")
        per_code = load(None).examples_per_code if stored is None else stored
    return Finished(spark, out, verdict, row.depth, row.configuration, per_code)


def check_is_newest(spark: SparkSession, out: str, audit_id: str, to: str | None) -> None:
    """Raises UsageError where it is not the newest, and its files would be written to `out`.

    Who reads verdict.json there wants that of the newest.
    """
    if to and not is_same_folder(spark, to, out):
        return
    newest = finished_audit(spark, out, None).audit_id
    if newest != audit_id:
        raise UsageError(
            f"audit {audit_id} is not the newest in {out} (that is {newest}), whose report would "
            "be replaced: name another folder with --to."
        )


def verdict_in(spark: SparkSession, folder: str) -> Verdict | None:
    """The verdict of the report in a folder; None without one that can be read."""
    told = content_of(spark, folder, VERDICT)
    try:
        return None if told is None else Verdict.from_json(told.decode())
    except (ValueError, KeyError, TypeError):
        return None


def has_newer(spark: SparkSession, out: str, verdict: Verdict) -> bool:
    """Whether the report in `out` is that of an audit which was finished after this one."""
    there = verdict_in(spark, out)
    return there is not None and there.audit_number > verdict.audit_number


def is_reported(spark: SparkSession, out: str, verdict: Verdict) -> bool:
    """Whether the report in `out` is that of the audit."""
    there = verdict_in(spark, out)
    return there is not None and there.audit_id == verdict.audit_id


def write_report(
    spark: SparkSession, folder: str, facts: Facts, formats: Iterable[str], sign_key: Path | None
) -> list[str]:
    """Writes verdict.json, the formats, and what seals them; returns the names of the files.

    Among them are those of other formats that lie there, so that all are of the audit and sealed.
    Two reports that are written to one folder at once do not stay mixed: who finds that files of
    the other are among its own writes all of its own again.
    """
    made = files(facts, formats, sign_key, lambda name: content_of(spark, folder, name))
    # The signature of files that are replaced is none of these.
    stale = {SIGNATURE} - set(made)
    for _ in range(MOST_TRIES):
        write_files(spark, folder, made, stale)
        if are_there(spark, folder, made):
            return list(made)
        time.sleep(random.uniform(0, LONGEST_PAUSE_SECONDS))
    raise NotFinishedError(
        f"{folder}: other audits are still writing their reports there; when they have ended, run "
        f"`report --audit {facts.verdict.audit_id}`"
    )
