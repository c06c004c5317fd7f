"""What the listing of a dump says of a partition; not a Delta table."""

from schemas.columns import boolean, integer, long, string, table

# Whether a partition was compacted, as far as the dump tells.
NEVER_CLEANED, CLEANED, CLEANING_UNKNOWN = "never", "cleaned", "unknown"
# Offsets that are missing in a copy: from `first` to `end` (exclusive), null for anybody's.
RANGES = "array<struct<first:bigint,end:bigint,producer_id:bigint>>"

DUMP_PARTITION = table(
    integer("partition_index", "number given by collect"),
    integer("broker", "broker id"),
    string("topic", "topic"),
    integer("partition", "partition"),
    long("checkpoint_high_watermark", "replication-offset-checkpoint"),
    long("checkpoint_log_start", "log-start-offset-checkpoint"),
    long("checkpoint_recovery_point", "recovery-point-offset-checkpoint: flushed below this"),
    long("cleaner_checkpoint", "cleaner-offset-checkpoint"),
    boolean("has_cleaner_checkpoint", "the log directory holds a cleaner checkpoint file"),
    boolean("has_log_start_checkpoint", "the log directory holds a log-start-offset-checkpoint"),
    boolean("clean_shutdown", "the log directory holds a clean-shutdown marker"),
    long(
        "copied_at_ms",
        "everything appended before this moment is in the copy, ms; null without a "
        "dump-manifest.json that says so",
    ),
    long("cleaned_below", "the cleaner is known to have passed the offsets below"),
    long("files_cleaned_below", "the same of offsets that lie in no file"),
    boolean("coordinator_topic", "written by coordinators or controllers: sequences mean nothing"),
    boolean("internal_compacted", "always compacted, or a broker reported its cleanup.policy so"),
    long("first_base", "base offset of the first segment"),
    long("newest_base", "base offset of the newest (active) segment"),
    integer("replica_set", "equal for the copies of one partition on several brokers of one "
            "cluster; null where the dump has one copy"),
    long("comparable_from", "first offset that neither retention nor the cleaner of any copy "
         "touched"),
    long("cleaner_reach", "highest offset up to which the cleaner of a copy came, exclusive; 0 "
         "without a replica_set"),
    string("topic_id", "partition.metadata; null without it or where nobody asks for it"),
    integer("metadata_file", "file_index of that partition.metadata"),
    integer("topic_partitions", "partition count by __cluster_metadata; null: unknown"),
    boolean("created_once", "by __cluster_metadata there never was another topic of this name"),
    boolean("created_again", "by __cluster_metadata there was another topic of this name before"),
    boolean("never_compacted", "by __cluster_metadata cleanup.policy was always delete"),
    long("unallocated_from", "first producer id that no broker had been allocated when "
         "__cluster_metadata was copied; null: unknown"),
    string("cluster_id", "cluster.id of meta.properties; null: unknown"),
    long("metadata_up_to_ms", "last timestamp in __cluster_metadata, ms, controller clock"),
    boolean("fetched", "fetched over the Kafka protocol: batches only, no file of a broker"),
    boolean("kraft_only", "by __cluster_metadata the cluster never had ZooKeeper"),
    boolean("compacted_once", "by __cluster_metadata cleanup.policy had compact at some time"),
    boolean("alone_in_cluster", "by __cluster_metadata its cluster never had another broker"),
    boolean("single_broker", "and the dump has no other"),
    boolean("every_broker", "the dump has all brokers that its one cluster ever had, by "
            "__cluster_metadata"),
    long("registered_up_to_ms", "moment up to which these three are known, ms, controller clock; "
         "null: to the end of the copies, as all brokers had stopped"),
    boolean("never_deleted", "by __cluster_metadata cleanup.policy was always compact"),
    long("copied_until_ms", "nothing of the copy was read after this moment, ms; null without a "
         "dump-manifest.json that says so"),
    long("one_moment_from", "from this offset on no cleaner passed between the copying of one file "
         "and of the next; null: it may have anywhere"),
    integer("incarnation", "tells topics of one name apart; 0 where the dump knows one only"),
    boolean("of_deleted_topic", "by __cluster_metadata another topic has this name now"),
    boolean("every_replica", "the dump has a copy of each replica that __cluster_metadata assigns"),
    string("created_id", "by __cluster_metadata the id of the only topic of this name; null: "
           "unknown, deleted, or there were several"),
)  # fmt: skip

LISTED_FILE = table(
    integer("file_index", "number given by collect"),
    integer("partition_index", "its partition; null for a file outside of partitions"),
    string("path", "path relative to the dump"),
    string("root", "where the file is opened: folder, or URI of the dump; not to be shown"),
    string("below_root", "and its path below that"),
    integer("broker", "broker id"),
    string("topic", "topic"),
    integer("partition", "partition"),
    string("kind", "file kind of schemas/dump_file.py"),
    long("base_offset", "base offset in the name"),
    long("next_base_offset", "base offset of the next segment; null for the newest"),
    long("size_bytes", "size when listed, bytes"),
    long("starts_at", "byte position of its start; in a text, line of the batch that is there"),
    long("ends_at", "byte position after its end; in a text, line"),
    string("status", "audited, digest_only or skipped"),
    string("note", "why it is not audited"),
)
"""One row a file of the dump."""
