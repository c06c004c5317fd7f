"""The context `txn_index_entry`: what one row is, and its columns as Spark SQL declares them."""

from schemas.contexts.of_partition import OF_PARTITION

ROW = "an entry of a .txnindex and its ABORT marker, or only one of the two"
COLUMNS = f"""
    marker_file_index int, partition_index int, producer_id bigint, marker_offset bigint,
    producer_epoch int, marker_position bigint, marker_length int, first_offset bigint,
    first_kept bigint, records bigint, last_stable_offset bigint, entry struct<file_index:int,
    position:bigint, length:int, version:int, first:bigint, last:bigint,
    last_stable_offset:bigint, segment_base:bigint, previous_last:bigint>, segment_partition
    int, segment_base bigint, next_segment_base bigint, batches bigint, marker_segment_end bigint,
    newest_entry bigint, side_files_missing boolean, segment_end bigint, entry_file string,
    marker_file string, offset_first bigint,
    offset_last bigint, file string, byte_position bigint, byte_length int, entry_position
    bigint, entry_length int, marker_missing boolean, data_missing boolean, start_missing
    boolean, transactional_id string,{OF_PARTITION}"""
