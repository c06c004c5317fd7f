"""Committed offsets of a group went back, or do not fit their transaction.

What it looks like: offsets of a group that were committed lower than before and then higher again,
or records of `__consumer_offsets` that lie in the wrong partition or cannot be decoded.

Why: a late commit of an older member, a commit outside its transaction, or a group coordinator that
changed in the middle.

Evidence: the commits before, at and after the step back.

Look-alikes: an operator's reset: the group goes on from there. An abort by hand, which tears input
offsets and output apart.

Known bug: KAFKA-15449 (commits are not verified, before KIP-890).
"""

from jobs.incidents.signature import Signature, Step

COMMITS = (
    "offset_commit_regression", "offset_commit_outcome_mismatch", "offset_commit_unlisted",
    "committed_output_without_offsets", "group_wrong_partition", "offsets_undecodable",
    "pending_offsets_stuck",
)  # fmt: skip

SIGNATURE = Signature(
    name="offset_commits",
    title="Committed offsets of a group went back or do not fit their transaction",
    why="A group that went back reads records a second time; one that went on misses some.",
    explains=lambda finding: finding.one_of(*COMMITS),
    known_bug="KAFKA-15449, where a commit was not part of any transaction",
    steps=(
        Step(
            "Compare the group's offsets with what its application has processed, and set them "
            "back where records were missed",
            command=(
                "kafka-consumer-groups.sh --bootstrap-server HOST:PORT --describe --all-groups"
            ),
            before="all members of the group are stopped before offsets are set",
        ),
    ),
)
