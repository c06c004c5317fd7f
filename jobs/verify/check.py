"""What a check is: a rule over the rows of one context, its excuses, and its texts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from string import Formatter

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.verdict import Excuse

ERROR, WARNING, INFO = "error", "warning", "info"
# One cause is one transaction, in whatever partitions it shows.
ONE_TRANSACTION = ("producer_id", "producer_epoch")
# The end of the year 9999.
LAST_DATE_MS = 253_402_300_799_999


@dataclass(frozen=True)
class Proof:
    """A batch or entry that proves a finding; the names are columns of the context."""

    role: str
    file: str = "file"
    position: str = "byte_position"
    length: str = "byte_length"


@dataclass(frozen=True)
class Check:
    """One check.

    `fires` is the rule, `excuses` are tried in order, `expected` and `found` are short texts,
    `message` a few short sentences. All are functions, since columns need a running session.
    Offsets, producer, file and position of a finding are those of the context row, except those
    that `place` takes from other columns; `proofs` are its evidence. Findings with the same values
    in the columns of `cause` have one cause. `source` names the Kafka class or KIP the rule comes
    from.
    """

    code: str
    severity: str
    context: str
    source: str
    fires: Callable[[], Column]
    expected: Callable[[], Column]
    found: Callable[[], Column]
    message: Callable[[], Column]
    excuses: tuple[Excuse, ...] = ()
    proofs: tuple[Proof, ...] = (Proof("shows it"),)
    remedy: Callable[[], Column] | None = None
    needs_records: bool = False
    place: dict[str, str] = field(default_factory=dict)
    cause: tuple[str, ...] = ()


def text(template: str, **columns: Column | str) -> Column:
    """`template` with `{name}` replaced by columns; a null reads as "none".

    A name that is not given is the column of that name.
    """
    if not columns:
        return _text_of_columns(template)
    parts = [
        F.coalesce(_column(columns.get(name, name)).cast("string"), F.lit("none"))
        if name
        else F.lit(literal)
        for literal, name in _pieces(template)
    ]
    return F.concat(*parts)


def moment(timestamp: Column | str) -> Column:
    """A timestamp in ms as a text, with its date in UTC; null for a null.

    One that no calendar has, as damaged bytes may give, is told in ms alone.
    """
    ms = _column(timestamp).cast("long")
    dated = F.timestamp_millis(F.when(ms.between(0, LAST_DATE_MS), ms))
    date = F.concat(F.lit(" ("), F.date_format(dated, "yyyy-MM-dd HH:mm:ss"), F.lit(" UTC)"))
    return F.concat(ms.cast("string"), F.lit(" ms"), F.coalesce(date, F.lit("")))


def _column(given: Column | str) -> Column:
    return F.col(given) if isinstance(given, str) else given


def _pieces(template: str) -> Iterator[tuple[str, str]]:
    """(literal, "") and ("", name) in the order of the template."""
    for literal, name, _, _ in Formatter().parse(template):
        if literal:
            yield literal, ""
        if name:
            yield "", name


def _text_of_columns(template: str) -> Column:
    """One SQL expression instead of a call to the JVM for each piece: compiling gets cheaper."""
    parts = [
        f"coalesce(cast(`{name}` as string), 'none')" if name else _sql_literal(literal)
        for literal, name in _pieces(template)
    ]
    return F.expr(f"concat({', '.join(parts)})")


def _sql_literal(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
