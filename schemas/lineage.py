"""What applications read and wrote in transactions, as tasks pass it on; not Delta tables."""

from pyspark.sql.types import IntegerType

from schemas.columns import array, binary, boolean, integer, long, string, table

INPUT_COMMIT = table(
    long("record_offset", "offset of the commit's record"),
    long("committed_offset", "the offset committed: the next one to be read"),
    integer("producer_epoch", "producer epoch of the transaction"),
    long("timestamp", "timestamp of the commit's batch, ms, broker clock"),
)
"""A commit of input offsets in a transaction that was not aborted in its split."""

INPUT_COMMITS = table(
    string("group", "consumer group"),
    string("topic", "topic of the committed partition"),
    integer("partition", "number of the committed partition"),
    long("producer_id", "producer id of the transactions"),
    boolean("whole", "the partition of `__consumer_offsets` has all that was ever committed there"),
    binary("commits", "Arrow stream of INPUT_COMMIT rows in the order of the log"),
)
"""The commits of one key and producer in one split of `__consumer_offsets`."""

FIRST_READ = table(
    integer("incident", "number of the incident"),
    string("group", "consumer group"),
    string("topic", "topic that was read"),
    integer("partition", "its partition"),
    long("producer_id", "producer id of the transaction"),
    integer("producer_epoch", "its producer epoch"),
    long("since_ms", "timestamp of its commit, ms"),
    boolean("whole", "false: an earlier commit of that kind may be gone"),
)
"""The first transaction that committed an offset beyond the first affected one."""

WRITTEN = table(
    integer("incident", "number of the incident; null where nobody asked for one"),
    integer("partition_index", "numbered by collect"),
    long("producer_id", "producer id"),
    long("first_offset", "first offset of data, inclusive"),
    long("last_offset", "last offset of data, inclusive"),
    long("transactions", "committed transactions"),
    long("records", "records in them"),
)
"""What a producer wrote to a copy of a partition, in committed transactions."""

BETWEEN = table(
    integer("partition_index", "numbered by collect"),
    long("first_offset", "first offset, inclusive"),
    long("last_offset", "last offset, inclusive"),
    long("records", "records in these batches, by their headers"),
    long("since_ms", "largest timestamp of the first batch, ms"),
    long("producer_id", "producer id of what was asked for; null: of anybody"),
    integer("producer_epoch", "its producer epoch; null: any"),
    long("written_from", "first offset of what was asked for; null: of anybody"),
    integer("leader_epoch", "partition leader epoch of the first batch"),
)
"""Data of one split between two offsets (`udfs.arrow.data_between`)."""

SENT = table(
    integer("partition_index", "numbered by collect"),
    long("producer_id", "producer id; -1 for none"),
    integer("producer_epoch", "producer epoch"),
    long("number", "base sequence; without a producer id the base offset"),
    long("last_offset_delta", "offsets of the batch, less one"),
    long("checksum", "as stored; 0 where a leader stamped a batch with a producer id"),
)
"""What a batch keeps when its producer sends it again (`udfs.arrow.sent_again`)."""

OWN_COMMIT = table(
    integer("number", "number of the range in which it was asked for"),
    string("group", "consumer group"),
    string("committed_topic", "topic of the committed partition"),
    integer("committed_partition", "number of the committed partition"),
    long("record_offset", "offset of the commit's record"),
    long("committed_offset", "the offset committed: the next one to be read"),
    long("commits", "commits of the group and partition in the range, this one among them"),
)
"""The last commit of a group and partition in a range of `__consumer_offsets`, in one split."""

SURVIVED = table(integer("number", "number of what was asked"))
"""What a batch of one split refutes (`udfs.arrow.survivors`)."""

METADATA_CHANGE = table(
    string("event", "broker_registered, broker_fenced, broker_unfenced, broker_stopping, "
           "leader_elected, leader_elected_uncleanly, no_leader, or topic; null where a "
           "partition keeps its leader"),
    long("at_ms", "timestamp of its batch, ms, controller clock"),
    integer("broker", "the broker, or the new leader; null for none"),
    string("topic_id", "topic id as in partition.metadata; null of a broker"),
    string("name", "of a topic its name"),
    integer("partition", "partition number; null of brokers and topics"),
    long("offset", "offset of the record"),
    array("in_sync", IntegerType(), "in-sync replicas from now on, the last ones where there are "
          "none; null: as before"),
    array("eligible", IntegerType(), "eligible leader replicas from now on; null: as before"),
    boolean("alone", "the record makes the new leader the only one in sync, and assigns no "
            "replicas: no leader asked for it"),
)  # fmt: skip
"""A change of brokers or leaders in `__cluster_metadata`, and the names of topics."""

ASKED = table(
    long("begin", "base offset from which batches count"),
    long("after_ms", "a batch refutes it that is newer than this, ms"),
    long("before_ms", "and older than this, ms"),
)
"""What would refute a cut (`jobs.incidents.evidence`)."""

SEEN = table(
    integer("incident", "number of the incident"),
    integer("partition_index", "numbered by collect; null for a copy that is not in the dump"),
    string("topic", "topic name"),
    integer("partition", "partition number"),
    long("gone_ms", "when the leader was lost, ms, controller clock; null: nothing shows it"),
    long("completed_ms", "timestamp of the Complete record, ms, coordinator clock"),
    long("cut_ms", "when a leader was elected that was not in sync, ms; null: nothing shows it"),
    integer("cut_broker", "that leader"),
    array("asked", ASKED, "what would refute it"),
)
"""What the metadata log has of one place of an incident (`jobs.incidents.evidence`)."""
