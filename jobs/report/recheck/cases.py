"""A finding with its evidence and its dump, and claims about it, made of conditions on batches.

A claim tells whether a finding is right; None where no bytes show that.
"""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from jobs.report.recheck.batches import Batch, Record
from jobs.report.recheck.coordinator_logs import Entry
from jobs.report.recheck.copies import Copy, Head
from jobs.report.recheck.dump import Dump
from jobs.report.recheck.evidence import Proof, is_log
from jobs.report.recheck.internal_topics import TXN_LOG
from jobs.report.recheck.results import HoldsError, UndecidedError


class Case(NamedTuple):
    """A finding, its evidence, and the dump in which it lies."""

    finding: dict[str, Any]
    proofs: list[Proof]
    dump: Dump

    @property
    def place(self) -> tuple[str, int]:
        """Topic and partition."""
        return str(self.finding.get("topic")), int(self.finding.get("partition") or 0)

    @property
    def text(self) -> str:
        """What was found, as the finding tells it."""
        return str(self.finding.get("found") or "")

    def copy(self, proof: Proof) -> Copy:
        """The copy of the partition in which evidence lies."""
        return self.dump.copy(proof.path.parent)

    def head(self, proof: Proof) -> Head:
        """The batch of evidence within its copy."""
        return self.copy(proof).at(proof.path, proof.position)

    def of_id(self) -> list[Entry]:
        """All records of the finding's transactional id; else of all in the logs of its producer.

        A producer id belongs to one transactional id, whose records are in one partition.
        """
        name, producer = self.finding.get("transactional_id"), self.finding.get("producer_id")
        if name is None and producer is not None:
            return self.dump.entries(self.dump.logs_of_producer(producer), None, producer)
        return self.dump.entries(self.dump.logs_of(name), name)

    def log_directory(self) -> Path:
        """That of the partition's folder."""
        if self.proofs:
            return self.proofs[0].path.parent.parent
        file = self.finding.get("file")
        path = next((one for one in self.dump.places(file) if one.exists()), None) if file else None
        if path is None and self.finding.get("topic") is None:
            raise HoldsError("no bytes are named: it is about what is listed beside the log")
        if path is None:
            return self.dump.folder(self.place, self.finding.get("broker")).parent
        return path.parent.parent


Claim = Callable[[Case], bool | None]


def of_batch(says: Callable[[Batch], bool]) -> Claim:
    """A claim about the one batch."""
    return lambda case: says(case.proofs[-1].batch)


def of_two(says: Callable[[Batch, Batch], bool | None]) -> Claim:
    """A claim about two batches of one partition: the first and the last that are named."""

    def claim(case: Case) -> bool | None:
        proofs = case.proofs
        if len(proofs) < 2 or not all(is_log(o.file) or ".snapshot" in o.file for o in proofs):
            return None
        one, other = proofs[0].batch, proofs[-1].batch
        if any(each.magic < 2 and each.codec for each in (one, other)):
            # The first offset of a wrapper is that of a message within it.
            return None
        return says(one, other)

    return claim


def of_producer(says: Callable[[Batch, Batch], bool]) -> Claim:
    """The same of one producer, in the order of the log."""
    return of_two(lambda a, b: a.producer == b.producer >= 0 and a.base < b.base and says(a, b))


def of_markers(says: Callable[[Batch, Batch, tuple[int, int], tuple[int, int]], bool]) -> Claim:
    """The same of two markers, with their control types and coordinator epochs."""
    return of_producer(lambda a, b: says(a, b, a.marker(), b.marker()))


def all_of(*claims: Claim) -> Claim:
    """A claim that needs several; the first that fails or cannot be shown decides."""

    def claim(case: Case) -> bool | None:
        for one in claims:
            says = one(case)
            if not says:
                return says
        return True

    return claim


def unreadable(read: Callable[[Record], object]) -> Claim:
    """A claim that the record at the offset cannot be read so."""

    def claim(case: Case) -> bool | None:
        for record in case.proofs[-1].batch.records():
            if case.finding.get("offset_first") in (None, record.offset):
                try:
                    read(record)
                except (ValueError, struct.error, UndecidedError):
                    return True
        return False

    return claim


def data_proofs(case: Case) -> list[Proof]:
    """Evidence in the partition that the finding accuses."""
    return [one for one in case.proofs if is_log(one.file) and TXN_LOG not in one.path.parent.name]
