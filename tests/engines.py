"""A rule of `udfs.rules` over the same random rows in both engines: arrays and Spark columns.

Columns know nulls, arrays do not. So the law is: where a column answers, it says what arrays say;
of a row without nulls it always answers; and a null makes it silent, or does not matter, in that
arrays say the same whatever number stands in its place. `absent` names the number that the fold
gives in place of a null of a column: with that the answers must be equal, nulls or not.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

ROWS = 3_000

# What each name may be: numbers or flags, None for a null.
Choices = Mapping[str, Sequence[Any]]
Rule = Callable[[Mapping[str, Any]], Any]


def _drawn(choices: Choices, rows: int) -> dict[str, list[Any]]:
    source = random.Random(len(choices))
    return {name: [source.choice(values) for _ in range(rows)] for name, values in choices.items()}


def _arrays(drawn: Mapping[str, list[Any]], choices: Choices, absent: Mapping[str, Any]) -> Any:
    source = random.Random(1)
    filled = {}
    for name, values in drawn.items():
        known = [value for value in choices[name] if value is not None]
        flags = isinstance(known[0], bool)
        whole = [
            absent.get(name, source.choice(known)) if value is None else value for value in values
        ]
        filled[name] = np.array(whole, dtype=np.bool_ if flags else np.int64)
    return filled


def _kind(values: Sequence[Any]) -> str:
    known = [value for value in values if value is not None]
    return "boolean" if isinstance(known[0], bool) else "bigint"


def check_in_both_engines(
    spark: SparkSession, rule: Rule, choices: Choices, absent: Mapping[str, Any] | None = None
) -> None:
    """Asks the rule, which takes values by name, of random rows of `choices` and compares."""
    absent = absent or {}
    drawn = _drawn(choices, ROWS)
    schema = ", ".join(f"{name} {_kind(values)}" for name, values in choices.items())
    rows = list(zip(*drawn.values(), strict=True))
    frame = spark.createDataFrame(rows, schema).coalesce(1)
    told = [row[0] for row in frame.select(rule({name: F.col(name) for name in choices})).collect()]
    answers = np.asarray(rule(_arrays(drawn, choices, absent))).tolist()
    assert len(told) == len(answers) == ROWS
    assert len(set(answers)) > 1, "rows that all say the same try nothing"
    for row, by_column, by_array in zip(rows, told, answers, strict=True):
        unknown = any(
            value is None and name not in absent for name, value in zip(choices, row, strict=True)
        )
        assert by_column == by_array or (unknown and by_column is None), (
            dict(zip(choices, row, strict=True)),
            by_column,
            by_array,
        )
