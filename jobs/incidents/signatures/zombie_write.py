"""A fenced producer went on writing.

What it looks like: data or markers of a lower epoch after a higher one of the same producer id. No
marker is written for such data: they lie open until the next marker of the producer.

Why: two instances used one transactional id, and a broker that had lost the producer's state
accepted the batches of the older instance.

Evidence: the batch with the lower epoch, and the marker or batch before it with the higher one.

Look-alikes: a batch that is in the log before, byte for byte, was stored again (expired_state). A
producer state that expired: after that any epoch is accepted. Two producers that use
one producer id: there two transactional ids share it.

Known bug: none of its own; see KAFKA-9144 for state that expires early (before 2.4.1, 2.5.0).
"""

from jobs.incidents.offset_steps import ENDS
from jobs.incidents.signature import AGAIN, PRODUCER, ZOMBIE, Signature, Step, of_zombie

SIGNATURE = Signature(
    name="zombie_write",
    title="A fenced producer went on writing",
    why="A broker accepted batches of an epoch below one that this producer already had there.",
    explains=lambda finding: (
        (finding.one_of(*ZOMBIE) & ~finding.one_of(*AGAIN))
        | (of_zombie(finding) & ~finding.of_both(*AGAIN))
    ),
    proven_by=("zombie_write_after_fence",),
    key=PRODUCER,
    steps=(
        Step(
            "Find and stop the second instance with this transactional id: after an abort the "
            "broker takes its next batch again"
        ),
        *ENDS,
        Step(
            "Compare its output with that of the instance that took over: records of the lower "
            "epoch are duplicates, or must be discarded",
            cannot="the log: it keeps them; correct the results computed from them",
        ),
    ),
)
