"""What the audit says of each partition, held against the second opinion."""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.audit.audit import DecodedDump
from jobs.decode.decode import decode_options
from jobs.export.export import Range, aborted_behind, records
from jobs.model.dump import Dump
from jobs.model.settings import Settings
from jobs.replay.replay import Replayed
from second_opinion.replay import Aborted, Opinion, RefusedError, opinion


@dataclass
class Told:
    """What the audit says of one partition; the fields are those of Opinion."""

    log_start: int
    log_end: int
    high_watermark: int | None
    last_stable: int
    open_transactions: int
    basis: str
    aborted: list[Aborted] = field(default_factory=list)
    in_log: list[tuple[int, int]] = field(default_factory=list)
    received: list[int] | None = None


class Difference(NamedTuple):
    """One answer of a partition in which the two differ."""

    folder: Path
    what: str
    audit: Any
    opinion: Any


@dataclass
class Compared:
    """What came of it: partitions that agree in everything, that differ, that were not asked."""

    agree: int = 0
    differ: list[Difference] = field(default_factory=list)
    refused: dict[Path, str] = field(default_factory=dict)
    damaged: dict[Path, str] = field(default_factory=dict)
    untold: int = 0
    aborted: int = 0
    open: int = 0
    received: int = 0


def told_by_audit(
    spark: SparkSession,
    dump: Dump,
    read: DecodedDump,
    replayed: Replayed,
    aborted: DataFrame,
    settings: Settings,
) -> dict[int, Told]:
    """The answers of the audit by partition_index; `aborted`: see AbortedLists.aborted."""
    told: dict[int, Told] = {}
    asked = []
    for row in replayed.partition_states().collect():
        told[row.partition_index] = Told(
            row.log_start_offset, row.log_end_offset, row.high_watermark, row.last_stable_offset,
            row.open_transactions, row.lso_basis, received=[],
        )  # fmt: skip
        asked.append(
            Range(
                row.partition_index, row.topic, row.partition, row.broker, row.log_start_offset,
                row.last_stable_offset, row.log_end_offset, row.records,
            )
        )  # fmt: skip
    for row in aborted.collect():
        told[row.partition_index].aborted.append(
            Aborted(row.producer_id, row.first_offset, row.marker_offset, row.last_stable_offset)
        )
    met = replayed.transactions.filter(
        (F.col("outcome") == "open") & F.col("first_offset").isNotNull()
    )
    for row in met.select("partition_index", "producer_id", "first_offset").collect():
        told[row.partition_index].in_log.append((row.producer_id, row.first_offset))
    behind = aborted_behind(replayed.transactions, replayed.splits)
    options = decode_options(settings, "records")
    rows = records(spark, read.decoded.splits, asked, behind, options, {})
    received = rows.select("partition_index", "offset").toPandas()
    for index, offsets in received.groupby("partition_index")["offset"]:
        told[int(index)].received = sorted(offsets.tolist())
    return told


def folders(dump: Dump, root: Path) -> dict[int, Path]:
    """The folder of each partition, by partition_index."""
    found = {}
    for index, partition in enumerate(dump.partitions):
        if partition.segments:
            path = partition.segments[0].path
            found[index] = (root / path).parent
    return found


def compare(told: dict[int, Told], places: dict[int, Path]) -> Compared:
    """Holds the answers of each partition against each other."""
    result = Compared()
    for index, folder in places.items():
        try:
            ours = opinion(folder)
        except RefusedError as error:
            result.refused[folder] = str(error)
            continue
        if ours.damage:
            result.damaged[folder] = ours.damage
            continue
        found = list(differences(folder, told[index], ours))
        result.differ += found
        result.agree += not found
        result.untold += told[index].basis == "log_start"
        result.aborted += len(ours.aborted)
        result.open += len(ours.open)
        result.received += len(ours.received)
    return result


def differences(folder: Path, told: Told, ours: Opinion) -> list[Difference]:
    """Answers that are not the same."""
    pairs = [
        ("log start", told.log_start, ours.log_start),
        ("log end", told.log_end, ours.log_end),
        ("aborted", sorted(told.aborted), sorted(ours.aborted)),
        ("open in the log", sorted(told.in_log), ours.in_log),
    ]
    if told.high_watermark is not None:
        pairs.append(("high watermark", told.high_watermark, ours.high_watermark))
    # What no snapshot shows is not known: `lso_basis` says so.
    if told.basis != "log_start":
        # A broker that runs on knows what the snapshot at the log start says; one that starts
        # deletes that snapshot (`ProducerStateManager.truncateAndReload`).
        runs_on = told.open_transactions == len(ours.in_log)
        pairs += [
            ("last stable offset", told.last_stable, ours.last_stable),
            (
                "open transactions",
                told.open_transactions,
                len(ours.in_log if runs_on else ours.open),
            ),
            ("received", told.received, ours.received),
        ]
    return [Difference(folder, what, a, b) for what, a, b in pairs if a != b]


def by_kind(found: list[Difference]) -> dict[str, list[Difference]]:
    kinds: dict[str, list[Difference]] = defaultdict(list)
    for one in found:
        kinds[one.what].append(one)
    return kinds
