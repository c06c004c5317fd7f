"""An incident as verdict.json and the summary on the terminal tell it."""

from dataclasses import dataclass, field
from typing import Any

from schemas.topics import OFFSETS_TOPIC

MOST_TOPICS = 5
BLOCKED, UNREADABLE = "records_blocked", "records_unreadable"
# What readers get, or do not get, against a decision.
AGAINST_DECISION = ("aborted_records_visible", "committed_records_invisible")
# Kind of a consequence -> words after its number; the unit is records, or offsets where blocked.
CONSEQUENCES = {
    "records_lost": "records of committed transactions are lost",
    "plain_records_lost": "records that were written outside of transactions are lost",
    "replicated_records_lost": "replicated records are in no replica",
    "aborted_records_visible": "aborted records are delivered to read_committed consumers",
    "committed_records_invisible": "committed records are not delivered",
    BLOCKED: "offsets wait behind the last stable offset",
    "records_stored_twice": "records are stored twice",
    UNREADABLE: "damaged offsets stop consumers of the copy that has them",
    "offsets_went_back": "offset commits went back, or have another outcome than their output",
}
# Kind of the ranges that applications derived of affected ones: groups may read these, too.
DERIVED = "derived_records"
READ_BY_GROUPS = CONSEQUENCES | {DERIVED: "records that were derived of affected ones"}


@dataclass(frozen=True)
class Effect:
    """Consequences of one kind, summed. `number`: None where the dump does not show how many.

    `partitions`: topic partitions; `transactions`: None where it is not about transactions.
    """

    kind: str
    partitions: int
    number: int | None
    transactions: int | None
    since_ms: int | None

    @property
    def sentence(self) -> str:
        """The consequence in words."""
        what = CONSEQUENCES[self.kind]
        where = f"in {self.partitions:,} partition{'' if self.partitions == 1 else 's'}"
        if self.number is not None:
            return f"{self.number:,} {what}, {where}"
        if self.transactions is not None:
            number = f"{self.transactions:,} transactions; not all of their records can be counted"
            return f"{what} ({number}), {where}"
        return f"{what}, {where}"


INDEX_CONTRADICTS = (
    "read_committed consumers get another outcome than the markers of the log have; either the "
    "index or a marker is wrong"
)
# Where the decisions of the coordinator tell that the markers are right.
INDEX_CAUSES = (
    "the index of a broker tells those who read from it so, against the markers and their decisions"
)
NOT_DUMPED = f"{OFFSETS_TOPIC} is not in the dump"
COMMITS_GONE = (
    f"{OFFSETS_TOPIC} was cleaned, begins late or cannot be read in places, so commits may be gone"
)
# Beside what the markers of a changed_marker would do to readers.
INDEX_DECIDES = (
    "as long as a broker has the index that it wrote with the marker, read_committed consumers get "
    "the decided outcome of that transaction from it"
)
OFFSETS_BY_MARKERS = (
    f"a group coordinator that loads {OFFSETS_TOPIC} goes by the markers, whatever an index says"
)


@dataclass(frozen=True)
class IncidentLine:
    """An incident in short; `groups`: names of groups that read or stand in affected ranges.

    `group_count`: how many groups there are; `committing`, `committing_count`: the same of groups
    whose own commits of offsets are affected; `first_step`: what to do first; `groups_known`: all
    committed offsets of the dump are decoded; `groups_unknown`: why not. `new`: the audit before
    this one had none of its violations; None where there was none before. `suspect_topics`,
    `clean_topics`: topics downstream with and without records derived of affected ones; not
    `followed`: nobody looked for them. `untraced`: why, None for too many applications; and why
    nobody looked for commits in affected ranges of `__consumer_offsets`. `commits_gone`: earlier
    commits of applications may be gone, so that there may be more; `unknown_topics`: downstream,
    and nothing tells whether they have such records. `index_contradicts`: a `.txnindex` tells
    consumers another outcome than the markers of the log. `topics`: those of its findings.
    """

    incident: int
    kind: str
    grade: str
    title: str
    findings: int
    violations: int
    effects: tuple[Effect, ...] = field(default=())
    groups: tuple[str, ...] = field(default=())
    group_count: int = 0
    first_step: str | None = None
    groups_known: bool = True
    new: bool | None = None
    followed: bool = True
    suspect_topics: tuple[str, ...] = field(default=())
    clean_topics: tuple[str, ...] = field(default=())
    committing: tuple[str, ...] = field(default=())
    committing_count: int = 0
    index_contradicts: bool = False
    topics: tuple[str, ...] = field(default=())
    groups_unknown: str | None = None
    untraced: str | None = None
    commits_gone: bool = False
    unknown_topics: tuple[str, ...] = field(default=())

    @property
    def consequence(self) -> str:
        """All consequences in one sentence, with the topics."""
        told = [effect.sentence for effect in self.effects]
        if told and len(self.topics) == 1:
            told[-1] += f" ({self.topics[0]})"
        elif told and self.topics:
            # Not each consequence shows in all of them.
            told.append(f"its findings are in {_some(self.topics)}")
        if self.index_contradicts:
            told.append(self._of_index)
        return "; ".join(told) or "no record is known to be wrong for a consumer"

    @property
    def _of_index(self) -> str:
        """What it means that an index contradicts a marker."""
        if self.kind == "changed_marker":
            told = [INDEX_DECIDES] if set(self.topics) - {OFFSETS_TOPIC} else []
            told += [OFFSETS_BY_MARKERS] if OFFSETS_TOPIC in self.topics else []
            return "; ".join(told) or INDEX_DECIDES
        counted = any(effect.kind in AGAINST_DECISION for effect in self.effects)
        return INDEX_CAUSES if counted else INDEX_CONTRADICTS

    @property
    def who(self) -> str:
        """Which groups are affected, in one sentence."""
        told = []
        if self.group_count:
            told.append(f"{_groups(self.groups, self.group_count)} read affected ranges")
        if self.committing_count:
            named = _groups(self.committing, self.committing_count)
            told.append(f"offset commits of {named} are affected themselves")
        if not self.groups_known:
            others = "other groups" if told else "the affected groups"
            told.append(f"{others} are unknown: {self.groups_unknown or NOT_DUMPED}")
        elif self.untraced and OFFSETS_TOPIC in self.topics:
            told.append(f"groups whose own commits are affected are unknown: {self.untraced}")
        if not told and any(effect.kind == BLOCKED for effect in self.effects):
            # One that waits has committed the very offset that it waits for, or an earlier one.
            return (
                "no group of the dump has read what is wrong in front of the last stable offset; "
                "the table affected_group has those that wait, and those that have read behind it "
                "(read_uncommitted)"
            )
        if not told and any(effect.kind == UNREADABLE for effect in self.effects):
            return "the table affected_group has the groups that stand in front of what is damaged"
        return "; ".join(told) or (
            "no group of the dump has a committed offset in or after an affected range"
        )

    @property
    def derived(self) -> str | None:
        """What applications computed from affected records, in one sentence; None for nothing."""
        if not self.followed:
            why = self.untraced or "there are too many applications"
            return f"output computed from them was not traced: {why}"
        parts = []
        if self.suspect_topics:
            parts.append(f"suspect output: {_some(self.suspect_topics)}")
        if self.clean_topics:
            parts.append(f"unaffected topics downstream: {_some(self.clean_topics)}")
        if self.commits_gone:
            there = f" in {_some(self.unknown_topics)}" if self.unknown_topics else ""
            parts.append(f"other output computed from them{there} is unknown: {COMMITS_GONE}")
        return "; ".join(parts) or None

    @classmethod
    def of(cls, stored: dict[str, Any]) -> "IncidentLine":
        """From `dataclasses.asdict`, also through JSON."""
        effects = tuple(Effect(**effect) for effect in stored["effects"])
        names = (
            "groups",
            "suspect_topics",
            "clean_topics",
            "unknown_topics",
            "committing",
            "topics",
        )
        lists = {name: tuple(stored.get(name, ())) for name in names}
        return cls(**stored | lists | {"effects": effects})


def _groups(names: tuple[str, ...], number: int) -> str:
    more = number - len(names)
    rest = f" and {more:,} more" if more > 0 else ""
    return f"group{'' if number == 1 else 's'} {', '.join(names)}{rest}"


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - MOST_TOPICS
    return ", ".join(names[:MOST_TOPICS]) + (f" and {more:,} more" if more > 0 else "")
