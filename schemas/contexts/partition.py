"""The context `partition`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a copy of a partition with its checkpoints"
COLUMNS = """
    log_end_seen bigint, offset_first bigint, offset_last bigint, file string, byte_position
    bigint, byte_length bigint, producer_id bigint, producer_epoch int, transactional_id string,
    broker int, topic string, partition int, checkpoint_high_watermark bigint,
    checkpoint_log_start bigint, checkpoint_recovery_point bigint, clean_shutdown boolean,
    log_start_offset bigint, lacking_from bigint, nowhere_last bigint
"""
