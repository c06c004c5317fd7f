"""Laws over the cases of all checks: every case is a partition, so one audit takes them all.

Legal cases stay without a violation. A broken case may be told weaker or not at all (what showed
it may be gone), but accuses nobody else: a legal case beside it keeps its silence. Each
partition of a case gets one law, drawn by seed; laws that change what a whole broker says of
itself are left to the dumps.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

from cases import AuditedCases, Finding, audit_dump, cases_of, findings_of
from log_builder import AS_OF, Case, DumpWriter
from pyspark.sql import SparkSession

from laws import absent, clean, clock, head, logs
from laws.dump_files import INTERNAL, Directory, Dump, Partition, read_dump

HERE = Path(__file__).resolve().parent.parent
FILES = sorted((HERE / "checks").glob("*/*.yaml"))
RELEASE = (4, 1)


def _client_time(dump: Dump, directory: Directory, one: Partition, rng: Random) -> bool:
    """Of partitions without open data only.

    A case calls open data that no coordinator lists legal because they are young by their client's
    clock. With an older timestamp they are told at once, which is not the law's doing: they hang.
    """
    if logs.unstable_from(one, logs.log_start(directory, one)) is not None:
        return False
    return clock.client_time(one, rng)


LAWS: dict[str, Callable[[Dump, Directory, Partition, Random], bool]] = {
    "roll": head.rolled,
    "retention": head.retention,
    "delete_records": head.delete_records,
    "side_files": absent.side_files,
    "clean": partial(clean.clean, release=RELEASE, moment=AS_OF),
    "client_time": _client_time,
}


def all_cases() -> list[Case]:
    return [case for path in FILES for case in cases_of(path)]


def is_legal(case: Case) -> bool:
    return not any(one.get("verdict", "violation") == "violation" for one in case.given["finds"])


def write_degraded(
    cases: Sequence[Case], seed: int, folder: Path, laws: Sequence[str] = tuple(LAWS)
) -> dict[str, str]:
    """Writes all cases, each after one law; which law changed the partition of which topic.

    What a case tells of its replica, of its other partitions or of the policy of its topic would
    have to change with it, so these cases keep the laws that leave that alone.
    """
    made = folder / "made"
    DumpWriter(made).write(cases)
    dump = read_dump(made)
    chosen: dict[str, str] = {}
    by_topic = {case.topic: case for case in cases} | {case.output_topic: case for case in cases}
    for directory, one in list(dump.copies()):
        case = by_topic.get(one.topic)
        if case is None or one.topic in INTERNAL:
            continue
        rng = Random(f"{case.name} {seed}")
        law = rng.choice(laws)
        if law == "clean" and "policy" in case.given:
            continue
        if LAWS[law](dump, directory, one, rng):
            chosen[one.topic] = law
    dump.write(folder / "degraded")
    return chosen


def accused(case: Case, audited: AuditedCases) -> list[Finding]:
    """Violations in what belongs to a legal case.

    What a broken case loses may move the first place where its fault can be proven, and then it has
    another name there; it stays in the partitions and ids of the case, which no other case shares.
    """
    if not is_legal(case):
        return []
    return [one for one in findings_of(case, audited) if one["verdict"] == "violation"]


def run_cases(
    spark: SparkSession, seed: int, folder: Path, laws: Sequence[str] = tuple(LAWS)
) -> tuple[dict[str, list[tuple[Case, list[Finding]]]], list[tuple[str, Case, Finding]]]:
    """({law: (case, its findings) of each partition}, (law, case, violation) of the accused)."""
    cases = all_cases()
    chosen = write_degraded(cases, seed, folder, laws)
    done = audit_dump(spark, folder / "degraded")
    audited = AuditedCases.of(done)
    looked: dict[str, list[tuple[Case, list[Finding]]]] = {law: [] for law in laws}
    wrong = []
    for case in cases:
        law = chosen.get(case.topic, chosen.get(case.output_topic))
        if law is None:
            continue
        looked[law].append((case, findings_of(case, audited)))
        wrong += [(law, case, one) for one in accused(case, audited)]
    done.release()
    return looked, wrong
