"""The context `snapshot`: what one row is, and its columns as Spark SQL declares them."""

from schemas.contexts.of_partition import OF_PARTITION

ROW = "a producer snapshot that cannot be used, or a producer whose state in it contradicts the log"
COLUMNS = f"""
    partition_index int, fault string, start_offset bigint, snapshot_offset bigint, file_index
    int, position bigint, length bigint, producer_id bigint, producer_epoch int, expected
    string, found string, number bigint, log_file_index int, log_position bigint, log_length
    bigint, lacks_head boolean, newest boolean, detail string, reported_before boolean,
    file string, log_file string, offset_first bigint, offset_last bigint, byte_position bigint,
    byte_length bigint, transactional_id string,{OF_PARTITION}"""
