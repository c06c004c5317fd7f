"""Between which moments a decision was made and carried out, whatever clocks were set back.

The rules are those of `udfs.rules.clock`.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.model.set_back_clocks import came_twice, covers_once, earliest, latest
from udfs.rules import attribution
from udfs.rules.clock import covers, keeps_order
from udfs.rules.logic import surely


def keeps_its_order(one: Column, tolerance: Column) -> Column:
    """`keeps_order` of one of the set_backs of a row."""
    kept: Column = surely(keeps_order(one["by_ms"], tolerance, F.col("alone_in_cluster")))
    return kept


def kept_apart(tolerance: Column) -> Column:
    """The set_backs of a row that keep the order of what lies outside of them."""
    return F.filter("set_backs", lambda one: keeps_its_order(one, tolerance))


def misleading(tolerance: Column) -> Column:
    """The other set_backs of a row."""
    return F.filter("set_backs", lambda one: ~keeps_its_order(one, tolerance))


def outer_moments(prepared: Column, completed: Column) -> tuple[Column, Column]:
    """The lower and the higher of both records' moments, ms; the higher is null for no Complete."""
    complete = completed.isNotNull()
    lower = F.when(complete, F.least(prepared, completed)).otherwise(prepared)
    return lower, F.when(complete, F.greatest(prepared, completed))


def sure_moments(
    prepared: Column, completed: Column, tolerance: Column, kept: Column | str
) -> tuple[Column, Column]:
    """The earliest moment at which a decision may have been made, the latest of its completion, ms.

    `kept`: set-backs that keep the order. A clock that was set back between its two records was
    at moments beyond both for a while, which nothing but the tolerance bounds.
    """
    went_on = F.coalesce(attribution.clock_went_on(prepared, completed), F.lit(True))
    beyond = F.when(went_on, F.lit(0)).otherwise(tolerance)
    lower, higher = outer_moments(prepared, completed)
    return earliest(lower - beyond, tolerance, kept), latest(higher + beyond, tolerance, kept)


def covers_completion(up_to_ms: Column, tolerance: Column) -> Column:
    """`covers` of the Complete record of a row, though a clock came to its moment twice.

    Then what is complete up to a moment behind all of that time holds it, where clocks of several
    brokers agree within the tolerance. One clock may be set back by any time, which its samples
    tell only in part.
    """
    prepared, completed = F.col("completed_prepare"), F.col("complete_timestamp")
    moments = sure_moments(prepared, completed, tolerance, kept_apart(tolerance))
    behind_all = (
        ~F.col("alone_in_cluster")
        & covers(up_to_ms, moments[1], tolerance)
        & ~came_twice(completed, tolerance, misleading(tolerance))
    )
    known: Column = surely(covers_once(up_to_ms, completed, tolerance)) | surely(behind_all)
    return known
