"""The shared three-valued verdict: a rule fires, and the first excuse that holds decides.

A verdict is `violation` where no legal explanation remains, `suspect` where a legal but unlikely
one cannot be excluded, `inconclusive` where the dump cannot decide. An explanation that fully
accounts for what was seen leaves no finding at all.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

VIOLATION, SUSPECT, INCONCLUSIVE = "violation", "suspect", "inconclusive"
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
# A text of kafka-dump-log does not tell what decides it.
TEXT_DUMP_LACKS_FIELD = "text_dump_lacks_field"
ADMIN_ABORT_POSSIBLE = "admin_abort_possible"
# An operator ended the transaction on one partition, behind the coordinator's back.
OPERATOR_ABORT = "operator_abort"
# The other outcome was written: a finding of its own.
OTHER_OUTCOME = "other_outcome"
# Another replica in the dump has it, behind the end of this copy.
REPLICA_LAGS = "replica_lags"
# Bytes or offsets are missing between the two things compared; that is a finding of its own.
MISSING_RANGE = "missing_range"
# Healthy brokers and clients do this too: an observation, no accusation.
ALSO_LEGAL = "also_legal"
# A transaction without data on this partition may lie between (TV0/1), only the coordinator knows.
EMPTY_TRANSACTION_POSSIBLE = "empty_transaction_possible"
# Older or newer brokers and clients are known to do this.
VERSION_DEPENDENT = "version_dependent"
# A late failure of an append leaves a record that never took effect.
APPEND_REPEATED = "append_repeated"
# Another broker's clock wrote the later one.
CLOCK_SKEW = "clock_skew"
# The coordinator may have been stopped, so that nobody was there to act.
COORDINATOR_STOPPED = "coordinator_stopped"
# The application may have gone back in its input on purpose.
REWIND_POSSIBLE = "rewind_possible"
# The topic was deleted and created anew, and a folder of the old one is left.
TOPIC_RECREATED = "topic_recreated"
# Of a segment only the log was copied, without what lies beside it.
SIDE_FILES_NOT_DUMPED = "side_files_not_dumped"
# Partitions of several clusters lie in one dump, and all number their producers from 0.
SEVERAL_CLUSTERS = "several_clusters"

REASONS = (
    NO_INITIAL_STATE,
    CLEANED_RANGE,
    UNSTABLE_TAIL,
    STATE_MAY_HAVE_EXPIRED,
    TXNLOG_NOT_DUMPED,
    TXNLOG_COMPACTED,
    DUMP_BEFORE_EVENT,
    CONFIG_UNKNOWN,
    TWO_PHASE_COMMIT,
    TEXT_DUMP_LACKS_FIELD,
    ADMIN_ABORT_POSSIBLE,
    OPERATOR_ABORT,
    OTHER_OUTCOME,
    REPLICA_LAGS,
    MISSING_RANGE,
    ALSO_LEGAL,
    EMPTY_TRANSACTION_POSSIBLE,
    VERSION_DEPENDENT,
    APPEND_REPEATED,
    CLOCK_SKEW,
    COORDINATOR_STOPPED,
    REWIND_POSSIBLE,
    TOPIC_RECREATED,
    SIDE_FILES_NOT_DUMPED,
    SEVERAL_CLUSTERS,
)


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
    """Nothing is wrong, or another finding already says it."""
    return Excuse(reason, EXPLAINED, when)


def over_clusters(findings: DataFrame) -> DataFrame:
    """Findings that hold partitions of several clusters against each other: nothing is proven."""
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
        holds = F.coalesce(excuse.when(), F.lit(False))
        verdict = F.when(holds, F.lit(excuse.verdict)).otherwise(verdict)
        reason = F.when(holds, F.lit(excuse.reason)).otherwise(reason)
    return verdict, reason
