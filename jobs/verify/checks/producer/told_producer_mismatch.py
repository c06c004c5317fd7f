"""A leader reports another epoch or last sequence of a producer than its log has.

What it finds: in a dump over the protocol, a leader that reported the same state of a producer
before and after the fetch, in one leader epoch, while the last batch or marker of that producer in
the fetched log gives another state.

Why it is wrong: the leader judges the next batch by the state in its memory. If that is older than
the log, it takes a batch twice, or refuses the next one.

When it is legal: the producer wrote during the fetch; therefore only states that are equal in both
answers are compared. The leader may know more than the copy has, because batches above the high
watermark cannot be fetched. It may have forgotten what is below the log start. A producer that it
no longer knows has expired; if another marker came after that, the leader knows it again, without a
sequence. In a topic that is or may be compacted, the leader may be a replica that has read a log
from which the cleaner had taken what an earlier run had fetched. What this run fetched, the leader
has in its log. Answers about an older topic of the same name, by its id, are not compared.

Evidence: the newest batch of the producer in the log.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.copies import (
    lies_in_told_copy,
    not_replicated_yet,
    taken_from_the_leader,
)
from jobs.verify.remedies import ask_leader_again
from jobs.verify.verdict import STATE_MAY_HAVE_EXPIRED, inconclusive
from udfs.arrow.told_differences import STATE_DIFFERS

CHECK = Check(
    code="told_producer_mismatch",
    severity=ERROR,
    context="told",
    source="UnifiedLog.activeProducers, ProducerStateEntry",
    fires=lambda: F.col("fault") == STATE_DIFFERS,
    excuses=(
        not_replicated_yet(lambda: ~F.col("log_ahead")),
        *lies_in_told_copy(),
        *taken_from_the_leader(),
        inconclusive(STATE_MAY_HAVE_EXPIRED, lambda: F.col("known_by_marker")),
    ),
    expected=lambda: text("{expected}"),
    found=lambda: text("{found}"),
    proofs=(Proof("the newest batch of the producer in the log"),),
    message=lambda: text(
        "Broker {answering_broker} reports for producer {producer_id}: {found}. Its log gives: "
        "{expected}."
    ),
    remedy=ask_leader_again,
)
