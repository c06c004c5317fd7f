"""The context `txn_index_entry`: what one row is, and its columns as Spark SQL declares them."""

ROW = "an entry of a .txnindex and its ABORT marker, or only one of the two"
COLUMNS = """
    producer_id bigint, marker_offset bigint, producer_epoch int, marker_position bigint,
    marker_length int, first_offset bigint, first_kept bigint, records bigint,
    last_stable_offset bigint, entry struct<file_index:int, position:bigint, length:int,
    version:int, first:bigint, last:bigint, last_stable_offset:bigint, segment_base:bigint,
    previous_last:bigint>, next_segment_base bigint, newest_entry bigint, side_files_missing
    boolean, segment_end bigint, entry_file string, marker_file string, offset_first bigint,
    offset_last bigint, file string, byte_position bigint, byte_length int, entry_position
    bigint, entry_length int, marker_missing boolean, data_missing boolean, start_missing
    boolean, transactional_id string, broker int, topic string, partition int,
    checkpoint_high_watermark bigint, checkpoint_log_start bigint, checkpoint_recovery_point
    bigint, has_log_start_checkpoint boolean, clean_shutdown boolean, cleaned_below bigint,
    first_base bigint, newest_base bigint, fetched boolean, alone_in_cluster boolean,
    log_start_offset bigint, log_end_offset bigint, data_end_offset bigint, replicated_below bigint,
    start_known boolean, cleaning string, first_pass_possible boolean, missing
    array<struct<first:bigint, end:bigint, producer_id:bigint>>, emptied
    array<struct<first:bigint, end:bigint, producer_id:bigint, producer_epoch:int>>
"""
