"""What one pass over the files of a dump yields: rows of several kinds in one schema.

One pass reads each byte once, so it cannot give one table after another: `kind` says which of
the groups of columns a row fills. `jobs/decode/decode.py` takes the kinds apart. Not a Delta table.
"""

from pyspark.sql.types import IntegerType, LongType, StringType

from schemas.columns import array, binary, boolean, column, integer, long, string, table

RUN, FRAME, FAILURE, OFFSET_DISCONTINUITY, TXN_LOG_RECORD, ABORTED, SUMMARY, REGULAR = range(8)
GROUP_FAULT, PENDING_COMMIT, LATE_COMMIT, COMMITS, BLOCK, FOLDED, METADATA = range(8, 15)
SIDE_FAULT, PRODUCER_STATES, SNAPSHOT_FAULT, RETAINED_RECORDS = range(15, 19)

RUN_COLUMNS = (
    long("producer_id", "producer id"),
    integer("producer_epoch", "producer epoch of the data; null in a run of a marker alone"),
    boolean("transactional", "whether the data is transactional; null for a marker alone"),
    long("first_offset", "base offset of the first data batch, inclusive"),
    long("last_offset", "last offset of the last data batch, inclusive"),
    integer("first_sequence", "sequence of the first record"),
    integer("last_sequence", "sequence of the last record"),
    integer("first_batch_last_sequence", "last sequence of the first batch"),
    integer("batches", "data batches in the run"),
    long("records", "records in these batches, by their headers"),
    long("first_timestamp", "largest timestamp of the first batch, ms"),
    long("last_timestamp", "largest timestamp of the last batch, ms"),
    boolean("log_append_time", "whether the timestamps of the data are the broker's"),
    long("first_position", "byte position of the first data batch in its file"),
    integer("first_length", "size of the first data batch, bytes"),
    long("last_position", "byte position of the last data batch in its file"),
    integer("last_length", "size of the last data batch, bytes"),
    long("marker_offset", "offset of the marker that ends the run; null where none follows"),
    integer("marker_epoch", "producer epoch of the marker"),
    boolean("marker_commit", "true for COMMIT, false for ABORT"),
    integer("coordinator_epoch", "coordinator epoch in the marker"),
    long("marker_timestamp", "timestamp of the marker, ms, broker clock"),
    long("marker_position", "byte position of the marker in its file"),
    integer("marker_length", "size of the marker batch, bytes"),
    long("oldest_other", "first offset of the oldest transaction that began in this split and is "
         "open after the marker; null for none"),
    boolean("follows", "the transaction of the producer right before the run was folded away"),
    integer("chain_first_sequence", "first sequence of the newest chain of contiguous sequences "
            "that began in what was folded away or in this run; null where none did"),
    integer("chain_epoch_before", "producer epoch of the data before that chain"),
    integer("chain_sequence_before", "last sequence of the data before that chain"),
    integer("marker_epoch_before", "producer epoch of the marker before, where that or this was "
            "folded away; else null"),
    boolean("initial", "made from an entry of the producer snapshot at the log start, with the "
            "position and size of that entry; null for a run of batches"),
    long("first_checksum", "CRC-32C of the first data batch as stored; -1 where a text lacks it"),
    array("last_checksums", LongType(), "CRC-32C of its newest data batches, five at most, in "
          "order"),
    boolean("below_log_start", "the data batches lie below the log start offset, where a broker "
            "may have forgotten them"),
    long("absent_to_first", "how many offsets are missing in the split before the first data batch "
         "(`udfs.rules.absence.running`)"),
    long("absent_to_last", "the same up to the last data batch, with what that itself lacks"),
    long("absent_to_marker", "the same before the marker"),
)  # fmt: skip

REGULAR_TXN = table(
    long("producer_id", "producer id"),
    integer("producer_epoch", "producer epoch of its data"),
    long("first_offset", "base offset of its first data batch, inclusive"),
    long("last_offset", "last offset of its last data batch, inclusive"),
    long("marker_offset", "offset of the marker that ends it"),
    integer("marker_epoch", "producer epoch of the marker"),
    boolean("marker_commit", "true for COMMIT, false for ABORT"),
    integer("coordinator_epoch", "coordinator epoch in the marker"),
    long("first_timestamp", "largest timestamp of its first batch, ms"),
    long("last_timestamp", "largest timestamp of its last batch, ms"),
    long("marker_timestamp", "timestamp of the marker, ms, broker clock"),
    long("marker_position", "byte position of the marker in its file"),
    integer("marker_length", "size of the marker batch, bytes"),
    long("batches", "data batches"),
    long("records", "records in these batches, by their headers"),
    long("first_position", "byte position of its first data batch in its file"),
    integer("first_length", "size of its first data batch, bytes"),
    integer("marker_epoch_before", "producer epoch of the marker before"),
)
"""A folded transaction (udfs/wire/batches/fold.py), which is kept for the table `txn` only."""

REGULAR_ABORT = table(
    *REGULAR_TXN,
    long("oldest_other", "as in RUN_COLUMNS"),
)
"""A regular transaction that was aborted, for the aborted list and its index."""

REGULAR_TYPE = table(
    long("number", "transactions in the block"),
    long("aborts", "how many of them were aborted"),
    binary("aborted", "Arrow stream of those as REGULAR_ABORT rows; null for none"),
    binary("transactions", "Arrow stream of REGULAR_TXN rows in the order of the log"),
)

FRAME_TYPE = table(
    long("position", "byte position of the batch"),
    integer("length", "size of the batch, bytes"),
    long("base_offset", "base offset"),
    long("last_offset", "last offset, inclusive"),
    integer("count", "record count in the header"),
    integer("attributes", "attribute bits"),
    long("producer_id", "producer id"),
    integer("producer_epoch", "producer epoch"),
    integer("base_sequence", "base sequence"),
    long("base_timestamp", "base timestamp, ms, or delete horizon"),
    long("max_timestamp", "largest timestamp in the header, ms"),
    long("fault_mask", "bits of udfs/wire/batches/faults.py"),
    long("found", "control type of a control batch; largest record timestamp of others, ms"),
)

FAILURE_TYPE = table(
    long("first_byte", "first byte that belongs to no valid batch"),
    long("end_byte", "byte after the damage; null where it extends into the next split"),
    string("reason", "how the bytes fail: udfs/arrow/frames.py, or an error of the file system"),
    long("frame_bytes", "size that the header at first_byte claims; 0 for none"),
    long("previous_last_offset", "last offset before the damage in this split; null for none"),
    long("next_offset", "base offset of the first batch after the damage in this split"),
)

# Kind of a discontinuity: from the first to the last gap of a split that were left out.
GAPS_LEFT_OUT = "gaps_left_out"

OFFSET_DISCONTINUITY_TYPE = table(
    string("discontinuity", "gap, overlap, leader_epoch, or GAPS_LEFT_OUT"),
    long("previous_last_offset", "last offset of the batch before, inclusive"),
    long("base_offset", "base offset of this batch"),
    integer("previous_leader_epoch", "partition leader epoch of the batch before"),
    integer("leader_epoch", "partition leader epoch of this batch"),
    long("previous_position", "byte position of the batch before"),
    long("position", "byte position of this batch"),
    integer("length", "size of this batch, bytes"),
)

TXN_LOG_RECORD_TYPE = table(
    string("transactional_id", "key; null when it cannot be decoded"),
    integer("id_hash", "hash of the key: modulo the partition count it gives the partition"),
    long("offset", "offset of the record"),
    long("position", "byte position of its batch"),
    integer("length", "size of its batch, bytes"),
    long("timestamp", "timestamp of the record, ms, coordinator clock"),
    integer("leader_epoch", "partition leader epoch of the batch"),
    boolean("tombstone", "the value is null: the transactional id has expired"),
    long("producer_id", "producer id"),
    integer("producer_epoch", "producer epoch"),
    integer("timeout_ms", "transaction timeout, ms"),
    integer("status", "state byte: schemas/coordinator_states.py"),
    array("partitions", StringType(), "partitions in the record, as topic-partition; null: none"),
    long("last_update_ms", "last update timestamp, ms"),
    long("start_ms", "start of the transaction, ms; -1: none; null: not in the text"),
    long("next_producer_id", "NextProducerId, tag 1: the id after its epochs ran out; -1: absent"),
    integer("client_transaction_version", "client's version, tag 2; 0: none; -1: value version 0"),
    long("unknown_tag", "smallest unknown tag of a tagged field; null for none"),
    string("batch_shape", "irregular form of the batch, on its first record; null: none"),
    string("error", "why key or value could not be decoded; null for a good record"),
    long("ordinal", "how many records of the split up to it can be decoded"),
    long("alive_ms", "time in which the split was written, up to the record, ms; a pause counts as "
         "one minute at most"),
    long("latest_timestamp", "newest timestamp of the split up to the record, ms"),
    boolean("judged", "the transition from the record before it, in this split, was found regular"),
    boolean("decided", "a Prepare record whose decision is in a block of a FOLDED row"),
)  # fmt: skip

FOLDED_RECORD = table(
    *(field for field in TXN_LOG_RECORD_TYPE if field.name in (
        "transactional_id", "offset", "position", "length", "timestamp", "producer_id",
        "producer_epoch", "status", "partitions", "client_transaction_version", "ordinal",
    )),
)  # fmt: skip
"""A folded record of `__transaction_state` (udfs/wire/coordinator/txn_log_chain.py)."""

DECISION = table(
    long("record_position", "byte position of the Prepare record's batch"),
    integer("record_length", "size of that batch, bytes"),
    long("prepare_offset", "offset of the Prepare record"),
    long("prepare_timestamp", "its timestamp, ms, coordinator clock"),
    long("start_ms", "start of the transaction, ms, coordinator clock; -1 or null for none"),
    integer("leader_epoch", "partition leader epoch of the batch"),
    string("transactional_id", "transactional id"),
    long("producer_id", "producer id"),
    integer("marker_epoch", "producer epoch of the Prepare record and of its markers"),
    integer("data_epoch", "producer epoch of the transaction's data"),
    boolean("commit", "true for PrepareCommit, false for PrepareAbort"),
    boolean("transaction_version_2", "decided under transaction.version 2"),
    boolean("may_have_raised", "it may have raised the epoch of its data, and does not tell that"),
    boolean("shares_epoch", "other transactions may have data of the same producer epoch"),
    array("partitions", StringType(), "partitions in the record, as topic-partition; null: none"),
    long("complete_offset", "offset of the Complete record that follows; null for none"),
    long("complete_timestamp", "its timestamp, ms; null for none"),
    integer("complete_leader_epoch", "partition leader epoch of its batch; null if it tells none"),
    boolean("pending", "the Prepare record is the last record of its transactional id"),
    long(
        "gave_way_at",
        "offset of the next record of its id, if that shows that the decision had no effect: the "
        "transaction goes on, or ended with the other outcome; else null",
    ),
    long(
        "went_on_at",
        "offset of the next record of its id, if that is of no more of the transaction: it was "
        "carried out, and its Complete record is lost; else null",
    ),
    long("went_on_ms", "timestamp of that record, ms; null for none"),
)
"""What a Prepare record decided."""

FOLDED_TYPE = table(
    long("records", "records in the block of records"),
    binary("records_block", "Arrow stream of FOLDED_RECORD rows in the order of the log"),
    long("decisions", "decisions in the other block"),
    binary("decisions_block", "Arrow stream of DECISION rows in the order of the log"),
)

COORDINATOR_TYPE = table(
    long("records", "records of the split that can be decoded"),
    long("unevaluated", "those that no check reads: folded, or found regular by the decoder"),
    long("alive_ms", "time in which the split was written, ms; see TXN_LOG_RECORD_TYPE"),
    long("latest_timestamp", "newest timestamp, ms"),
    long("first_timestamp", "timestamp of its first record, ms; null where it cannot be decoded"),
    long("last_timestamp", "timestamp of its last record, ms; null where it cannot be decoded"),
    long("ids", "distinct transactional ids in it"),
    long("misplaced_ids", "those that hash to another one of the `coordinator_partitions` (SPLIT)"),
    long(
        "hash_divisor",
        "greatest divisor of hash minus partition of all others: numbers of partitions with which"
        " they lie here divide it; 0: all do",
    ),
    long(
        "unreadable_at",
        "offset of the last record that cannot be decoded, of its batch where"
        " that cannot; null for none",
    ),
    long("nameless_at", "the same of records whose transactional id cannot be decoded"),
)
"""What a split of `__transaction_state` adds to the ones before it."""

ABORTED_ENTRY = table(
    integer("version", "version field, 0"),
    long("producer_id", "producer id"),
    long("first_offset", "first offset of the transaction"),
    long("last_offset", "offset of the ABORT marker"),
    long("last_stable_offset", "last stable offset when the transaction was aborted"),
    long("position", "byte position of the entry; of a text its line"),
    integer("length", "size of the entry, bytes; of a text lines"),
    long("previous_last", "last_offset of the entry before it in its file; null for none"),
)

ABORTED_TYPE = table(
    long("number", "entries in the block"),
    long("newest", "largest last_offset among them"),
    binary("entries", "Arrow stream of ABORTED_ENTRY rows in the order of the file"),
)

GROUP_FAULT_TYPE = table(
    string("fault", "undecodable or misplaced"),
    string("group", "group; null where the key cannot be decoded"),
    string("key", "of a misplaced group, topic-partition of a commit; null: of the group's record"),
    boolean("alive", "of a misplaced group: whether the last record of the key has a value"),
    long("offset", "offset of the record; of a misplaced group the key's first in the split"),
    long("position", "byte position of its batch"),
    integer("length", "size of its batch, bytes"),
    string("error", "why key or value could not be decoded; null for a misplaced group"),
)

COMMITTED_KEY = (
    string("group", "group"),
    string("committed_topic", "topic of the committed partition"),
    integer("committed_partition", "number of the committed partition"),
)

COMMIT_EVENT = table(
    long("record_offset", "offset of the commit's record"),
    long("effective_offset", "where it took effect: its own offset, or that of the COMMIT marker; "
         "null while pending"),
    long("committed_offset", "the offset committed; null for a tombstone"),
    long("producer_id", "producer id; -1 for a plain commit"),
    integer("producer_epoch", "producer epoch; -1 for a plain commit"),
    integer("file_index", "file of the record"),
    long("position", "byte position of its batch"),
    integer("length", "size of its batch, bytes"),
    long("timestamp", "largest timestamp of its batch: of the group coordinator's clock, ms"),
)  # fmt: skip
"""An offset commit that took effect or is pending."""

OFFSET_COMMIT = table(
    *COMMITTED_KEY,
    column("commit", COMMIT_EVENT, "the commit"),
    integer("ordinal", "its number among those of its key that took effect in the split, from 0"),
    integer("number", "how many of its key took effect in the split"),
)
"""A commit near an end of its split: what stands beside it may lie in another one."""

LATE_COMMIT_TYPE = table(
    *COMMITTED_KEY,
    column("replaced", COMMIT_EVENT, "the commit before"),
    column("late", COMMIT_EVENT, "the transactional one that replaced it with a lower offset"),
    column("following", COMMIT_EVENT, "the next one, which is higher than the first"),
)

COMMITS_TYPE = table(
    long("number", "commits in the block"),
    long("transactional", "transactional ones among them"),
    binary("commits", "Arrow stream of OFFSET_COMMIT rows"),
)

BLOCK_TYPE = table(
    long("first_offset", "first offset of the block, inclusive"),
    long("end_offset", "first offset after the block"),
    long("digest", "fingerprints of its batches in this split, combined by exclusive or"),
    long("batches", "its batches in this split"),
    long("first_position", "byte position of the first of them"),
    long("end_position", "byte position after the last of them"),
)
"""A block of offsets of a partition that the dump has in several copies."""

RETAINED_RECORDS_TYPE = table(
    string("compared", "record, outcome, key, or unread: udfs/arrow/retained_records.py"),
    long("bucket", "what may be compared with each other is in buckets of the same number"),
    long("number", "records; where unread, batches and stretches of damage"),
    binary(
        "retained_records",
        "an Arrow stream of one of udfs.arrow.retained_records.VIEWS; null where unread",
    ),
)
"""What the cleaner left of a partition that the dump has in several copies."""

SIDE_FAULT_TYPE = table(
    string("side_kind", "file kind of schemas/dump_file.py"),
    string("fault", "how an entry fails: udfs/wire/side_files/index_rules.py and leader_epochs.py"),
    integer("side_file_index", "the side file: row of dump_file, numbered by collect"),
    integer("ordinal", "number of its entry, from 0"),
    long("entry_position", "byte position of the entry; null for a checkpoint"),
    integer("entry_bytes", "size of an entry of the file; null for a checkpoint"),
    long("entry_offset", "offset of the entry"),
    long("entry_value", "the value of the entry: leader epoch, byte position, or timestamp, ms"),
    integer("leader_epoch", "partition leader epoch of the batches that contradict"),
    long("newest_epoch", "of a leader-epoch-checkpoint: epoch of its last entry"),
    integer("batches", "neighbouring batches of the split that contradict the entry"),
    long("log_offset", "base offset of the first of them, or of the contradicting batch"),
    long("log_timestamp", "largest timestamp of that batch, ms"),
    long("position", "byte position of that batch"),
    integer("length", "size of that batch, bytes"),
)
"""An entry of a side file that contradicts the batches of its log, or the entries around it."""

METADATA_TYPE = table(
    string("fact", "kind of fact: a class name of udfs/wire/metadata/metadata_log.py; or Assigned"),
    long("offset", "offset of the record"),
    long("position", "byte position of its batch"),
    integer("length", "size of its batch, bytes"),
    string("name", "topic name; or what is configured, empty for all brokers"),
    string("topic_id", "topic id as in partition.metadata"),
    string("option", "name of an option; or why a record cannot be read"),
    string("value", "value of the option, null where it was taken back; of Assigned, the replicas"),
    long("number", "broker, partition, next producer id, or type of the resource that is "
         "configured"),
)  # fmt: skip
"""A fact of `__cluster_metadata`; what is null does not belong to its kind."""

PRODUCER_STATES_TYPE = table(
    long("start_offset", "offset of the producer snapshot before the range, or where the log "
         "begins; null where that is the offset of the snapshot itself"),
    long("end_offset", "offset of the producer snapshot after the range"),
    boolean("of_snapshot", "the states that the snapshot holds; else what batches before it "
            "changed"),
    boolean("in_text", "of a snapshot: in a text, which does not say how many states there are"),
    boolean("of_log_start", "of a snapshot: start_offset is 0, where the log begins"),
    long("next_offset", "offset of the snapshot after this one; null for none, and for batches"),
    long("segment_base", "base offset of the segment"),
    long("left_out", "batches of the split that are left out, as faults make them unreliable"),
    boolean("below_log_start", "of batches: they lie below the log start; null for a snapshot"),
    array("doubted", LongType(), "producer ids of those batches in the range; null for none"),
    long("number", "producers in the block"),
    binary("states", "Arrow stream of udfs/wire/side_files/producer_state.py STATE"),
)  # fmt: skip
"""States of producers, or their changes, in the range of offsets that ends with a snapshot."""

SNAPSHOT_FAULT_TYPE = table(
    string("reason", "stable name of the fault of a producer snapshot"),
    string("detail", "what is stored, and what was expected"),
    long("position", "byte position of the evidence"),
    long("size", "size of that, bytes"),
    boolean("newest", "no snapshot of the partition has a higher offset"),
)

OPEN_IN_SNAPSHOT = table(
    long("producer_id", "producer id"),
    integer("producer_epoch", "producer epoch"),
    long("first_offset", "first offset of its open transaction"),
)
"""A transaction that a producer snapshot holds open."""

MISSING = table(
    long("first", "first offset that is missing"),
    long("end", "first offset that is present after them"),
    boolean(
        "lost",
        "a batch is there that may be a marker or a record of the coordinator, but not what "
        "it did; not the cleaner's work",
    ),
    boolean("emptied", "a marker that the cleaner emptied: its batch is there, without a record"),
    long("producer_id", "producer id of that batch or marker; null: of several, or of none"),
    integer("producer_epoch", "its producer epoch; null as above"),
)

SET_BACK = table(
    long("to_ms", "the earliest moment of a broker's clock behind a later one"),
    long("from_ms", "the latest moment in front of it"),
)

JOINED_SET_BACK = table(
    *SET_BACK.fields,
    long(
        "by_ms", "how far a clock went back within at most; less than all where times lie between"
    ),
)

CLOCK_TYPE = table(
    long("first", "timestamp by a broker's clock of the first batch of magic 2 that has one"),
    long("first_offset", "last offset of that batch"),
    long("lowest", "smallest timestamp by a broker's clock"),
    long("last", "the one of the last batch that has one"),
    long("last_replicated", "the same below the high watermark; null for none"),
    array("set_backs", SET_BACK, "where the clock was set back"),
)
"""The timestamps by a broker's clock in the order of the log, ms (`udfs.rules.clock`)."""

SUMMARY_TYPE = table(
    long("length", "bytes of the split or file that were there to read"),
    binary("digests", "SHA-256 of each MiB of the split, joined"),
    boolean("shrank", "the file was shorter than when it was listed, a closed one longer, or it "
            "could not be read"),
    long("first_found", "byte position of the first batch that starts in the split; null: none"),
    long("end", "byte position where the chain of batches arrived; null: inside damage"),
    long("batches", "batches; a message of magic 0 or 1 is one"),
    long("records", "records, by the headers of batches; those in wrappers of magic 0 and 1, too"),
    long("first_offset", "base offset of the first batch; null: a wrapper of magic 0 or 1 that "
         "cannot be read"),
    long("last_offset", "largest last offset, inclusive"),
    long("final_last_offset", "last offset of the last batch, inclusive"),
    long("final_position", "byte position of the last batch"),
    integer("final_length", "size of the last batch, bytes"),
    integer("first_leader_epoch", "partition leader epoch of the first batch"),
    integer("final_leader_epoch", "partition leader epoch of the last batch"),
    integer("first_length", "size of the first batch, bytes"),
    long("lowest_offset", "smallest base offset"),
    long("lowest_position", "byte position of the batch with the smallest base offset"),
    long("highest_position", "byte position of the batch with the largest last offset"),
    long("broker_timestamp", "largest timestamp by a broker's clock, ms; null: none seen"),
    long("newest_timestamp", "largest timestamp of a batch, by any clock, ms"),
    long("replicated_timestamp", "the same below the high watermark, where that is known"),
    column("clock", CLOCK_TYPE, "in which order these stand; null: none seen"),
    boolean("cleaner_traces", "a batch has a delete horizon, or lacks some or all of its records"),
    long("thinned_to", "last offset of the last batch of data that lacks records; null: none"),
    boolean("reaches_next", "a batch has an offset at or after the start of the next segment"),
    long("faults_left_out", "only counted: discontinuities of a kind after the first 10,000, and "
         "entries of a side file that contradict others or the batches after the first 1,000"),
    array("missing", MISSING, "offsets that are missing between batches, whatever took them; of "
          "__transaction_state also those of batches that lack records; emptied markers apart"),
    long("absent", "how many offsets are missing between its batches, what they lack among them "
         "(`udfs.rules.absence.running`)"),
    long("last_legacy_offset", "largest offset of a message of magic 0 or 1; null: none seen"),
    long("skipped_group_records", "records of __consumer_offsets of newer groups, not decoded"),
    long("placed_records", "records of groups that belong to their partition"),
    long("misplaced_records", "records of groups that belong to another partition"),
    long("group_divisor", "greatest common divisor of what the number of partitions must divide; "
         "0 for no group"),
    long("side_file_entries", "entries of an index or a leader-epoch-checkpoint"),
    boolean("starts_log", "a producer snapshot from which the replay begins; null for other files"),
    array("open_in_snapshot", OPEN_IN_SNAPSHOT, "transactions that the newest producer snapshot of "
          "a partition holds open; null for other files"),
    long("trailing_bytes", "bytes of a cut last entry of a .txnindex"),
    column("coordinator", COORDINATOR_TYPE, "of a split of __transaction_state with records"),
    string("error", "why the file could not be read; null: it was"),
)  # fmt: skip

LOG_ROW = table(
    column("kind", IntegerType(), "which columns are filled: RUN, FRAME, FAILURE, …", False),
    integer("partition_index", "partition of one broker, numbered by collect"),
    integer("file_index", "row of dump_file, numbered by collect"),
    long("split_start", "byte position where the split starts"),
    *RUN_COLUMNS,
    column("frame", FRAME_TYPE, "a batch with a fault"),
    column("failure", FAILURE_TYPE, "bytes without a valid batch"),
    column(
        "offset_discontinuity",
        OFFSET_DISCONTINUITY_TYPE,
        "two batches whose offsets or leader epochs do not follow",
    ),
    column("txn_log_record", TXN_LOG_RECORD_TYPE, "a record of __transaction_state"),
    column("aborted", ABORTED_TYPE, "a block of entries of a .txnindex"),
    column("summary", SUMMARY_TYPE, "one a split or file"),
    column("regular", REGULAR_TYPE, "a block of regular transactions"),
    column("group_fault", GROUP_FAULT_TYPE, "a fault of a record of __consumer_offsets"),
    column("pending", OFFSET_COMMIT, "a transactional offset commit without a marker in its split"),
    column("late_commit", LATE_COMMIT_TYPE, "a committed offset that went back for one commit"),
    column("commits", COMMITS_TYPE, "a block of offset commits near the ends of a split"),
    column("block", BLOCK_TYPE, "a block of offsets, to be compared with other replicas"),
    column("folded", FOLDED_TYPE, "records of __transaction_state that were folded away"),
    column("metadata", METADATA_TYPE, "a fact in a record of __cluster_metadata"),
    column("side_fault", SIDE_FAULT_TYPE, "an entry of a side file that contradicts the log"),
    column("producer_states", PRODUCER_STATES_TYPE, "a block of states of producers"),
    column("snapshot_fault", SNAPSHOT_FAULT_TYPE, "a producer snapshot that cannot be used"),
    column("retained_records", RETAINED_RECORDS_TYPE, "a block of records that the cleaner left"),
)

BESIDE = table(
    string("kind", "file kind of schemas/dump_file.py"),
    integer("file_index", "see LOG_ROW"),
    string("path", "path of the file below root"),
    long("size", "size when it was listed, bytes"),
    long("first_byte", "of a section of a text: where it begins; else null"),
    long("first_line", "of such a section: number of its first line, from 1"),
)
"""A side file that the task which decodes a segment reads too."""

SPLIT = table(
    integer("partition", "partition; null for files outside partitions"),
    integer("topic_partitions", "partition count of __consumer_offsets, as far as the dump tells"),
    integer(
        "coordinator_partitions",
        "the same of __transaction_state; null where the dump does "
        "not hold all numbers up to its highest",
    ),
    integer("partition_index", "see LOG_ROW; null for files outside partitions"),
    integer("file_index", "see LOG_ROW"),
    string("root", "folder the file lies in, or URI of the dump; not to be shown"),
    string("path", "path of the file below root"),
    string("kind", "file kind of schemas/dump_file.py"),
    string("topic", "topic of the partition"),
    long("file_size", "size of the file when it was listed, bytes"),
    long("base_offset", "base offset of the segment"),
    long("next_base_offset", "base offset of the next segment of the partition; null for none"),
    long("cleaned_below", "offsets below this were cleaned; 0 where nothing is known"),
    long("high_watermark", "of the partition, exclusive; null where no checkpoint has it"),
    boolean("single_copy", "the dump has the partition only once"),
    array(
        "cuts",
        LongType(),
        "offsets at which blocks for the comparison with replicas end, in "
        "order; null where there is nothing to compare with",
    ),
    long(
        "cleaner_reach",
        "offsets below this were cleaned in this or another copy, and are compared "
        "record by record; null where there is nothing to compare with",
    ),
    integer("buckets", "number of buckets for the keys and producers of the partition"),
    array("beside", BESIDE, "side files to be held against the batches; null for none"),
    long("log_base", "base offset of the first segment of the partition; null for none"),
    long("log_start", "first offset that a consumer may read, as far as files tell; null for none"),
    array(
        "snapshots",
        LongType(),
        "offsets at which a producer snapshot, or offset 0, tells the state of producers: those in "
        "the file with the nearest before and after, in order",
    ),
    long("start", "first byte of the split"),
    long("length", "bytes of the split"),
    long("first_byte", "of a text of kafka-dump-log: byte where its section begins; else null"),
    long("first_line", "of such a section: number of its first line, from 1"),
    boolean("with_records", "of such a section: record lines are printed"),
    boolean("decoded", "of such a section: by a decoder of a coordinator's log"),
)
