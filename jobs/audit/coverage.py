"""What an audit looked at, what it did not, and why: sentences for the summary and verdict.json."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.audit.audit import Request
from jobs.model.counted import count
from jobs.model.decoded import Decoded
from jobs.model.dump import Dump, DumpPartition, MissingPartition, cleaned_below
from jobs.model.missing import not_there
from jobs.model.unread import UNREAD
from jobs.verify.run import CRASHED, SKIPPED, CheckOutcome
from schemas.topics import COORDINATOR_TOPICS, METADATA_TOPIC, OFFSETS_TOPIC, TXN_LOG_TOPIC
from udfs.rules.absence import DEFAULT_COORDINATOR_PARTITIONS

# The cleaner keeps the base offset of the first segment (`Cleaner.cleanSegments`); DeleteRecords is
# refused for them (`ReplicaManager.deleteRecordsOnLocalLog`), and nobody calls it for these two.
NEVER_TRIMMED = (OFFSETS_TOPIC, TXN_LOG_TOPIC)
# A sentence names so many partitions.
NAMED = 10
MOST_PROBLEMS = 100
# So long the copy of a dump may take before its moment is doubted, ms: less than a time zone.
A_LONG_COPY_MS = 1_500_000
UNJUDGED = "; its partition is not judged, audit again when it can be read"


def _files(number: int) -> str:
    return "1 file" if number == 1 else f"{number:,} files"


def _partitions(number: int) -> str:
    return "1 partition" if number == 1 else f"{number:,} partitions"


class Amount(NamedTuple):
    """Batches and records of a dump, and its newest broker timestamp, ms; None for none.

    `started_again`: brokers whose mark of a clean stop is older than their logs (`stopped`).
    """

    batches: int
    records: int
    newest_ms: int | None
    started_again: list[int]


def amount(partition_info: DataFrame) -> Amount:
    """Of all copies of partitions."""
    row = partition_info.agg(
        F.coalesce(F.sum("batches"), F.lit(0)).alias("batches"),
        F.coalesce(F.sum("records"), F.lit(0)).alias("records"),
        F.max("broker_timestamp").alias("newest"),
        F.sort_array(F.collect_set(F.when(F.col("started_again"), F.col("broker")))).alias(
            "brokers"
        ),
    ).collect()[0]
    return Amount(*row)


def totals(dump: Dump, read: Amount, transactions: int) -> dict[str, int]:
    """Numbers of what was looked at."""
    looked_at = [file for file in dump.files if file.status != "skipped"]
    return {
        "files": len(looked_at),
        "bytes": sum(file.size for file in looked_at),
        "partitions": len(dump.partitions),
        "batches": read.batches,
        "records": read.records,
        "transactions": transactions,
    }


def not_looked_at(
    dump: Dump,
    outcomes: list[CheckOutcome],
    request: Request,
    decoded: Decoded,
    read: Amount,
) -> list[str]:
    """One sentence a kind of thing that was left out."""
    missing = not_there(dump, decoded.clusters)
    counts = [one.partitions.get(TXN_LOG_TOPIC) for one in decoded.clusters.by_id.values()]
    total = max((one for one in counts if one is not None), default=None)
    return [
        *too_early(request.as_of, read.newest_ms),
        *_not_audited(dump),
        *_only_texts(dump),
        *by_decoder(decoded),
        *_cleaned_copies(dump, request.depth),
        *_fetched(dump),
        *_skipped(outcomes, request.depth),
        *not_in_the_dump(dump, missing),
        *gone_from_logs(dump),
        *not_loaded(dump),
        *started_again(read.started_again),
        *coordinator_partitions_missing(dump, missing, total),
        *_no_coordinator(dump),
    ]


def _not_audited(dump: Dump) -> Iterator[str]:
    """Files of which nothing was read, or only the digest was made."""
    skipped = (one.note or "outside a partition" for one in dump.files if one.status == "skipped")
    for reason, number in sorted(Counter(skipped).items()):
        yield f"{_files(number)} skipped: {reason}."
    unjudged = (one.kind for one in dump.files if one.status == "digest_only")
    for kind, number in sorted(Counter(unjudged).items()):
        yield f"{_files(number)} of kind {kind}: digest only, content not judged."


def _only_texts(dump: Dump) -> Iterator[str]:
    texts = sum(file.text is not None and file.status == "audited" for file in dump.files)
    if texts:
        yield (
            f"{_files(texts)} present only as text of kafka-dump-log, without checkpoints; "
            "docs/text-dumps.md lists what such a text lacks."
        )
        yield from _left_out_by_texts(dump)


def _cleaned_copies(dump: Dump, depth: str) -> Iterator[str]:
    cleaned = {
        one.replica_set
        for one in dump.partitions
        if one.replica_set is not None and one.topic != TXN_LOG_TOPIC and cleaned_below(one)
    }
    if cleaned:
        yield (
            f"{count(len(cleaned), 'compacted partition')} in several copies: in cleaned ranges, "
            "replicas are compared "
            + (
                "by their remaining records, not byte for byte."
                if depth == "records"
                else "only with --depth records."
            )
        )


def _fetched(dump: Dump) -> Iterator[str]:
    fetched = sum(one.fetched_end is not None for one in dump.partitions)
    if fetched:
        yield (
            f"{_partitions(fetched)} fetched over the Kafka protocol: indexes, producer snapshots, "
            "checkpoints, other replicas and records above the high watermark are not in the dump."
        )


def _skipped(outcomes: list[CheckOutcome], depth: str) -> Iterator[str]:
    skipped = [outcome.check.code for outcome in outcomes if outcome.status == SKIPPED]
    if skipped:
        yield f"{len(skipped)} checks skipped by --depth {depth}: {', '.join(skipped)}."


def too_early(as_of: int | None, newest_ms: int | None) -> Iterator[str]:
    """What a moment that lies before what the dump itself shows keeps silent; both ms.

    A copy takes time, so a little before is right: what brokers wrote meanwhile is in it.
    """
    if as_of is None or newest_ms is None or newest_ms - as_of <= A_LONG_COPY_MS:
        return
    hours, minutes = divmod((newest_ms - as_of) // 60_000, 60)
    before = f"{hours:,} h {minutes} min" if hours else f"{minutes} min"
    yield (
        f"The audit's moment (--as-of) is {before} before the newest broker timestamp of the dump: "
        "open transactions count as younger than they are there, or as not begun, and checks of "
        "their age may be silent. Give the moment of the copy."
    )


def by_decoder(decoded: Decoded) -> Iterator[str]:
    """What the decoder met and left out."""
    if decoded.skipped_group_records:
        yield (
            f"{decoded.skipped_group_records:,} records of consumer, share and streams groups in "
            "__consumer_offsets: recognised, not decoded."
        )
    if decoded.faults_left_out:
        yield (
            f"{decoded.faults_left_out:,} more places in files that have very many of them, where "
            "offsets or leader epochs do not follow, or where entries of an index or a "
            "leader-epoch-checkpoint are wrong: counted, not reported."
        )
    if decoded.clusters.unreadable:
        yield (
            f"{decoded.clusters.unreadable:,} parts of __cluster_metadata are missing or cannot be "
            "read: producer ids, topics and configuration in them are unknown."
        )


def not_in_the_dump(dump: Dump, missing: Sequence[MissingPartition]) -> Iterator[str]:
    """What the dump itself says is missing. `missing`: of `not_there`."""
    by_broker: dict[tuple[int, bool], list[MissingPartition]] = defaultdict(list)
    for one in missing:
        broker = -1 if one.broker is None else one.broker
        if one.asked:
            by_broker[broker, one.listed_in == METADATA_TOPIC].append(one)
    for (broker, assigned), lacking in sorted(by_broker.items()):
        names = sorted({f"{one.topic}-{one.partition}" for one in lacking})
        which = f"{'is' if len(names) == 1 else 'are'} not in the dump: {_some(names)}"
        if assigned:
            yield (
                f"{_partitions(len(names))} that {METADATA_TOPIC} assigns to broker {broker} "
                f"{which}. The folders may be of another moment, or in a log directory that "
                "was not copied."
            )
            continue
        where = "" if broker < 0 else f" on broker {broker}"
        lists = sorted({one.listed_in for one in lacking})
        many = "lists" if len(lists) == 1 else "list"
        yield f"{_partitions(len(names))}{where} that {', '.join(lists)} {many} {which}."
    others = {(one.broker, one.topic, one.partition) for one in missing if not one.asked}
    if others:
        yield (
            f"{_partitions(len(others))} of topics that the dump was not asked for "
            "(dump-manifest.json) are not in it."
        )
    if dump.partitions and all(one.topic in COORDINATOR_TOPICS for one in dump.partitions):
        yield "No partition of a client topic in the dump: only coordinator logs."


def _named(partitions: Iterable[DumpPartition]) -> str:
    """How many partitions these are, and which; copies of one count once."""
    names = sorted({f"{one.topic}-{one.partition}" for one in partitions})
    return f"{_partitions(len(names))} ({_some(names)})"


def _some(names: Sequence[str]) -> str:
    """The first of the names, and how many more there are."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def gone_from_logs(dump: Dump) -> Iterator[str]:
    """What brokers had removed before the copy, and what they wrote after it: it is not judged."""
    begun_late = [one for one in dump.partitions if _start(one) > 0]
    trimmed = [one for one in begun_late if one.topic not in NEVER_TRIMMED]
    if trimmed:
        yield (
            f"{_named(trimmed)}: records below the log start offset were deleted by retention or "
            "DeleteRecords, or not copied."
        )
    cut = [one for one in begun_late if one.topic in NEVER_TRIMMED]
    if cut:
        yield (
            f"{_named(cut)}: the log does not begin at offset 0, though nothing trims a compacted "
            "topic: segments are lost or were not copied, or cleanup.policy was changed. What was "
            "decided or committed there is unknown."
        )
    cleaned = [
        one
        for one in dump.partitions
        if one.topic not in COORDINATOR_TOPICS and cleaned_below(one) > _start(one)
    ]
    if cleaned:
        yield f"{_named(cleaned)}: records that the cleaner removed cannot be checked."


def not_loaded(dump: Dump) -> Iterator[str]:
    """Partitions in a log directory with the mark of a clean stop that its broker did not have."""
    for label, names in sorted(dump.not_loaded.items()):
        are = "counts" if len(names) == 1 else "count"
        yield (
            f"{label or 'The log directory'}: recovery-point-offset-checkpoint lacks "
            f"{_partitions(len(names))} ({_some(sorted(names))}): the broker's "
            "last start failed before it had loaded all logs, or the folders were put there since. "
            f"What lacks there {are} as not cleanly stopped, and its log start as unknown."
        )


def started_again(brokers: Sequence[int]) -> Iterator[str]:
    """Brokers whose logs go on behind their clean stop."""
    if brokers:
        named = f"Broker{'' if len(brokers) == 1 else 's'} {_some(list(map(str, brokers)))}"
        yield (
            f"{named}: logs go on behind the recovery point of the clean stop. A broker was "
            "started while it was copied, or .kafka_cleanshutdown is of another copy. These logs "
            "do not count as those of a clean stop."
        )


def coordinator_partitions_missing(
    dump: Dump, missing: Sequence[MissingPartition], total: int | None
) -> Iterator[str]:
    """Partitions of `__transaction_state` that nobody lists, and that the dump does not have.

    `missing`: of `not_there`; `total`: how many there are by `__cluster_metadata`, None if unknown.
    """
    numbers = {one.partition for one in dump.partitions if one.topic == TXN_LOG_TOPIC}
    if not numbers:
        return
    listed = {one.partition for one in missing if one.topic == TXN_LOG_TOPIC}
    gaps = set(range(max(*numbers, total or 0))) - numbers - listed
    if gaps:
        named = ", ".join(str(number) for number in sorted(gaps)[:NAMED])
        yield f"{len(gaps):,} partitions of {TXN_LOG_TOPIC} are not in the dump: {named}."
    told = total is not None or any(one.coordinator_partitions for one in dump.directories)
    if not told and max(numbers) + 1 != DEFAULT_COORDINATOR_PARTITIONS:
        yield (
            f"Neither __cluster_metadata nor a checkpoint of the dump tells how many partitions "
            f"{TXN_LOG_TOPIC} has: some above {max(numbers)} may be missing."
        )


def _no_coordinator(dump: Dump) -> Iterator[str]:
    if not any(one.topic == TXN_LOG_TOPIC for one in dump.partitions):
        yield "No __transaction_state in the dump: the decisions of the coordinators are unknown."


def _start(partition: DumpPartition) -> int:
    """First offset that a copy may hold."""
    first = partition.segments[0].base_offset if partition.segments else 0
    return max(first or 0, partition.log_start or 0)


def _left_out_by_texts(dump: Dump) -> Iterator[str]:
    """What the options and the age of the tool left out of texts that were audited."""
    texts = [file.text for file in dump.files if file.text and file.status == "audited"]
    bare = sum(text.lacks_records for text in texts)
    if bare:
        yield (
            f"{_files(bare)} printed without records (--deep-iteration): the order of records in a "
            "batch, tombstones and maximum timestamps are not checked."
        )
    plain = sum(text.lacks_starts for text in texts)
    if plain:
        yield (
            f"{_files(plain)} of __transaction_state printed by kafka-dump-log up to 3.9, which "
            "omits start timestamps: txnlog_start_timestamp_invalid cannot judge their records."
        )
    complaints = sum(file.text.complaints for file in dump.files if file.text)
    if complaints:
        yield (
            f"{complaints:,} error messages of kafka-dump-log in texts (index mismatches, offsets "
            "out of order, other errors): not reported as findings, because it prints them for "
            "healthy files too; the other lines are checked instead."
        )


def nothing_read(dump: Dump) -> str:
    """Why not one batch of a partition was read, where, and what to do."""
    segments = [file for file in dump.files if file.kind == "segment"]
    audited = [one for one in segments if one.partition_index is not None]
    what = "Copy folders like orders-0 with their .log files"
    if audited and not any(one.size for one in audited):
        said = f"it has {_segments(len(audited))}, all empty, the first is {audited[0].path}"
        what = "If the topics are empty, there is nothing to audit. Else copy the folders again"
    elif audited:
        said = f"it has {_segments(len(audited))} without a readable batch"
    elif segments:
        why = segments[0].note or "outside a partition"
        said = f"it has {_segments(len(segments))} outside partitions ({segments[0].path}: {why})"
    elif dump.metadata_logs:
        said = "it has only __cluster_metadata, which has no transactions"
    else:
        said = "it has no segment of a partition"
    where = "see docs/operations.md"
    return f"No batch was read from the dump: {said}. {what} ({where}), and audit again."


def _segments(number: int) -> str:
    return "1 segment" if number == 1 else f"{number:,} segments"


def incomplete(
    dump: Dump, digests: DataFrame, outcomes: list[CheckOutcome], batches: int
) -> list[str]:
    """Sentences because of which the audit is incomplete; empty when it is complete.

    `batches`: how many were read of partitions.
    """
    sentences = [] if batches else [nothing_read(dump)]
    sentences += [f"{problem}." for problem in dump.unreadable[:MOST_PROBLEMS]]
    if len(dump.unreadable) > MOST_PROBLEMS:
        sentences.append(f"{len(dump.unreadable) - MOST_PROBLEMS:,} more such files.")
    paths = {file.file_index: file.path for file in dump.files}
    notes = {file.file_index: file.note for file in dump.files}
    bad = digests.filter(F.col("error").isNotNull() | F.col("shrank")).select(
        "file_index", "error", "shrank"
    )
    for row in bad.orderBy("file_index").limit(100).collect():
        what = row.error or "became shorter while it was read"
        rest = UNJUDGED if row.shrank and notes[row.file_index] == UNREAD else ""
        sentences.append(f"{paths[row.file_index]}: {what}{rest}.")
    for outcome in outcomes:
        if outcome.status == CRASHED:
            sentences.append(f"check {outcome.check.code} crashed: {outcome.detail}.")
    return sentences
