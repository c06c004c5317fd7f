"""One suite over one small frame: the only module that imports Great Expectations.

Nothing is kept: the context is ephemeral, no file is written and no address is asked.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import great_expectations
import pandas as pd
from great_expectations.data_context.data_context.context_factory import project_manager
from great_expectations.data_context.types.base import (
    DataContextConfig,
    InMemoryStoreBackendDefaults,
    ProgressBarsConfig,
)
from great_expectations.exceptions import DataContextRequiredError
from great_expectations.expectations import registry
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

from jobs.model.expectation_results import FAILED, MET, NOT_EVALUATED, Result
from jobs.policy.suites import Suite, unknown
from jobs.policy.wording import (
    arguments,
    clipped,
    error_text,
    example,
    message,
    observed_value,
    sentence,
)

EXAMPLES = 5
SEVERITIES = {"critical": "error", "warning": "warning", "info": "info"}
# These ask whether a column is there; any other on an unknown column cannot be evaluated.
ABOUT_COLUMNS = ("expect_column_to_exist",)
COLUMN_ARGUMENTS = ("column", "column_A", "column_B")


def evaluate(suite: Suite, rows: pd.DataFrame, key: list[str]) -> list[Result]:
    """One result an expectation, in the order of the file.

    `key`: the columns that name a row; the rows must be in a stable order, for the examples.
    """
    with _context() as context:
        asset = context.data_sources.add_pandas("eosaudit").add_dataframe_asset(suite.subject)
        definition = asset.add_batch_definition_whole_dataframe("all rows")
        batch = definition.get_batch({"dataframe": rows})
        return [
            _result(suite, number, configuration, batch, rows, key)
            for number, configuration in enumerate(suite.expectations, 1)
        ]


def not_evaluated(suite: Suite, reason: str) -> list[Result]:
    """One result an expectation of a suite whose rows could not be read."""
    return [
        _unevaluated(suite, number, configuration, reason)
        for number, configuration in enumerate(suite.expectations, 1)
    ]


@contextmanager
def _context() -> Iterator[Any]:
    """An ephemeral context; the one that was current in this process is so again afterwards."""
    try:
        before = project_manager.get_current_project()
    except DataContextRequiredError:
        before = None
    config = DataContextConfig(
        # Its usual defaults make a folder for pages that nobody asked for.
        store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
        analytics_enabled=False,
        progress_bars=ProgressBarsConfig(globally=False),
    )
    try:
        yield great_expectations.get_context(mode="ephemeral", project_config=config)
    finally:
        project_manager.set_project(before)


def _result(
    suite: Suite,
    number: int,
    configuration: Mapping[str, Any],
    batch: Any,
    rows: pd.DataFrame,
    key: list[str],
) -> Result:
    try:
        expectation = _built(configuration, tuple(rows.columns))
        # Each alone: what one raises must not be held against the others.
        answer = batch.validate(expectation, result_format=_result_format(key)).to_json_dict()
        if error := _raised(answer["exception_info"]):
            named = f"{error.rstrip('.')} (columns: {', '.join(rows.columns)})"
            return _unevaluated(suite, number, configuration, named)
    except Exception as error:
        return _unevaluated(suite, number, configuration, error_text(error))
    found = answer["result"]
    examples = [example(row) for row in found.get("partial_unexpected_index_list") or []]
    observed = observed_value(found)
    return Result(
        **_identity(suite, number, configuration),
        status=MET if answer["success"] else FAILED,
        rows_examined=found.get("element_count"),
        rows_failed=found.get("unexpected_count"),
        observed=observed,
        examples=examples,
        message=message(answer["success"], configuration, found, observed, examples),
    )


def _built(configuration: Mapping[str, Any], columns: tuple[str, ...]) -> Any:
    """The expectation. Raises ValueError for an unknown one, or one on an unknown column."""
    kind, given = configuration["type"], dict(configuration.get("kwargs", {}))
    known = tuple(registry.list_registered_expectation_implementations())
    if kind not in known:
        raise ValueError(unknown("expectation", kind, known))
    if kind not in ABOUT_COLUMNS:
        for name in (given[a] for a in COLUMN_ARGUMENTS if a in given):
            if name not in columns:
                raise ValueError(unknown("column", str(name), columns))
    severity = configuration.get("severity", "critical")
    if severity not in SEVERITIES:
        raise ValueError(unknown("severity", str(severity), tuple(SEVERITIES)))
    return ExpectationConfiguration(type=kind, kwargs=given, severity=severity).to_domain_obj()


def _result_format(key: list[str]) -> dict[str, Any]:
    return {
        "result_format": "SUMMARY",
        "partial_unexpected_count": EXAMPLES,
        "unexpected_index_column_names": key,
    }


def _raised(exception_info: Mapping[str, Any]) -> str | None:
    """What an expectation raised, in a line; Great Expectations reports it alone or by metric."""
    infos = [exception_info, *(v for v in exception_info.values() if isinstance(v, Mapping))]
    for info in infos:
        if info.get("raised_exception"):
            return clipped(str(info.get("exception_message")))
    return None


def _unevaluated(
    suite: Suite, number: int, configuration: Mapping[str, Any], reason: str
) -> Result:
    place = f"{suite.name}.json, expectation {number} ({configuration['type']})"
    return Result(
        **_identity(suite, number, configuration),
        status=NOT_EVALUATED,
        rows_examined=None,
        rows_failed=None,
        observed=None,
        examples=[],
        message=sentence(f"{place}: {reason.removeprefix('Error: ')}"),
    )


def _identity(suite: Suite, number: int, configuration: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "suite": suite.name,
        "number": number,
        "subject": suite.subject,
        "expectation": configuration["type"],
        "arguments": arguments(configuration),
        "severity": SEVERITIES.get(str(configuration.get("severity", "critical")), "error"),
    }
