"""The context `offset_commit`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a transactional offset commit that replaced a higher one, until the next commit"
COLUMNS = """
    group string, committed_topic string, committed_partition int, topic string, partition int,
    broker int, replicated_below bigint, file string, replaced_file string, following_file string,
    same_producer boolean, missing_between boolean, offset_first bigint, offset_last bigint,
    producer_id bigint, producer_epoch int, byte_position bigint, byte_length int,
    replaced_position bigint, replaced_length int, replaced_committed_offset bigint,
    late_committed_offset bigint, late_effective_offset bigint, following_position bigint,
    following_length int, following_committed_offset bigint, following_effective_offset bigint,
    transactional_id string
"""
