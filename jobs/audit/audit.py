"""One audit while it runs: what was asked for, and what the stages made of it."""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from jobs.audit.torn_epochs import torn_epochs
from jobs.model.decoded import Decoded
from jobs.model.dump import Dump
from jobs.model.expectation_results import Result
from jobs.model.settings import Settings
from jobs.policy.suites import Policy
from jobs.replay.aborted_lists import AbortedLists, FoldedAborts, aborted_lists
from jobs.replay.replay import Replayed
from jobs.report.verdict import Verdict
from jobs.spark.kept import KeptFrames
from jobs.spark.session import planned_for
from jobs.spark.threads import side_by_side
from jobs.verify.contexts.torn_epoch import TornEpochs
from jobs.verify.verify import Verified
from udfs.storage.dump_path import DumpPath


@dataclass(frozen=True)
class Request:
    """What the command line asks for; `as_of` in ms or None, `depth` records or headers.

    `policy`: the acceptance policy to judge by; None where none was asked for.
    """

    dumps: Sequence[DumpPath]
    out: str
    as_of: int | None
    depth: str
    settings: Settings
    policy: Policy | None = None

    def configuration(self) -> str:
        """Everything besides the input that a result depends on, as canonical JSON."""
        asked = {"settings": self.settings.digested(), "as_of": self.as_of, "depth": self.depth}
        if self.policy:
            asked["policy"] = self.policy.digest
        return json.dumps(asked)


@dataclass(frozen=True)
class DecodedDump:
    """What one pass over the bytes gave: the listing, decoded rows, damage, digests, identity.

    `input_digest`: of all files of the dump; `audit_id` is of the configuration and the code, too.
    """

    files: DataFrame
    decoded: Decoded
    damages: DataFrame
    digests: DataFrame
    input_digest: str
    audit_id: str
    kept: KeptFrames

    def planned(self, spark: SparkSession) -> AbstractContextManager[None]:
        """Settings for the stages over the decoded rows: `jobs.spark.session.planned_for`."""
        return planned_for(spark, self.decoded.rows_to_replay(), self.decoded.fits_one_task())

    def release(self) -> None:
        """Gives the memory back, also that of what was kept later on."""
        self.decoded.release()
        self.kept.release()


@dataclass(frozen=True)
class Aborts:
    """What was made of aborted transactions: the aborted lists, and what is committed elsewhere."""

    lists: AbortedLists
    torn_epochs: TornEpochs | None


@dataclass(frozen=True)
class Audit:
    """One audit while it runs: input, decoded rows, rebuilt tables, findings.

    `expectation_results`: what became of the acceptance policy, once it is judged by.
    """

    request: Request
    dump: Dump
    read: DecodedDump
    replayed: Replayed
    aborts: Aborts
    verified: Verified
    verdict: Verdict
    expectation_results: list[Result] = field(default_factory=list)

    def release(self) -> None:
        """Gives back the memory of everything that was kept between the stages."""
        self.read.release()


def aborts_of(dump: Dump, read: DecodedDump, replayed: Replayed, tolerance: int) -> Aborts:
    """Looks through all that was aborted, for two purposes at once.

    `tolerance`: of the clocks of brokers, ms.
    """
    decoded, met, kept = read.decoded, replayed.transactions, read.kept
    with side_by_side(2) as pool:
        lists = pool.submit(aborted_lists, _folded_aborts(decoded), met, read.files, kept)
        torn = pool.submit(torn_epochs, dump, decoded, replayed, kept, tolerance)
        return Aborts(lists.result(), torn.result())


def _folded_aborts(decoded: Decoded) -> FoldedAborts:
    """What was folded away of aborted transactions and their indexes."""
    return FoldedAborts(
        aborts=decoded.regular_aborts(),
        entries=decoded.aborted_entries(),
        packed=decoded.packed_aborts() if decoded.matches_aborts() else None,
        number=decoded.aborts + decoded.index_entries,
        newest=decoded.newest_entries(),
    )
