"""What became of a mutant: named at its place, weaker than owed, or not; who else was accused."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from laws.run import Finding

from mutants.mutant import INFO, SUSPECT, VIOLATION, Mutant

STRONGEST_FIRST = NAMED, WEAKER, ELSEWHERE, UNNAMED = "named", "weaker", "elsewhere", "unnamed"
RANK = {INFO: 0, SUSPECT: 1, VIOLATION: 2}
# What a log says besides, if it is its last batches that are lost.
ENDS_EARLIER = frozenset({"hw_beyond_log_end"})


def strength(one: Finding) -> int:
    """An observation, a doubt, a proof."""
    if one["severity"] == "info":
        return RANK[INFO]
    return RANK[VIOLATION if one["verdict"] == "violation" else SUSPECT]


def touches(one: Finding, mutant: Mutant) -> bool:
    """Whether a finding is at the offsets of a fault, or names its producer or id."""
    if one["producer_id"] in mutant.pids or one["transactional_id"] in mutant.ids:
        return True
    if mutant.span is None:
        return True
    first, last = one["offset_first"], one["offset_last"]
    if first is None:
        return False
    return bool(first <= mutant.span[1] and (first if last is None else last) >= mutant.span[0])


def is_at(one: Finding, mutant: Mutant) -> bool:
    """Whether a finding lies where the fault is: its partition, or one of its transaction."""
    place = one["topic"], one["partition"]
    if one["topic"] is None:
        return one["broker"] in mutant.brokers
    if place == mutant.places[0]:
        return touches(one, mutant)
    mine = one["producer_id"] in mutant.pids or one["transactional_id"] in mutant.ids
    return place in mutant.places and mine


def verdict(mutant: Mutant, found: Iterable[Finding]) -> str:
    """What became of a mutant."""
    right = [one for one in found if one["code"] in mutant.codes]
    here = [one for one in right if is_at(one, mutant)]
    if any(strength(one) >= RANK[mutant.told] for one in here):
        return NAMED
    if here:
        return WEAKER
    return ELSEWHERE if right else UNNAMED


def bystanders(mutant: Mutant, found: Iterable[Finding]) -> list[Finding]:
    """Violations where the mutant touched nothing, or of what it did not do."""
    return [one for one in found if one["verdict"] == "violation" and not _touched(one, mutant)]


def _touched(one: Finding, mutant: Mutant) -> bool:
    if mutant.sole and one["code"] not in mutant.codes | ENDS_EARLIER:
        return False
    if one["topic"] is None:
        return one["broker"] in mutant.brokers
    if one["producer_id"] in mutant.pids or one["transactional_id"] in mutant.ids:
        return True
    place = one["topic"], one["partition"]
    if mutant.wide and place in mutant.places:
        return True
    return place == mutant.places[0] and touches(one, mutant)


@dataclass
class Tally:
    """What became of the mutants of one operator."""

    decidable: Counter[str] = field(default_factory=Counter)
    open_: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    accused: int = 0
    why: str = ""


@dataclass
class Result:
    """All mutants so far, by operator; kills by check."""

    tallies: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    survivors: list[str] = field(default_factory=list)
    accused: list[str] = field(default_factory=list)

    def take(self, source: str, mutant: Mutant, found: Sequence[Finding]) -> None:
        """Counts one mutant; `source` tells how to make it again."""
        tally = self.tallies[mutant.operator]
        became = verdict(mutant, found)
        (tally.decidable if mutant.decidable else tally.open_)[became] += 1
        tally.why = tally.why or mutant.why
        for code in {one["code"] for one in found if is_at(one, mutant)} & mutant.codes:
            tally.codes[code] += 1
        told = f"{source} {mutant.operator} at {mutant.places[0]} {mutant.span}"
        if mutant.decidable and became != NAMED:
            others = sorted({f"{one['verdict']} {one['code']} ({one['reason']})" for one in found})
            self.survivors.append(f"{became}: {told}: {', '.join(others)}")
        for one in bystanders(mutant, found):
            tally.accused += 1
            place = f"{one['topic']}-{one['partition']} at {one['offset_first']}"
            self.accused.append(f"{told}: {one['code']} {place}: {one['message']}")

    @property
    def share(self) -> float:
        """Of the decidable, how many were named right at the right place."""
        totals = sum((one.decidable for one in self.tallies.values()), Counter[str]())
        return totals[NAMED] / max(totals.total(), 1)

    @property
    def number(self) -> int:
        return sum(one.decidable.total() + one.open_.total() for one in self.tallies.values())


def by_operator(result: Result) -> str:
    """The table by operator."""
    rows = [
        "| operator | decidable | named | weaker | elsewhere | not | undecidable | named |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, one in sorted(result.tallies.items()):
        counts = [one.decidable[key] for key in (NAMED, WEAKER, ELSEWHERE, UNNAMED)]
        cells = [one.decidable.total(), *counts, one.open_.total(), one.open_[NAMED]]
        rows.append(f"| `{name}` | " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(rows)


def totals(result: Result) -> str:
    """The table of all operators together."""
    decidable = sum((one.decidable for one in result.tallies.values()), Counter[str]())
    rows = [f"| decidable, {name} | {decidable[name]} |" for name in STRONGEST_FIRST]
    open_ = sum(one.open_.total() for one in result.tallies.values())
    rows += [f"| not decidable | {open_} |", f"| bystanders accused | {len(result.accused)} |"]
    return "\n".join(["| | mutants |", "|---|---|", *rows])


def by_check(result: Result, codes: Sequence[str]) -> str:
    """How many mutants each check named; then the checks without any."""
    kills: Counter[str] = Counter()
    for one in result.tallies.values():
        kills += one.codes
    rows = ["| check | mutants |", "|---|---|"]
    rows += [f"| `{code}` | {kills[code]} |" for code in codes if kills[code]]
    never = ", ".join(f"`{code}`" for code in codes if not kills[code])
    return "\n".join(rows) + f"\n\nwithout a mutant: {never or 'none'}"
