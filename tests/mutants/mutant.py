"""What an operator tells of the fault that it made, and the table of all operators."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from laws.dump_files import TopicPartition

from mutants.scene import Scene

VIOLATION, SUSPECT, INFO = "violation", "suspect", "info"


@dataclass
class Mutant:
    """One fault: what may name it, where, and whether the bytes prove it.

    `span`: offsets that a finding in the first place must touch, unless it names one of `pids` or
    `ids`; None: any. `wide`: everything in `places` may suffer, whoever wrote it. `sole`: bytes are
    lost and none is wrong, so every violation but those of `codes` is a false one. `told`: the
    weakest verdict that names it; `info`: an observation is all that there is. `why`: of one that
    is not decidable. `source`: the dump of real brokers that it is of. `owned_by`: a moment (ms)
    that every coordinator's log in the audit must have passed, those of other histories, too: any
    of them may name the owner of a producer; -1: of no concern.
    """

    codes: frozenset[str]
    places: tuple[TopicPartition, ...]
    span: tuple[int, int] | None = None
    pids: frozenset[int] = frozenset()
    ids: frozenset[str] = frozenset()
    told: str = VIOLATION
    wide: bool = False
    sole: bool = False
    brokers: frozenset[int] = frozenset()
    why: str = ""
    operator: str = ""
    index: int = -1
    source: str = ""
    owned_by: int = -1
    found: list[dict[str, object]] = field(default_factory=list)

    @property
    def decidable(self) -> bool:
        return not self.why


Operator = Callable[[Scene], Mutant | None]
OPERATORS: dict[str, Operator] = {}


def operator(made: Operator) -> Operator:
    """Enters an operator into the table; None where a history has no place for it."""
    OPERATORS[made.__name__] = made
    return made


def codes(words: str) -> frozenset[str]:
    return frozenset(words.split())


def pids(*some: int) -> frozenset[int]:
    return frozenset(one for one in some if one >= 0)


def places(
    first: TopicPartition, others: Iterable[TopicPartition] = ()
) -> tuple[TopicPartition, ...]:
    """The place of the fault, then those in which the same transaction may show it."""
    return tuple(dict.fromkeys([first, *others]))
