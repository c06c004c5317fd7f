"""The context `snapshot`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a producer snapshot that cannot be used, or a producer whose state in it contradicts the log"
COLUMNS = """
    fault string, snapshot_offset bigint, producer_id bigint, producer_epoch int, expected
    string, found string, number bigint, log_position bigint, log_length bigint, lacks_head
    boolean, newest boolean, detail string, reported_before boolean, file string, log_file
    string, offset_first bigint, offset_last bigint, byte_position bigint, byte_length bigint,
    transactional_id string, broker int, topic string, partition int, has_log_start_checkpoint
    boolean, clean_shutdown boolean, replicated_below bigint
"""
