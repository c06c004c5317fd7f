"""eosaudit: arguments to exit code. The stages are composed here, in the order of the data."""

import sys
import traceback
from dataclasses import replace
from pathlib import Path

# Submitted as a script, only this folder is on the path; the code is imported from beside it.
if __package__ in (None, ""):
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from jobs.spark import early

    early.begin()

from pyspark.sql import SparkSession

from jobs import __version__
from jobs.audit.acceptance import judged, judged_again
from jobs.audit.audit import Audit, DecodedDump, Request, aborts_of
from jobs.audit.contexts import StageResults, build_contexts
from jobs.audit.coverage import amount, incomplete, not_looked_at, totals
from jobs.audit.identity import audit_id, file_digests, input_digest
from jobs.audit.incidents import with_incidents
from jobs.audit.write import result_tables, write
from jobs.cli.arguments import TEXT, Arguments, parse
from jobs.cli.commands.checks import list_checks, show_check
from jobs.cli.commands.doctor import check_out, examine
from jobs.cli.commands.explain import ExplainRequest, explain
from jobs.cli.commands.export import check_has_bytes, closing_words, configuration, export
from jobs.cli.commands.incident import explain_incident
from jobs.cli.commands.report import (
    check_is_newest,
    finished,
    has_newer,
    is_reported,
    just_written,
    write_report,
)
from jobs.cli.failures import sentence
from jobs.cli.live import fetched
from jobs.cli.progress import Progress
from jobs.collect.collect import collect
from jobs.collect.listing import files_table, partitions_table
from jobs.decode.decode import decode, failures
from jobs.export.export import (
    ExportRequest,
    check_named,
    check_one_topic,
    only_what_is_asked,
    ranges,
    with_highest_marks,
    without_high_watermarks,
)
from jobs.model.counted import count
from jobs.model.dump import Dump
from jobs.model.errors import NotFinishedError, UsageError
from jobs.model.replicas import clusters
from jobs.model.settings import load as load_settings
from jobs.policy import suites
from jobs.replay.replay import Replayed, replay
from jobs.replay.seams import summaries
from jobs.report.formats import FORMATS
from jobs.report.seal import check_key
from jobs.report.summary import summary
from jobs.report.verdict import Verdict
from jobs.spark.kept import KeptFrames
from jobs.spark.session import planned_for, spark_session
from jobs.verify.verify import counts_by_code, verify


def audit(
    spark: SparkSession, request: Request, progress: Progress, dump: Dump | None = None
) -> Audit:
    """Decodes, replays and verifies; nothing is written yet. `dump`: where it is listed already."""
    dump, read = _read(spark, request, progress, request.configuration(), dump)
    with read.planned(spark):
        return _judge(spark, request, progress, dump, read)


def _read(
    spark: SparkSession,
    request: Request,
    progress: Progress,
    configuration: str,
    listed: Dump | None = None,
) -> tuple[Dump, DecodedDump]:
    """Collects and decodes; `configuration` and the bytes are the identity of what follows."""
    kept = KeptFrames(spark)
    with progress.stage("collect") as say:
        dump = listed or collect(request.dumps)
        size = sum(file.size for file in dump.files if file.status != "skipped")
        listed_files = count(len(dump.files), "file")
        say(f"{listed_files}, {count(len(dump.partitions), 'partition')}, {size:,} bytes")
    # Few rows come out of the decoder, however many bytes went in.
    with progress.stage("decode", size), planned_for(spark, 0):
        decoded = decode(spark, dump, request.settings, request.depth)
        with planned_for(spark, 0, decoded.fits_one_task()):
            files = kept.keep(files_table(spark, dump))
            tables = kept.keep_all(
                digests=file_digests(summaries(decoded.rows)), damages=failures(decoded, files)
            )
            of_input = input_digest(dump, tables["digests"])
    return dump, DecodedDump(
        files=files,
        decoded=decoded,
        input_digest=of_input,
        audit_id=audit_id(of_input, configuration),
        kept=kept,
        **tables,
    )


def _replay(
    spark: SparkSession, request: Request, progress: Progress, dump: Dump, read: DecodedDump
) -> tuple[Replayed, int]:
    """Rebuilds the state of the log; also how many transactions with data it has."""
    with progress.stage("replay") as say:
        replayed = replay(
            partitions_table(spark, dump, read.decoded.clusters),
            read.files,
            read.decoded,
            read.damages,
            read.kept,
            request.settings.clock_tolerance_ms,
        )
        seen = replayed.transaction_count()
        say(count(seen, "transaction"))
    return replayed, seen


def _judge(
    spark: SparkSession, request: Request, progress: Progress, dump: Dump, read: DecodedDump
) -> Audit:
    """Replays and verifies what was read."""
    decoded = read.decoded
    replayed, seen = _replay(spark, request, progress, dump, read)
    with progress.stage("verify") as say:
        there = amount(replayed.partition_info)
        aborts = aborts_of(dump, read, replayed, request.settings.clock_tolerance_ms)
        now = there.newest_ms if request.as_of is None else request.as_of
        verified = verify(
            spark,
            build_contexts(StageResults(request, dump, read, replayed, aborts, now)),
            request.depth,
            read.kept,
            one_cluster=len(clusters(dump)) < 2 or replayed.clusters_with_producers() < 2,
        )
        counts = counts_by_code(verified.findings)
        say(count(sum(counts.values()), "finding"))
    looked_at = totals(dump, there, seen)
    verdict = Verdict(
        audit_id=read.audit_id,
        version=__version__,
        as_of_ms=now,
        counts=counts,
        totals=looked_at,
        not_looked_at=not_looked_at(dump, verified.outcomes, request, decoded, there),
        incomplete=incomplete(dump, read.digests, verified.outcomes, looked_at["batches"]),
    )
    return Audit(request, dump, read, replayed, aborts, verified, verdict)


def run_audit(arguments: Arguments) -> int:
    """The subcommand `audit`: audits, writes, tells; returns the exit code."""
    settings = load_settings(arguments.config)
    check_key(arguments.sign_key)
    policy = suites.chosen(arguments.policy)
    dumps, as_of = arguments.dump, arguments.as_of
    if arguments.bootstrap:
        live = fetched(arguments)
        dumps, as_of = [live.dump], live.moment if as_of is None else as_of
    dump = collect(dumps)  # what is no dump ends here, before Spark is started
    request = Request(dumps, arguments.out, as_of, arguments.depth, settings, policy)
    with spark_session() as spark:
        check_out(spark, request.out)
        progress = Progress(spark, arguments.quiet)
        done = audit(spark, request, progress, dump)
        with progress.stage("incidents"), done.read.planned(spark):
            done, tables = with_incidents(done, result_tables(spark, done))
        if request.policy:
            with progress.stage("policy"), done.read.planned(spark):
                done = judged(spark, done, tables, request.policy)
        with progress.stage("write") as say:
            verdict, added = write(spark, done, tables)
            if not added:
                say("the audit was there already, nothing was added")
        in_one_task = done.read.decoded.fits_one_task()
        with progress.stage("report"), planned_for(spark, 0, in_one_task):
            facts = just_written(spark, done, verdict, tables if added else {}).facts(done.dump)
            # An audit that is run again leaves the report of a newer one.
            reported = not has_newer(spark, request.out, verdict)
            if reported:
                write_report(spark, request.out, facts, FORMATS, arguments.sign_key)
        done.release()
        tell(summary(verdict, facts.findings, request.out, added, reported))
    return verdict.exit_code


def run_export(arguments: Arguments) -> int:
    """The subcommand `export`: what a consumer would get, as a table."""
    settings = load_settings(arguments.config)
    listed = collect(arguments.dump)  # what is no dump ends here, before Spark is started
    check_has_bytes(listed)
    topics, to_log_end = tuple(arguments.topics), arguments.to_log_end
    numbers = tuple(arguments.partitions)
    wanted = ExportRequest(arguments.isolation, topics, arguments.broker, to_log_end, numbers)
    check_named(listed, wanted)
    check_one_topic(listed, wanted)
    listed = only_what_is_asked(listed, wanted)
    marked = without_high_watermarks if wanted.to_log_end else with_highest_marks
    read_as = marked(listed)
    request = Request(arguments.dump, arguments.out, None, "records", settings)
    with spark_session() as spark:
        check_out(spark, request.out)
        progress = Progress(spark, arguments.quiet)
        dump, read = _read(spark, request, progress, configuration(wanted, settings), read_as)
        with read.planned(spark):
            replayed, _ = _replay(spark, request, progress, dump, read)
            asked = ranges(replayed.partition_states(), listed, wanted)
        with progress.stage("export"):
            done = export(spark, asked, read, replayed, request, wanted)
        read.release()
    text, code = closing_words(done, request, wanted, dump)
    tell(text)
    return code


def run_report(arguments: Arguments) -> int:
    """The subcommand `report`; the exit code is that of the audit, under the policy if given."""
    per_code = load_settings(arguments.config).examples_per_code if arguments.config else None
    policy = suites.chosen(arguments.policy)
    check_key(arguments.sign_key)
    dump = collect(arguments.dump) if arguments.dump else None
    asked = list(dict.fromkeys(arguments.format or [TEXT]))
    formats = [name for name in asked if name != TEXT]
    with spark_session() as spark:
        result = finished(spark, arguments.out, arguments.audit, per_code)
        if formats and arguments.audit:
            check_is_newest(spark, arguments.out, result.verdict.audit_id, arguments.to)
        if policy:
            judged_anew = judged_again(spark, arguments.out, result.verdict, policy)
            result = replace(result, verdict=judged_anew)
        with planned_for(spark, 0):
            if TEXT in asked:
                reported = is_reported(spark, arguments.out, result.verdict)
                told = summary(result.verdict, result.examples(), arguments.out, reported=reported)
                tell(told)
            if formats:
                folder = arguments.to or arguments.out
                names = write_report(spark, folder, result.facts(dump), formats, arguments.sign_key)
                tell(f"{', '.join(names)} are in {folder} (audit {result.verdict.audit_id}).")
    return result.verdict.exit_code


def run_explain(arguments: Arguments) -> int:
    """The subcommand `explain`."""
    number = arguments.incident
    asked = ExplainRequest(
        arguments.out, arguments.audit, arguments.topic, arguments.partition or 0, arguments.broker
    )
    with spark_session() as spark, planned_for(spark, 0):
        if number is None:
            text = explain(spark, asked)
        else:
            text = explain_incident(spark, arguments.out, arguments.audit, number)
    tell(text)
    return 0


def run_doctor(arguments: Arguments) -> int:
    """The subcommand `doctor`."""
    with spark_session() as spark, planned_for(spark, 0):
        text, code = examine(spark, arguments.dump, arguments.out or None)
    tell(text)
    return code


def run_checks(arguments: Arguments) -> int:
    """The subcommand `checks`."""
    tell(show_check(arguments.code) if arguments.code else list_checks())
    return 0


def tell(text: str) -> None:
    """Writes a result for a person to stdout."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main(argv: list[str] | None = None) -> int:
    """Runs one subcommand and returns its exit code; may be called many times in a process.

    Uses the active Spark session, if there is one, and leaves it running.
    """
    try:
        arguments = parse(sys.argv[1:] if argv is None else argv)
    except SystemExit as end:
        return int(end.code or 0)
    commands = {
        "audit": run_audit,
        "export": run_export,
        "report": run_report,
        "explain": run_explain,
        "checks": run_checks,
        "doctor": run_doctor,
    }
    try:
        return commands[arguments.command](arguments)
    except UsageError as error:
        sys.stderr.write(f"eosaudit: {error}\n")
        return 2
    except NotFinishedError as error:
        sys.stderr.write(f"eosaudit: {error}\n")
        return 3
    except Exception as error:
        # 1 is kept for violations: what broke down on the way is an audit that is incomplete.
        known = sentence(error, arguments.out)
        if known is None:
            traceback.print_exc()
            known = "the command failed with the error above"
        sys.stderr.write(f"eosaudit: {known}; `doctor` checks driver and executors.\n")
        return 3


if __name__ == "__main__":
    sys.exit(main())
