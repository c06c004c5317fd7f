"""The dump has files of two clusters, or of two topics of one name.

What it looks like: cluster ids or topic ids differ between log directories, and all checks that
compare copies fire.

Why: a folder of another cluster, or of a topic that was deleted and created again, was copied with
the others.

Evidence: `meta.properties` and `partition.metadata` of both.

Look-alikes: an unclean leader election. There the ids agree, and only the batches differ.

Known bug: none; a mistake when the dump was taken.
"""

from jobs.incidents.signature import Signature, Step

IDS = ("cluster_id_mismatch", "topic_id_mismatch")

SIGNATURE = Signature(
    name="two_clusters",
    title="The dump has files of two clusters, or of two topics of one name",
    why="Copies that do not belong together contradict each other at every offset.",
    explains=lambda finding: (
        finding.one_of(*IDS) | (finding.one_of("replica_divergence") & finding.beside(*IDS))
    ),
    proven_by=IDS,
    steps=(
        Step(
            "Take the dump again from the brokers of one cluster. Audit each cluster separately",
            check="the next audit has neither cluster_id_mismatch nor topic_id_mismatch",
        ),
    ),
)
