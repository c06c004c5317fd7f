"""The bytes that a finding names, and whether they are those quoted and of such a role."""

from pathlib import Path
from typing import Any, NamedTuple

from jobs.report.recheck.batches import ABORT, HEADER, Batch, framed
from jobs.report.recheck.dump import Dump
from jobs.report.recheck.internal_topics import OFFSETS, TXN_LOG
from jobs.report.recheck.results import RefutedError, UndecidedError
from jobs.report.recheck.snapshot_files import SNAPSHOT_ENTRY, last_batch

# What a batch with such a role is, whatever the finding.
ABORT_MARKER = "the ABORT marker"
PREPARE_RECORD = "the Prepare record"
MARKERS = {
    "the marker", ABORT_MARKER, "the marker before", "the repeated marker",
    "the first marker", "the second marker", "the marker of the same epoch",
    "the marker of the lower epoch", "the marker of the lower coordinator epoch",
}  # fmt: skip
LAST_OF_TRANSACTION = "last batch of the transaction"
OF_TRANSACTION = {"first batch of the transaction", LAST_OF_TRANSACTION}


class Proof(NamedTuple):
    """Evidence with the bytes that lie there now; `size`: of the file."""

    role: str
    file: str
    position: int
    data: bytes
    size: int
    path: Path

    @property
    def batch(self) -> Batch:
        """The bytes as a batch; of a snapshot's entry the last one of its producer."""
        if self.file.endswith(".snapshot") and len(self.data) == SNAPSHOT_ENTRY.size:
            return last_batch(self.data, self.role in MARKERS)
        return Batch(self.data)


def is_log(file: str) -> bool:
    """Whether a file has batches."""
    return file.removesuffix(".swap").endswith((".log", ".checkpoint"))


def proof_of(evidence: dict[str, Any], dump: Dump, damaged: bool) -> Proof:
    """The bytes that lie there now. Raises RefutedError where they are not those quoted."""
    file, position, length = (evidence[name] for name in ("file", "byte_position", "byte_length"))
    if "!/" in file:
        raise UndecidedError(f"{file} is a text of kafka-dump-log")
    path = next((one for one in dump.places(file) if one.is_file()), None)
    if path is None:
        raise UndecidedError(f"{file} is not in the dump")
    size = path.stat().st_size
    with path.open("rb") as opened:
        opened.seek(position or 0)
        data = opened.read(size if length is None else length)
        if is_log(file) and not damaged and length == HEADER.size < framed(data):
            # Of some batches the audit knows the header only.
            length = framed(data)
            data += opened.read(length - len(data))
    if length is not None and len(data) != length:
        raise RefutedError(f"{file} has {len(data)} of {length} bytes at {position}")
    for field in evidence.get("fields") or ():
        quoted = bytes.fromhex(field["hex"])
        at = field["byte_position"] - (position or 0)
        if data[at : at + len(quoted)] != quoted:
            raise RefutedError(
                f"{file}: {field['name']} at byte {field['byte_position']} is another"
            )
    if is_log(file) and length and not damaged and not Batch(data).whole:
        raise RefutedError(f"{file}: no whole batch of {length} bytes at {position}")
    return Proof(evidence.get("role") or "", file, position or 0, data, size, path)


def named(finding: dict[str, Any], proofs: list[Proof]) -> None:
    """Each batch is what it is named for, and that at the place is of the producer."""
    for one in proofs:
        batch = one.batch if is_log(one.file) else None
        if batch is None or not batch.whole or batch.magic < 2:
            continue
        if one.role in MARKERS and not batch.control:
            raise RefutedError(f"the batch at {one.position} is no marker")
        if one.role == ABORT_MARKER and batch.marker()[0] != ABORT:
            raise RefutedError(f"the marker at {one.position} is no ABORT")
        if one.role in OF_TRANSACTION and not batch.of_client:
            raise RefutedError(f"the batch at {one.position} is not of a transaction")
        own = (one.file, one.position) == (finding.get("file"), finding.get("byte_position"))
        # Batches of the coordinator have no producer, those of a plain producer neither.
        others = {finding.get("producer_id"), -1}
        if own and finding.get("producer_id") is not None and batch.producer not in others:
            raise RefutedError(f"the batch at {one.position} is of producer {batch.producer}")


def at_its_place(finding: dict[str, Any], proofs: list[Proof]) -> None:
    """What lies at the place of a finding is of its partition.

    A finding about a partition may have its place in a log of the coordinator or of a group.
    """
    for one in proofs:
        if (one.file, one.position) != (finding.get("file"), finding.get("byte_position")):
            continue
        topic, _, number = one.path.parent.name.rpartition("-")
        if not number.isdigit() or topic in (TXN_LOG, OFFSETS):
            continue
        named_place = f"{finding.get('topic')}-{finding.get('partition')}"
        if finding.get("topic") is not None and named_place != one.path.parent.name:
            raise RefutedError(f"{one.file} is not of {named_place}")
