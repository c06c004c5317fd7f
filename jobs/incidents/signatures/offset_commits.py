"""Committed offsets of a group went back, or contradict their transaction.

What it looks like: a committed offset of a group that is lower than the one before and the one
after it, offset commits with another outcome than the output of their transaction, or records of
`__consumer_offsets` that are in the wrong partition or cannot be decoded.

Why: a late commit of an older member, a commit outside its transaction, or a change of the group
coordinator during a commit.

Evidence: the commit that went back, the one before it and the one after it.

Look-alikes: an operator's reset: the group goes on from the lower offset. An operator's abort,
after which input offsets and output have different outcomes. A marker of the same producer whose
outcome was changed on disk: there the offsets are right.

Known bug: KAFKA-15449 (commits are not verified, up to 3.6).
"""

from jobs.incidents.signature import Signature, Step
from jobs.model.commands import DESCRIBE_GROUPS

COMMITS = (
    "offset_commit_regression", "offset_commit_outcome_mismatch", "offset_commit_unlisted",
    "committed_output_without_offsets", "group_wrong_partition", "offsets_undecodable",
    "pending_offsets_stuck",
)  # fmt: skip

SIGNATURE = Signature(
    name="offset_commits",
    title="Committed offsets of a group went back or contradict their transaction",
    why="If its offset went back, a group reads records again. If it is too high, it misses some.",
    explains=lambda finding: finding.one_of(*COMMITS),
    known_bug="KAFKA-15449, where a commit was not part of any transaction",
    steps=(
        Step(
            "Compare the group's offsets with the records that its application has processed. "
            "Where records were missed, set the offsets back",
            command=DESCRIBE_GROUPS,
            before="all members of the group are stopped",
        ),
    ),
)
