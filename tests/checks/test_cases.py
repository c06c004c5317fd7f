"""Every check against its cases: logs in the notation of `tests/log_builder.py`.

All cases of all files lie in one dump, which is audited once; a case owns the findings of its
partition.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest
from cases import (
    SHARED,
    AuditedCases,
    audit_dump,
    by_dump,
    cases_of,
    difference,
    dump_of,
    tables,
    told,
)
from deltalake import DeltaTable
from histories import HISTORIES, histories
from log_builder import AS_OF, CLOCK_TOPIC, COORDINATOR_TOPIC, DumpWriter
from log_builder import Case as LogCase
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType
from rechecked import Rechecked, with_recheck

from jobs.audit import write
from jobs.audit.audit import Audit, aborts_of
from jobs.audit.contexts import StageResults, build_contexts
from jobs.model import decoded
from jobs.spark import delta_tables
from jobs.spark.kept import KeptFrames
from jobs.verify.catalogue import CHECKS
from jobs.verify.check import Check
from jobs.verify.contexts.context import Context
from jobs.verify.run import ContextScan, look
from jobs.verify.verify import verify
from schemas.contexts import CONTEXTS

HERE = Path(__file__).parent
TINY_SPLIT_BYTES = 97
# Those that look at what was aborted before it is rows, where it is much.
PACKED_CONTEXTS = ("txn_index_entry", "torn_epoch")
FILES = sorted(HERE.glob("*/*.yaml"))


CASES = [case for path in FILES for case in cases_of(path)]
SEVERITY = {check.code: check.severity for check in CHECKS}


@pytest.fixture(scope="session")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cases")
    DumpWriter(folder).write(by_dump(CASES)[SHARED] + histories())
    return folder


@pytest.fixture(scope="session")
def other_dumps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders by the name of the dump."""
    folders = {}
    for name, some in by_dump(CASES).items():
        if name != SHARED:
            folders[name] = tmp_path_factory.mktemp("some_cases")
            DumpWriter(folders[name]).write(some)
    return folders


@pytest.fixture(scope="session")
def audited(spark: SparkSession, dump: Path) -> Iterator[AuditedCases]:
    done = audit_dump(spark, dump)
    yield AuditedCases.of(done)
    done.release()


@pytest.fixture(scope="session")
def audited_others(
    spark: SparkSession, other_dumps: dict[str, Path]
) -> Iterator[dict[str, AuditedCases]]:
    done = {name: audit_dump(spark, folder) for name, folder in other_dumps.items()}
    yield {name: AuditedCases.of(one) for name, one in done.items()}
    for one in done.values():
        one.release()


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_findings_of_a_case_are_exactly_those_it_names(
    case: LogCase, audited: AuditedCases, audited_others: dict[str, AuditedCases]
) -> None:
    assert difference(case, audited_others.get(dump_of(case), audited)) == ""


@pytest.mark.slow
@pytest.mark.spark
def test_no_finding_of_a_case_is_refuted_by_its_own_bytes(
    dump: Path,
    audited: AuditedCases,
    other_dumps: dict[str, Path],
    audited_others: dict[str, AuditedCases],
) -> None:
    results = Rechecked()
    others = [(other_dumps[name], some) for name, some in audited_others.items()]
    for folder, some in ((dump, audited), *others):
        found = list(chain.from_iterable(some.findings.values()))
        results.take("cases", with_recheck(found, folder, AS_OF))
    assert results.refuted == []
    never = {code for code, one in results.by_code.items() if not one["confirmed"]}
    assert never == set()


@pytest.mark.slow
@pytest.mark.spark
def test_no_check_crashed_and_the_frame_of_the_dump_is_clean(audited: AuditedCases) -> None:
    crashed = [one for one in audited.done.verified.outcomes if one.status != "ran"]
    assert crashed == []
    for place, findings in audited.findings.items():
        if place[0] in (CLOCK_TOPIC, COORDINATOR_TOPIC):
            nobodys = [one for one in findings if one["transactional_id"] is None]
            # `crc=bad`, `skip=` and `ckey=` of a case; none names an id.
            told = {one["code"] for one in nobodys if one["severity"] != "info"}
            assert told <= {"batch_crc_mismatch", "segment_missing", "txnlog_undecodable"}, place


@dataclass(frozen=True)
class Again:
    """The same dump in tiny splits, without the shortcut over regular rows; what it looked at."""

    done: Audit
    looked: list[ContextScan]


@pytest.fixture(scope="module")
def again(spark: SparkSession, dump: Path) -> Iterator[Again]:
    looked: list[ContextScan] = []

    def look_and_keep(context: Context, checks: list[Check], kept: KeptFrames) -> ContextScan:
        looked.append(look(context, checks, kept, keep_regular=True))
        return looked[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jobs.verify.verify.look", look_and_keep)
        done = audit_dump(spark, dump, split_bytes=TINY_SPLIT_BYTES)
    yield Again(done, looked)
    done.release()


@pytest.mark.spark
def test_contexts_give_the_columns_that_they_declare(spark: SparkSession, again: Again) -> None:
    assert {one.context.name for one in again.looked} == set(CONTEXTS)
    for one in again.looked:
        assert not one.context.empty, one.context.name
        declared = spark.createDataFrame([], CONTEXTS[one.context.name].COLUMNS).schema
        assert types(one.rows.schema) == types(declared), one.context.name


def types(schema: StructType) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in schema}


@pytest.mark.spark
def test_nothing_depends_on_splits_or_on_the_shortcut_over_regular_rows(
    audited: AuditedCases, again: Again
) -> None:
    """Both in one audit, for it takes a minute and more; a run with one tells which it was."""
    done, other = audited.done, again.done
    assert done.replayed.regular > HISTORIES * 10
    assert other.replayed.regular < done.replayed.regular / 2
    assert other.read.decoded.folded_rows < done.read.decoded.folded_rows / 2
    assert told(done.verified.findings.filter("topic like 'random%'")).total() > HISTORIES
    for name, rows in tables(done).items():
        assert told(tables(other)[name]) == told(rows), name


@pytest.mark.spark
def test_findings_are_the_same_where_aborts_are_matched_packed(
    spark: SparkSession, audited: AuditedCases, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = audited.done
    assert not done.read.decoded.aborts_are_many()
    monkeypatch.setattr(decoded, "MANY_ABORTS", 1)
    read = done.read
    found = aborts_of(done.dump, read, done.replayed, done.request.settings.clock_tolerance_ms)
    assert found.lists.number > read.decoded.aborts / 2
    assert told(found.lists.aborted()) == told(done.aborts.lists.aborted())
    made = StageResults(done.request, done.dump, read, done.replayed, found, AS_OF)
    contexts = [one for one in build_contexts(made) if one.name in PACKED_CONTEXTS]
    checks = tuple(check for check in CHECKS if check.context in PACKED_CONTEXTS)
    packed = verify(spark, contexts, "records", read.kept, checks)
    wanted = done.verified.findings.filter(F.col("code").isin([check.code for check in checks]))
    assert told(wanted).total() > len(checks)
    assert told(packed.findings) == told(wanted)


@pytest.mark.spark
def test_of_ids_that_share_a_producer_id_the_one_that_runs_here_holds_the_last_stable_offset(
    audited: AuditedCases,
) -> None:
    (case,) = (one for one in CASES if "two ids share a producer id, one runs" in one.name)
    states = audited.done.replayed.partition_states().filter(F.col("topic") == case.topic)
    (holder,) = states.select("lso_transactional_id").collect()
    assert holder.lso_transactional_id.startswith(f"{case.code}.{case.number}.x")


@pytest.mark.spark
def test_transactions_that_tasks_write_are_those_that_spark_writes(
    audited: AuditedCases, tmp_path: Path
) -> None:
    done = audited.done
    rows = write._placed(done, write._transactions(done))
    parts = write._parts(done, "txn", rows, "an audit")
    assert len(parts) == 2
    for _ in range(2):  # the second time adds nothing
        assert delta_tables.append_by_tasks(parts, f"{tmp_path}/tasks", "txn", "an audit")
    delta_tables.append(rows, f"{tmp_path}/spark", "txn", "an audit")
    made = []
    for name in ("tasks", "spark"):
        table = DeltaTable(tmp_path / name / "txn")
        extremes = table.get_add_actions(flatten=True).to_struct_array().to_pylist()
        stored = rows.sparkSession.read.format("delta").load(f"{tmp_path}/{name}/txn")
        made.append(
            (
                told(stored),
                StructType.fromJson(json.loads(table.schema().to_json())),
                table.metadata().configuration,
                {key for file in extremes for key in file if key.startswith(("min.", "max."))},
                min(file["min.first_offset"] for file in extremes),
                max(file["max.topic"] for file in extremes),
            )
        )
    assert made[0] == made[1]
    assert made[0][0].total() > done.replayed.regular > 0


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_file_has_a_case_that_fires_and_as_many_legal_ones(path: Path) -> None:
    strongest = "violation" if SEVERITY[path.stem] == "error" else "suspect"
    given = [case.given["finds"] for case in cases_of(path)]
    fires = [
        finds
        for finds in given
        if any(
            one["code"] == path.stem and one.get("verdict", "violation") == strongest
            for one in finds
        )
    ]
    legal = [finds for finds in given if path.stem not in {one["code"] for one in finds}]
    assert 1 <= len(fires) <= len(legal)
