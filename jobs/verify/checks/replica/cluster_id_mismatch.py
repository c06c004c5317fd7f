"""The dump holds log directories of several clusters.

What it finds: a `meta.properties` with another cluster id than most others of the dump.

Why it is wrong: brokers of different clusters know nothing of each other. What is held against one
another over partitions (decisions of the coordinator beside markers, producer ids) has no meaning
over two clusters, and what such checks find is told as inconclusive (`several_clusters`).

When it is legal: never; a broker refuses to start on a directory of another cluster. Audit each
cluster for itself.

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
    proofs=(Proof("names the cluster"),),
    message=lambda: text(
        "{file} belongs to cluster {cluster_id}, other directories of the dump to "
        "{usual_cluster_id}: what is compared between partitions means nothing here."
    ),
    remedy=lambda: F.lit("Audit the directories of each cluster for themselves."),
)
