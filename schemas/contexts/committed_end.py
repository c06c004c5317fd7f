"""The context `committed_end`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a partition that ends below the newest committed offset of a group"
COLUMNS = """
    topic string, partition int, broker int, log_end_offset bigint, committed_offset bigint, group
    string, groups bigint, created_again boolean, late_enough boolean, lost_to bigint, offset_first
    bigint, offset_last bigint, file string, byte_position bigint, byte_length int, producer_id
    bigint, producer_epoch int, transactional_id string
"""
