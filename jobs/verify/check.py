"""What a check is: a rule over the rows of one context, its excuses, and how it is told."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.verdict import Excuse

ERROR, WARNING, INFO = "error", "warning", "info"


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
    `message` one sentence. All are functions, since columns need a running session. Offsets,
    producer, file and position of a finding are those of the context row; `proofs` are what
    else shows it. `source` names the Kafka class or KIP the rule comes from.
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


def text(template: str, **columns: Column | str) -> Column:
    """`template` with `{name}` replaced by columns; a null reads as "none".

    A name that is not given is the column of that name.
    """
    parts: list[Column] = []
    rest = template
    while "{" in rest:
        literal, _, rest = rest.partition("{")
        name, _, rest = rest.partition("}")
        value = columns.get(name, name)
        column = F.col(value) if isinstance(value, str) else value
        if literal:
            parts.append(F.lit(literal))
        parts.append(F.coalesce(column.cast("string"), F.lit("none")))
    if rest:
        parts.append(F.lit(rest))
    return F.concat(*parts)
