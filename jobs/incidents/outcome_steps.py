"""Steps for what consumers got, or did not get, against a decision: the log stays as it is."""

from jobs.incidents.signature import Step
from jobs.model.incident import AGAINST_DECISION

VISIBLE, INVISIBLE = AGAINST_DECISION


def correct_results() -> Step:
    """Where aborted records were delivered."""
    return Step(
        "Correct results that consumers computed from aborted records. The table consequence "
        "has their offsets",
        cannot="the log: the marker that made them visible stays",
        of=(VISIBLE,),
        offsets=False,
    )


def produce_again() -> Step:
    """Where committed records are not delivered."""
    return Step(
        "Produce the committed records that are not delivered again, in a new transaction",
        before=(
            "the last stable offset has passed them, they are still not delivered, and no "
            "application has written them again by itself"
        ),
        cannot="their order among newer records",
        reversible=False,
        of=(INVISIBLE,),
        offsets=False,
    )
