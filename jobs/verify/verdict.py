"""The shared three-valued verdict: a rule fires, and the first excuse that holds decides.

A verdict is `violation` if no legal explanation remains, `suspect` if a legal but unlikely one
cannot be excluded, `inconclusive` if the dump cannot decide. A complete explanation leaves no
finding at all.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from udfs.rules.logic import surely

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
# A text of kafka-dump-log lacks the deciding field.
TEXT_DUMP_LACKS_FIELD = "text_dump_lacks_field"
ADMIN_ABORT_POSSIBLE = "admin_abort_possible"
# An operator aborted the transaction in one partition; the coordinator does not know of it.
OPERATOR_ABORT = "operator_abort"
# Another finding reports it.
OTHER_OUTCOME = "other_outcome"
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
# The topic was deleted and created again, and a folder of the old one remains.
TOPIC_RECREATED = "topic_recreated"
# Of a segment only the log was copied, without its indexes.
SIDE_FILES_NOT_DUMPED = "side_files_not_dumped"
# The dump has partitions of several clusters, which all allocate producer ids from 0.
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
        holds = surely(excuse.when())
        verdict = F.when(holds, F.lit(excuse.verdict)).otherwise(verdict)
        reason = F.when(holds, F.lit(excuse.reason)).otherwise(reason)
    return verdict, reason
