"""`eosaudit export`: the records that a consumer would get, as the Delta table `record`."""

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.audit.audit import DecodedDump, Request
from jobs.decode.decode import decode_options
from jobs.export.export import ExportRequest, Range, aborted_behind, records
from jobs.export.lacking import Lacking, lacking
from jobs.export.lost_markers import Told, lost_markers
from jobs.export.once import Repeated, going_back, in_order, once, repeated
from jobs.model.counted import count
from jobs.model.dump import Dump
from jobs.model.errors import UsageError
from jobs.model.settings import Settings
from jobs.model.unread import UNREAD
from jobs.replay.replay import Replayed
from jobs.spark import delta_tables
from jobs.spark.joins import small
from jobs.spark.local import local_frame
from schemas import log_row
from schemas.record import READ_COMMITTED
from schemas.topics import COORDINATOR_TOPICS
from udfs.arrow.frames import BATCH_CUT, HEADER_CUT, ZERO_BYTES
from udfs.arrow.sections import UNREADABLE
from udfs.wire.batches import batch_layout as layout
from udfs.wire.bounds import HIGHEST

TABLE = "record"
COPIES_NAMED = 5
BOUNDS = "partition_index int, from_offset long, end_offset long, replicated_to long"
COPY_AGAIN = (
    "they lie below the high watermark of a checkpoint, or between batches of a log that by its "
    "checkpoint no cleaner has passed. Where no other broker is named, copy the folder again, or "
    "that of another replica"
)
# Of the last batch, where a broker was appending it or had not written all of it to its disk.
TORN = (BATCH_CUT, HEADER_CUT, ZERO_BYTES)

NEXT_MARKER = (
    "If a marker was among them, and neither the .txnindex nor another copy tells the outcome of "
    "its transaction, that has the outcome of the producer's next marker."
)


class Exported(NamedTuple):
    """What was written, and `lost`: sentences about what of the ranges could not be read.

    `lacking`: offsets that are in no batch of a copy. `told`: transactions whose marker is lost,
    and whose outcome a .txnindex or another copy tells; `others`: records of these topics in the
    table that other exports wrote; `audit_id`: of this; `repeated`: partitions whose offsets go
    back.
    """

    ranges: list[Range]
    written: int
    lost: list[str]
    lacking: list[Lacking]
    told: int = 0
    others: int = 0
    audit_id: str = ""
    repeated: tuple[Repeated, ...] = ()


def check_has_bytes(dump: Dump) -> None:
    """Raises UsageError where the dump is texts: what they print of records is not their bytes."""
    texts = [file.path for file in dump.files if file.text is not None]
    if texts:
        raise UsageError(
            f"{texts[0]} is a text of kafka-dump-log, which has no records to export: set --dump "
            "to the log directories of the broker."
        )


def configuration(wanted: ExportRequest, settings: Settings) -> str:
    """Everything besides the input that an export depends on, as canonical JSON."""
    asked: dict[str, object] = {
        "export": wanted.isolation,
        "topics": sorted(wanted.topics),
        "broker": wanted.broker,
        "settings": settings.digested(),
    }
    # An export without these has the identity that it always had.
    if wanted.to_log_end:
        asked["to_log_end"] = True
    if wanted.partitions:
        asked["partitions"] = sorted(set(wanted.partitions))
    return json.dumps(asked)


def export(
    spark: SparkSession, asked: list[Range], read: DecodedDump, replayed: Replayed,
    request: Request, wanted: ExportRequest,
) -> Exported:  # fmt: skip
    """Writes the records of the ranges, once: an export that is there already adds nothing."""
    behind: DataFrame | None = None
    told: Told = {}
    if wanted.isolation == READ_COMMITTED:
        behind = aborted_behind(replayed.transactions, replayed.splits)
        told = lost_markers(
            read.decoded, read.damages, replayed.transactions, replayed.partition_info,
            replayed.splits, asked,
        )  # fmt: skip
    options = decode_options(request.settings, "records")

    def read_again(some: list[Range]) -> DataFrame:
        return records(spark, read.decoded.splits, some, behind, options, told)

    back = going_back(replayed.discontinuities, asked)
    twice = [one for one in asked if one.partition_index in back]
    found = read_again([one for one in asked if one not in twice])
    again: list[Repeated] = []
    if twice:
        ordered = in_order(read_again(twice))
        again = repeated(ordered, twice)
        found = found.unionByName(once(ordered))
    delta_tables.append(_placed(found, replayed), request.out, TABLE, read.audit_id)
    mine = delta_tables.rows_of(spark, request.out, TABLE, read.audit_id)
    outcomes = sum(len(rows) for rows in told.values())
    topics = sorted({one.topic for one in asked})
    table = delta_tables.read(spark, request.out, TABLE)
    of_others = F.col("topic").isin(*topics) & (F.col("audit_id") != read.audit_id)
    others = 0 if table is None else table.filter(of_others).count()
    lost = list(_lost(spark, asked, read, wanted.to_log_end))
    gaps = lacking(replayed.partition_info, asked, wanted.to_log_end)
    return Exported(asked, mine.count(), lost, gaps, outcomes, others, read.audit_id, tuple(again))


def _placed(found: DataFrame, replayed: Replayed) -> DataFrame:
    place = replayed.partition_info.select("partition_index", "broker", "topic", "partition")
    owners = replayed.owners.select("producer_id", "transactional_id")
    return found.join(small(place), on="partition_index", how="inner").join(
        small(owners), on="producer_id", how="left"
    )


def _lost(
    spark: SparkSession, asked: list[Range], read: DecodedDump, to_log_end: bool
) -> Iterator[str]:
    """One sentence a kind of thing that a consumer should have got and the table lacks.

    What lies behind the last batch was replicated where it begins below the high watermark of a
    checkpoint. Where none counts, the last batch may be torn in any log.
    """
    rows = [
        (one.partition_index, one.from_offset, one.end_offset,
         None if to_log_end else one.replicated_to)
        for one in asked
    ]  # fmt: skip
    bounds = small(local_frame(spark, rows, BOUNDS))
    begins = F.coalesce("previous_last_offset", F.lit(-1)) + 1
    inside = F.col("next_offset").isNotNull() | ~F.col("reason").isin(*TORN)
    damages = read.damages.join(bounds, on="partition_index", how="inner").filter(
        F.coalesce(begins < F.col("replicated_to"), inside)
        & (F.coalesce("next_offset", F.lit(HIGHEST)) > F.col("from_offset"))
    )
    bytes_lost = damages.agg(
        F.count("*").alias("number"), F.sum(F.col("end_byte") - F.col("first_byte")).alias("bytes")
    ).collect()[0]
    if bytes_lost.number:
        yield (
            f"{bytes_lost.number:,} damaged byte ranges with {bytes_lost.bytes:,} bytes have no "
            f"valid batch; `audit` lists them in the table decode_failure. {NEXT_MARKER}"
        )
    data = F.col("attributes").bitwiseAND(F.lit(layout.CONTROL_MASK)) == 0
    unreadable = F.col("fault_mask").bitwiseAND(F.lit(UNREADABLE)) != 0
    frames = read.decoded.nested(log_row.FRAME, "frame").filter(data & unreadable)
    batches = frames.join(bounds, on="partition_index", how="inner").filter(
        (F.col("last_offset") >= F.col("from_offset"))
        & (F.col("base_offset") < F.col("end_offset"))
    )
    number = batches.count()
    if number:
        yield f"{number:,} batches cannot be read; `audit` reports them with the reason."


def _copies_taken(done: Exported, dump: Dump) -> Iterator[str]:
    """Which copy was taken where the dump has several, so that a wrong one is seen."""
    several = [one for one in done.ranges if one.copies > 1]
    if not several:
        return
    folders = {
        one.partition_index: one.segments[0].path.rpartition("/")[0]
        for one in dump.partitions
        if one.segments
    }
    named = [
        f"{one.topic}-{one.partition} from {folders.get(one.partition_index, 'an empty folder')}"
        for one in several[:COPIES_NAMED]
    ]
    more = f" and {len(several) - COPIES_NAMED:,} more" if len(several) > COPIES_NAMED else ""
    yield (
        f"{count(len(several), 'partition')} {'has' if len(several) == 1 else 'have'} several "
        "copies in the dump; of each that with the newest leader epoch, and of these the longest, "
        f"was exported: {', '.join(named)}{more}."
    )
    if any(one.broker is None for one in several):
        yield (
            "Without meta.properties the broker of these copies is unknown: to export another "
            "copy, set --dump to its folder."
        )


def _told(found: list[Lacking], why: str) -> str:
    """One sentence about offsets that the exported copies lack."""
    named = [
        f"{one.topic}-{one.partition} offsets {one.first} to {one.last}"
        + (f" (broker {one.brokers[0]} has them: --broker {one.brokers[0]})" if one.brokers else "")
        for one in found[:COPIES_NAMED]
    ]
    more = f" and {len(found) - COPIES_NAMED:,} more ranges" if len(found) > COPIES_NAMED else ""
    number = sum(one.number for one in found)
    return (
        f"{count(number, 'offset')} {'is' if number == 1 else 'are'} in no batch of the exported "
        f"copies that can be read: {', '.join(named)}{more}; {why}."
    )


def _once(done: Exported) -> Iterator[str]:
    """What was left out because the copy has its offset twice."""
    same = sum(one.again - one.differing for one in done.repeated)
    if same:
        yield (
            f"{count(same, 'record')} {'lies' if same == 1 else 'lie'} a second time in "
            f"{_named(one for one in done.repeated if one.again > one.differing)}, with the same "
            "offset and content: each is exported once, as a consumer gets it."
        )


def _under_other_offsets(done: Exported) -> Iterator[str]:
    """What of a log in which offsets go back is not what it was."""
    short = {(one.topic, one.partition) for one in done.lacking}
    wrong = [one for one in done.repeated if one.differing or (one.topic, one.partition) in short]
    if wrong:
        differing = sum(one.differing for one in wrong)
        left_out = (
            f" {count(differing, 'record')} {'is' if differing == 1 else 'are'} left out, as an "
            "earlier one has the same offset."
            if differing
            else ""
        )
        yield (
            f"Offsets of {_named(wrong)} go back, so batches may lie under wrong offsets, and what "
            "is told as missing there may be in the table under others: `audit` tells where "
            f"(offset_not_increasing).{left_out}"
        )


def _named(found: Iterable[Repeated]) -> str:
    names = [f"{one.topic}-{one.partition}" for one in found]
    more = f" and {len(names) - COPIES_NAMED:,} more" if len(names) > COPIES_NAMED else ""
    return f"{', '.join(names[:COPIES_NAMED])}{more}"


def closing_words(
    done: Exported, request: Request, wanted: ExportRequest, dump: Dump
) -> tuple[str, int]:
    """(text for a person, exit code)."""
    topics = {one.topic for one in done.ranges}
    held = [one for one in done.ranges if one.end_offset < one.log_end_offset]
    lines = [
        f"{count(done.written, 'record')} of {count(len(done.ranges), 'partition')} of "
        f"{count(len(topics), 'topic')}, as {wanted.isolation} consumers receive them, "
        f"{'is' if done.written == 1 else 'are'} in {request.out}/{TABLE}."
    ]
    if held:
        behind = sum(one.log_end_offset - one.end_offset for one in held)
        mark = "last stable offset" if wanted.isolation == READ_COMMITTED else "high watermark"
        lines.append(
            f"{count(behind, 'offset')} of {count(len(held), 'partition')} "
            f"{'is' if behind == 1 else 'are'} at or above the {mark} and not delivered to "
            "consumers."
        )
    if done.others:
        lines.append(
            f"The table already has {done.others:,} records of these topics from other exports: "
            f"read only those with audit_id = '{done.audit_id}', or export into another folder."
        )
    lines += _copies_taken(done, dump)
    if done.told:
        lines.append(
            f"{count(done.told, 'transaction')} whose marker cannot be read "
            f"{'has' if done.told == 1 else 'have'} the outcome that a .txnindex or another copy "
            "of the partition tells."
        )
    if not any(one.log_end_offset > one.from_offset for one in done.ranges):
        lines.append("None of the requested partitions has a batch that can be read.")
    if front := [one for one in done.lacking if one.in_front]:
        lines.append(_told(front, "they were deleted there, or are in remote storage"))
    gaps = [one for one in done.lacking if not one.lost and not one.in_front]
    if gaps:
        why = "which a cleaner may have taken: the dump does not tell"
        lines.append(f"{_told(gaps, why)} {NEXT_MARKER}")
    lines += _once(done)
    lost = [*_not_read(dump, wanted), *done.lost, *_under_other_offsets(done)]
    if gone := [one for one in done.lacking if one.lost]:
        lost.append(f"{_told(gone, COPY_AGAIN)} {NEXT_MARKER}")
    lines += [f"Lost: {sentence}" for sentence in lost]
    return "\n".join(lines), 3 if lost or not done.ranges else 0


def _not_read(dump: Dump, wanted: ExportRequest) -> Iterator[str]:
    """Partitions that changed while they were read, of which nothing is exported."""
    folders = {
        one.path.rpartition("/")[0]
        for one in dump.files
        if one.note == UNREAD
        and (one.topic in wanted.topics if wanted.topics else one.topic not in COORDINATOR_TOPICS)
    }
    if folders:
        named = ", ".join(sorted(folders)[:COPIES_NAMED])
        more = f" and {len(folders) - COPIES_NAMED:,} more" if len(folders) > COPIES_NAMED else ""
        yield (
            f"{len(folders):,} partition folders changed, or could not be read, while they were "
            f"exported: {named}{more}. Nothing of them is in the table; run the same command again."
        )
