"""Every signature against its cases: logs of its cause, and of what only looks like it.

All cases lie in one dump, which is audited once; each is assigned by itself. What a case cannot
have stays with plain values, in `test_signatures.TWINS`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import audit_dump
from incident_cases import Assignable, IncidentCase, cases_of_signature, difference
from log_builder import DumpWriter
from pyspark.sql import SparkSession

from jobs.incidents.catalogue import ORDER

FOLDER = Path(__file__).parent / "cases"
CASES = {name: cases_of_signature(FOLDER / f"{name}.yaml") for name in ORDER}
ALL = [case for cases in CASES.values() for case in cases]


@pytest.fixture(scope="module")
def assignable(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Assignable]:
    folder = tmp_path_factory.mktemp("incident-cases")
    DumpWriter(folder).write([case.log for case in ALL])
    done = audit_dump(spark, folder)
    yield Assignable.of(done)
    done.release()


@pytest.mark.spark
@pytest.mark.parametrize("case", ALL, ids=[case.log.name for case in ALL])
def test_the_incidents_of_a_case_are_exactly_those_it_names(
    case: IncidentCase, assignable: Assignable
) -> None:
    assert difference(case, assignable) == ""


@pytest.mark.spark
def test_all_at_once_are_explained_as_each_alone(assignable: Assignable) -> None:
    alone = {
        row["finding"]: row["kind"]
        for case in ALL
        for row in assignable.assigned(assignable.of_case(case.log))
    }
    together = assignable.assigned(set(alone))
    assert {row["finding"]: row["kind"] for row in together} == alone


def test_every_file_is_that_of_a_signature() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.yaml" for name in ORDER}


@pytest.mark.parametrize("name", ORDER)
def test_a_signature_has_a_case_that_fires_and_a_twin_that_is_healthy_or_another(
    name: str,
) -> None:
    cases = CASES[name]
    assert [case for case in cases if case.kinds == {name}], "no case is its alone"
    twins = [case for case in cases if name not in case.kinds]
    assert [case for case in twins if not case.kinds], "no healthy log looks like it"
    assert [case for case in twins if case.kinds], "no log of another cause looks like it"


@pytest.mark.parametrize("case", ALL, ids=[case.log.name for case in ALL])
def test_a_twin_says_whose_it_is(case: IncidentCase) -> None:
    """`twin, …` is healthy, `twin of OTHER, …` belongs to that one, all else to the file's."""
    first = case.log.given["name"].partition(",")[0]
    if not first.startswith("twin"):
        assert case.log.code in case.kinds
    elif first == "twin":
        assert not case.kinds
    else:
        other = first.removeprefix("twin of ")
        assert other in case.kinds
        assert other != case.log.code
