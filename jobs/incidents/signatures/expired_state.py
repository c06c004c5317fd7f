"""A broker had lost a producer's state, and accepted its batches twice or with a gap.

What it looks like: a batch that is stored twice, also with an epoch that was raised since, or
sequences that begin at 0 again or leave a gap, after the broker may have forgotten the producer.

Why: producer state expires (`producer.id.expiration.ms`, `transactional.id.expiration.ms`), is
deleted by DeleteRecords in old releases, or is lost with the snapshots. Without it the broker
checks nothing.

Evidence: the batch, and the earlier one with the same sequences.

Look-alikes: two producers that use one producer id; a log that was truncated between two batches of
a producer; a client that assigns wrong sequences.

Known bug: KAFKA-9144 (markers do not renew the state, before 2.4.1 and 2.5.0).
"""

from jobs.incidents.signature import AGAIN, MOMENT, Signature, Step, of_zombie

SEQUENCES = (
    "duplicate_batch", "first_sequence_nonzero", "sequence_regression", "sequence_gap",
    "sequence_nonzero_at_new_epoch", "producer_timestamp_expired_state",
)  # fmt: skip

SIGNATURE = Signature(
    name="expired_state",
    title="A broker had lost a producer's state and accepted its batches without checks",
    why="A broker compares sequences with the producer's state. Without it, it takes any batch.",
    explains=lambda finding: (
        finding.one_of(*SEQUENCES, *AGAIN) | (of_zombie(finding) & finding.of_both(*AGAIN))
    ),
    key=MOMENT,
    steps=(
        Step(
            "Remove the duplicates from the results computed from them. The table consequence has "
            "their offsets",
            cannot="the log: it keeps both",
            of=("records_stored_twice",),
        ),
        Step(
            "Raise producer.id.expiration.ms above the longest pause after which a client may "
            "still retry. Brokers before 3.4 have transactional.id.expiration.ms for both"
        ),
    ),
)
