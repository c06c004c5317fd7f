"""The context `txn_index_entry`: what one row is, and its columns as Spark SQL declares them."""

ROW = "an entry of a .txnindex and its ABORT marker, or the one of the two that is there"
COLUMNS = """
    marker_file_index int, partition_index int, producer_id bigint, marker_offset bigint,
    producer_epoch int, marker_position bigint, marker_length int, first_offset bigint,
    first_kept bigint, records bigint, last_stable_offset bigint, entry struct<file_index:int,
    position:bigint, length:int, version:int, first:bigint, last:bigint,
    last_stable_offset:bigint, segment_base:bigint, previous_last:bigint>, segment_partition
    int, segment_base bigint, next_segment_base bigint, broker int, topic string, partition int,
    checkpoint_high_watermark bigint, checkpoint_log_start bigint, checkpoint_recovery_point
    bigint, cleaner_checkpoint bigint, has_cleaner_checkpoint boolean, clean_shutdown boolean,
    copied_at_ms bigint, cleaned_below bigint, coordinator_topic boolean, internal_compacted
    boolean, first_base bigint, newest_base bigint, replica_set int, comparable_from bigint,
    cleaner_reach bigint, topic_id string, metadata_file int, topic_partitions int, created_once
    boolean, never_compacted boolean, unallocated_from bigint, cluster_id string,
    metadata_up_to_ms bigint, log_start_offset bigint, log_end_offset bigint, data_end_offset
    bigint, high_watermark bigint, stable_below bigint, from_beginning boolean, start_known
    boolean, cleaning string, first_pass_possible boolean, cleaner_traces boolean, missing
    array<struct<first:bigint, end:bigint>>, holes array<struct<first:bigint, end:bigint>>,
    broker_timestamp bigint, complete_up_to_ms bigint, outlasted boolean, alone boolean, emptied
    array<struct<first:bigint, end:bigint>>, last_legacy_offset bigint, earlier_end bigint,
    newest_snapshot bigint, open_in_snapshot array<struct<producer_id:bigint,
    producer_epoch:int, first_offset:bigint>>, single_broker boolean, alone_in_cluster boolean,
    with_kraft boolean, batches bigint, ids bigint, misplaced_ids bigint, newest_entry bigint,
    side_files_missing boolean, entry_file string, marker_file string, offset_first bigint,
    offset_last bigint, file string, byte_position bigint, byte_length int, entry_position
    bigint, entry_length int, marker_missing boolean, data_missing boolean, start_missing
    boolean, transactional_id string
"""
