"""The context `side_fault`: what one row is, and its columns as Spark SQL declares them."""

from schemas.contexts.of_partition import OF_PARTITION

ROW = "an entry of a side file that contradicts the log"
COLUMNS = f"""
    side_file_index int, partition_index int, side_kind string, fault string, ordinal int,
    entry_position bigint, entry_bytes int, entry_offset bigint, entry_value bigint,
    leader_epoch int, newest_epoch bigint, batches bigint, log_offset bigint, log_timestamp
    bigint, position bigint, length int, file_index int, records bigint, side_file string,
    log_file string, size_bytes bigint, segment_end bigint, offset_first bigint, offset_last
    bigint, file string, byte_position bigint, byte_length int, side_position bigint,
    side_length bigint, producer_id bigint, producer_epoch int,
    transactional_id string,{OF_PARTITION}"""
