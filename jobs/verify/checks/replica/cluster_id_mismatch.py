"""The dump has log directories of several clusters.

What it finds: a `meta.properties` with a cluster id other than that of most directories of the
dump.

Why it is wrong: brokers of different clusters have nothing to do with each other. Comparisons
between partitions (coordinator decisions with markers, producer ids) have no meaning across two
clusters, and findings of such checks are reported as inconclusive (`several_clusters`).

When it is legal: never; a broker refuses to start on a directory of another cluster. Audit each
cluster separately.

Evidence: the `meta.properties` of that directory.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text

CHECK = Check(
    code="cluster_id_mismatch",
    severity=ERROR,
    context="log_directory",
    source="BrokerMetadataCheckpoint, MetaPropertiesEnsemble",
    fires=lambda: F.col("cluster_id") != F.col("usual_cluster_id"),
    expected=lambda: text("cluster id {usual_cluster_id}"),
    found=lambda: text("cluster id {cluster_id}"),
    proofs=(Proof("the cluster id"),),
    message=lambda: text(
        "{file} belongs to cluster {cluster_id}. Other directories of the dump belong to cluster "
        "{usual_cluster_id}. Comparisons between partitions of two clusters have no meaning."
    ),
    remedy=lambda: F.lit("Audit the directories of each cluster separately."),
)
