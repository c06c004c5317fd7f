"""Every check against its cases: logs in the notation of `tests/log_builder.py`.

All cases of all files lie in one dump, which is audited once; a case owns the findings of its
partition.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from cases import AuditedCases, audit_dump, cases_of, difference, tables, told
from histories import HISTORIES, histories
from log_builder import AS_OF, CLOCK_TOPIC, COORDINATOR_TOPIC, DumpWriter
from log_builder import Case as LogCase
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from jobs import main as jobs_main
from jobs.audit.audit import Aborts, aborts_of
from jobs.audit.contexts import Made, build_contexts
from jobs.model import decoded
from jobs.verify.catalogue import CHECKS
from jobs.verify.contexts.context import Context
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
    DumpWriter(folder).write(CASES + histories())
    return folder


@pytest.fixture(scope="session")
def audited(spark: SparkSession, dump: Path) -> Iterator[AuditedCases]:
    done = audit_dump(spark, dump)
    yield AuditedCases.of(done)
    done.release()


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_findings_of_a_case_are_exactly_those_it_names(
    case: LogCase, audited: AuditedCases
) -> None:
    assert difference(case, audited) == ""


@pytest.mark.spark
def test_no_check_crashed_and_the_frame_of_the_dump_is_clean(audited: AuditedCases) -> None:
    crashed = [one for one in audited.done.verified.outcomes if one.status != "ran"]
    assert crashed == []
    for place, findings in audited.findings.items():
        if place[0] in (CLOCK_TOPIC, COORDINATOR_TOPIC):
            nobodys = [one for one in findings if one["transactional_id"] is None]
            assert [one for one in nobodys if one["severity"] != "info"] == [], place


@pytest.fixture(scope="module")
def packed(audited: AuditedCases) -> Iterator[tuple[Aborts, list[Context]]]:
    """The aborts, matched where they are packed, and all contexts built on them."""
    done, settings = audited.done, audited.done.request.settings
    assert not done.read.decoded.aborts_are_many()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoded, "MANY_ABORTS", 1)
        found = aborts_of(done.dump, done.read, done.replayed, settings.clock_tolerance_ms)
        made = Made(done.request, done.dump, done.read, done.replayed, found, AS_OF)
        yield found, build_contexts(made)


@pytest.mark.spark
def test_contexts_give_the_columns_that_they_declare(
    spark: SparkSession, packed: tuple[Aborts, list[Context]]
) -> None:
    for context in packed[1]:
        assert not context.empty, context.name
        given = context.enrich(context.rows).schema
        declared = spark.createDataFrame([], CONTEXTS[context.name].COLUMNS).schema
        assert types(given) == types(declared), context.name


def types(schema: StructType) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in schema}


@pytest.mark.spark
def test_findings_are_the_same_where_aborts_are_matched_packed(
    spark: SparkSession, audited: AuditedCases, packed: tuple[Aborts, list[Context]]
) -> None:
    done, (found, contexts) = audited.done, packed
    assert found.lists.number > done.read.decoded.aborts / 2
    assert told(found.lists.aborted()) == told(done.aborts.lists.aborted())
    mine = [one for one in contexts if one.name in PACKED_CONTEXTS]
    checks = tuple(check for check in CHECKS if check.context in PACKED_CONTEXTS)
    again = verify(spark, mine, "records", done.read.kept, checks)
    wanted = done.verified.findings.filter(F.col("code").isin([check.code for check in checks]))
    assert told(wanted).total() > len(checks)
    assert told(again.findings) == told(wanted)


@pytest.mark.spark
def test_nothing_depends_on_splits_or_on_the_shortcut_over_regular_rows(
    spark: SparkSession, dump: Path, audited: AuditedCases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiny splits, and no shortcut over regular rows: the same tables.

    Both in one audit, for it takes a minute and more; a run with one tells which of them it was.
    """
    done = audited.done
    monkeypatch.setattr(jobs_main, "verify", partial(verify, keep_regular=True))
    again = audit_dump(spark, dump, split_bytes=TINY_SPLIT_BYTES)
    assert done.replayed.regular > HISTORIES * 10
    assert again.replayed.regular < done.replayed.regular / 2
    assert again.read.decoded.folded_rows < done.read.decoded.folded_rows / 2
    assert told(done.verified.findings.filter("topic like 'random%'")).total() > HISTORIES
    for name, rows in tables(done).items():
        assert told(tables(again)[name]) == told(rows), name
    again.release()


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
