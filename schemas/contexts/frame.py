"""The context `frame`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a batch with a fault, or a byte range without a valid batch"
COLUMNS = """
    offset_first bigint, offset_last bigint, producer_id bigint, producer_epoch int,
    byte_position bigint, byte_length bigint, fault_mask bigint, count int, attributes int,
    base_sequence int, base_timestamp bigint, max_timestamp bigint, found_value bigint,
    reason_of_failure string, previous_last_offset bigint, next_offset bigint, file string,
    next_base_offset bigint, active boolean, tail boolean, complete_frame boolean,
    transactional_id string, broker int, topic string, partition int, checkpoint_high_watermark
    bigint, checkpoint_recovery_point bigint, clean_shutdown boolean, cleaned_below bigint,
    first_base bigint, kraft_only boolean, replicated_below bigint, cleaning string, missing
    array<struct<first:bigint, end:bigint, producer_id:bigint>>
"""
