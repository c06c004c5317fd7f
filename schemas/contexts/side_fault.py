"""The context `side_fault`: what one row is, and its columns as Spark SQL declares them."""

ROW = "an entry of a side file that contradicts the log"
COLUMNS = """
    side_kind string, fault string, ordinal int, entry_offset bigint, entry_value bigint,
    leader_epoch int, newest_epoch bigint, batches bigint, log_offset bigint, log_timestamp
    bigint, position bigint, length int, side_file string, log_file string, segment_end bigint,
    offset_first bigint, offset_last bigint, file string, byte_position bigint, byte_length int,
    side_position bigint, side_length bigint, producer_id bigint, producer_epoch int,
    transactional_id string, broker int, topic string, partition int, checkpoint_high_watermark
    bigint, checkpoint_recovery_point bigint, clean_shutdown boolean, replicated_below bigint,
    cleaning string, first_base bigint
"""
