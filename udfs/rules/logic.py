"""The words of a rule that NumPy arrays and Spark columns spell differently.

Comparison, arithmetic, `&`, `|` and `~` need none. A column may hold nulls, an array none: give
absent values of an array as a number and a mask.
"""

from collections.abc import Collection
from typing import Any, TypeVar

import numpy as np

# A NumPy array or scalar, or a Spark column.
Values = Any
V = TypeVar("V")


def _is_column(values: Values) -> bool:
    return hasattr(values, "isNotNull")


def is_in(values: Values, wanted: Collection[Any]) -> Values:
    """Whether each value is one of `wanted`; null for a null."""
    if _is_column(values):
        return values.isin(*wanted)
    return np.isin(values, list(wanted))


def surely(condition: V) -> V:
    """The condition, where it is known; false where it is null."""
    values: Values = condition
    if not _is_column(values):
        return condition
    # Once only: a condition may be long, and its twin would be compiled and evaluated, too.
    known: V = values.eqNullSafe(True)
    return known


def as_number(condition: Values) -> Values:
    """1 where the condition holds, else 0; null for a null."""
    if _is_column(condition):
        return condition.cast("int")
    return np.asarray(condition).astype(np.int64)


def chosen(condition: Values, one: Values, other: Values) -> Values:
    """Of two whole numbers the first where the condition holds; null where anything is null."""
    if not _is_column(condition):
        return np.where(condition, one, other)
    # Without Spark's functions: of the two terms one is 0.
    return as_number(condition) * one + as_number(~condition) * other


def clipped(values: Values, lowest: int, highest: int) -> Values:
    """Each whole number, or the bound that it lies beyond; null for a null."""
    if not _is_column(values):
        return np.clip(values, lowest, highest)
    above, below = values > highest, values < lowest
    inside = ~above & ~below
    # Without Spark's functions: of three terms two are 0.
    return inside.cast("long") * values + above.cast("long") * highest + below.cast("long") * lowest
