"""A broker forgot a producer, and took its batches twice or from the middle.

What it looks like: a batch that is stored twice, a sequence that begins anew or leaves a gap,
after the broker may have forgotten the producer.

Why: producer state expires (`producer.id.expiration.ms`, `transactional.id.expiration.ms`), goes
with DeleteRecords in old releases, or is lost with the snapshots. Without it nothing is compared.

Evidence: the batch and the one with the same sequences before it.

Look-alikes: an id in two hands; a log that was cut in the middle of a sequence; a client that
counts wrongly.

Known bug: KAFKA-9144 (markers do not renew the state, before 2.4.1 and 2.5.0).
"""

from jobs.incidents.signature import MOMENT, Signature, Step

SEQUENCES = (
    "duplicate_batch", "first_sequence_nonzero", "sequence_regression", "sequence_gap",
    "sequence_nonzero_at_new_epoch", "producer_timestamp_expired_state",
)  # fmt: skip

SIGNATURE = Signature(
    name="expired_state",
    title="A broker no longer knew a producer and took its batches unchecked",
    why="Sequences are compared with the state of the producer; without it any batch is taken.",
    explains=lambda finding: finding.one_of(*SEQUENCES),
    key=MOMENT,
    steps=(
        Step(
            "Remove the records that are stored twice from what was derived of them; the table "
            "consequence has their offsets",
            cannot="the log keeps both",
            of=("records_stored_twice",),
        ),
        Step(
            "Raise producer.id.expiration.ms above the longest pause after which a client may "
            "still retry"
        ),
    ),
)
