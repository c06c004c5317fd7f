"""A leader remembers another epoch or last sequence of a producer than its log has.

What it finds: in a dump over the protocol, a leader that said the same of a producer before and
after the fetch, in one leader epoch, where the log between has a newer or older batch or marker of
that producer.

Why it is wrong: the leader judges the next batch by its memory. One that lags behind the log takes
a batch twice, or refuses the next one.

When it is legal: a producer that wrote meanwhile: only what both answers agree on is compared. The
leader may know more than the copy: what lies above the high watermark cannot be fetched. What lies
below the log start it may have forgotten; and a producer that it does not know any more has
expired. One that got another marker after that is known again, without a sequence.

Evidence: the newest batch of the producer in the log.
"""

from pyspark.sql import functions as F

from jobs.model.commands import DESCRIBE_PRODUCERS
from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions import lies_in_told_copy, not_replicated_yet
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
        inconclusive(STATE_MAY_HAVE_EXPIRED, lambda: F.col("known_by_marker")),
    ),
    expected=lambda: text("{expected}"),
    found=lambda: text("{found}"),
    proofs=(Proof("the newest batch of the producer in the log"),),
    message=lambda: text(
        "Broker {answering_broker} has for producer {producer_id}: {found}. Its log has: "
        "{expected}."
    ),
    remedy=lambda: text(
        f"Ask again with {DESCRIBE_PRODUCERS}; if it is the same, move the leader to another "
        "replica or restart the broker: its memory is rebuilt from the log."
    ),
)
