"""The shared three-valued verdict: a rule fires, and the first excuse that holds decides.

A verdict is `violation` if no legal explanation remains, `suspect` if a legal but unlikely one
cannot be excluded, `inconclusive` if the dump cannot decide. A complete explanation leaves no
finding at all.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.verdicts import INCONCLUSIVE, SUSPECT, VIOLATION

EXPLAINED = "explained"

# Stable names of reasons.
NO_INITIAL_STATE = "no_initial_state"
CLEANED_RANGE = "cleaned_range"
UNSTABLE_TAIL = "unstable_tail"
STATE_MAY_HAVE_EXPIRED = "state_may_have_expired"
TXNLOG_NOT_DUMPED = "txnlog_not_dumped"
TXNLOG_COMPACTED = "txnlog_compacted"
DUMP_BEFORE_EVENT = "dump_before_event"
CONFIG_UNKNOWN = "config_unknown"
TWO_PHASE_COMMIT = "two_phase_commit"
# A text of kafka-dump-log lacks the deciding field.
TEXT_DUMP_LACKS_FIELD = "text_dump_lacks_field"
ADMIN_ABORT_POSSIBLE = "admin_abort_possible"
# An operator aborted the transaction in one partition; the coordinator does not know of it.
OPERATOR_ABORT = "operator_abort"
# Another finding reports it.
OTHER_OUTCOME = "other_outcome"
# The topic may have been taken over from another cluster, whose coordinators decided it.
ANOTHER_CLUSTER = "another_cluster"
# Another replica in the dump has it, after the end of this copy.
REPLICA_LAGS = "replica_lags"
# Bytes or offsets are missing between the two records compared; that is a separate finding.
MISSING_RANGE = "missing_range"
# Healthy brokers and clients do this too: an observation only.
ALSO_LEGAL = "also_legal"
# A transaction without data in this partition may lie between (transaction.version 0 and 1).
EMPTY_TRANSACTION_POSSIBLE = "empty_transaction_possible"
# Older or newer brokers and clients are known to do this.
VERSION_DEPENDENT = "version_dependent"
# An append that failed late left a record that never took effect.
APPEND_REPEATED = "append_repeated"
# The clocks of two brokers differ, or a clock was set back.
CLOCK_SKEW = "clock_skew"
# The coordinator may have been stopped.
COORDINATOR_STOPPED = "coordinator_stopped"
# The application may have rewound its input on purpose.
REWIND_POSSIBLE = "rewind_possible"
# An application may commit what it likes.
ANY_OFFSET = "any_offset"
# The topic was deleted and created again, and a folder of the old one remains.
TOPIC_RECREATED = "topic_recreated"
# Of a segment only the log was copied, without its indexes.
SIDE_FILES_NOT_DUMPED = "side_files_not_dumped"
# The dump has partitions of several clusters, which all allocate producer ids from 0.
SEVERAL_CLUSTERS = "several_clusters"

# What each reason means; of those that only explain, and leave no finding, none is here.
MEANINGS = {
    NO_INITIAL_STATE: "the log begins too late: the state before its first batch is unknown",
    CLEANED_RANGE: "the cleaner has passed there, or may have, and removes such records",
    UNSTABLE_TAIL: "at or above the high watermark: it may still be truncated",
    STATE_MAY_HAVE_EXPIRED: "the broker may have forgotten the producer",
    TXNLOG_NOT_DUMPED: "the coordinator's log that decides it is not in the dump",
    TXNLOG_COMPACTED: "deciding records of the coordinator's log may have been compacted away",
    DUMP_BEFORE_EVENT: "the copy that lacks it may be older than the event",
    CONFIG_UNKNOWN: "it depends on a setting of the broker or topic that the dump does not show",
    TWO_PHASE_COMMIT: "a prepared transaction of two-phase commit, which never times out",
    TEXT_DUMP_LACKS_FIELD: "the text of kafka-dump-log lacks the deciding field",
    ADMIN_ABORT_POSSIBLE: "an operator may have aborted the transaction in this partition",
    MISSING_RANGE: "what it misses may be in offsets or files that are missing or damaged",
    ALSO_LEGAL: "healthy brokers and clients do this too: an observation only",
    EMPTY_TRANSACTION_POSSIBLE: "a transaction without data in this partition may lie between",
    VERSION_DEPENDENT: "certain releases of brokers or clients are known to do this",
    APPEND_REPEATED: "an append that failed late may have left a record that never took effect",
    CLOCK_SKEW: "clocks of two brokers may differ, or a clock may have been set back",
    COORDINATOR_STOPPED: "the coordinator may have been stopped",
    REWIND_POSSIBLE: "the application may have rewound its input on purpose",
    ANY_OFFSET: "an application may commit any offset",
    TOPIC_RECREATED: "the topic was, or may have been, deleted and created again",
    SIDE_FILES_NOT_DUMPED: "a file next to the log that decides it was not copied",
    SEVERAL_CLUSTERS: "the dump has log directories of several clusters",
}

# What to audit first where a finding is inconclusive for one of these reasons.
DECIDED_BY = {
    DUMP_BEFORE_EVENT: "a later copy",
    UNSTABLE_TAIL: "a later copy",
    TXNLOG_NOT_DUMPED: "a dump with more of __transaction_state",
    SIDE_FILES_NOT_DUMPED: "a dump with the files next to the log",
}


@dataclass(frozen=True)
class Excuse:
    """Why a rule that fired is no violation: `when` it holds, `verdict` and `reason` then.

    `when` is called when the checks are compiled, since columns need a running session.
    """

    reason: str
    verdict: str
    when: Callable[[], Column]


def inconclusive(reason: str, when: Callable[[], Column]) -> Excuse:
    """The dump cannot decide."""
    return Excuse(reason, INCONCLUSIVE, when)


def suspect(reason: str, when: Callable[[], Column] = lambda: F.lit(True)) -> Excuse:
    """A legal explanation cannot be excluded."""
    return Excuse(reason, SUSPECT, when)


def explained(reason: str, when: Callable[[], Column]) -> Excuse:
    """Nothing is wrong, or another finding already reports it."""
    return Excuse(reason, EXPLAINED, when)


def over_clusters(findings: DataFrame) -> DataFrame:
    """Findings that compare partitions of several clusters: nothing is proven."""
    undecided = F.col("verdict") == INCONCLUSIVE
    return findings.withColumns(
        {
            "verdict": F.lit(INCONCLUSIVE),
            "reason": F.when(undecided, F.col("reason")).otherwise(F.lit(SEVERAL_CLUSTERS)),
        }
    )


def judge(excuses: tuple[Excuse, ...]) -> tuple[Column, Column]:
    """(verdict, reason) of a rule that fired; both follow the first excuse that holds."""
    verdict, reason = F.lit(VIOLATION), F.lit(None).cast("string")
    for excuse in reversed(excuses):
        # An excuse that is null does not hold: `when` takes the other branch.
        holds = excuse.when()
        verdict = F.when(holds, F.lit(excuse.verdict)).otherwise(verdict)
        reason = F.when(holds, F.lit(excuse.reason)).otherwise(reason)
    return verdict, reason
