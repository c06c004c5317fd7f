"""The context `replicas`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a difference between copies of a partition on several brokers"
COLUMNS = """
    difference string, topic string, partition int, broker int, other_broker int, both_clean
    boolean, both_high_watermarks_known boolean, topic_known boolean, offset_first bigint,
    offset_last bigint, byte_position bigint, byte_length bigint, other_position bigint,
    other_length bigint, one_text string, other_text string, equal_again boolean, pairs string,
    between_segments boolean, clean boolean, may_be_cleaned boolean, may_be_fetched_cleaned boolean,
    cleaning_unknown boolean, compacted boolean, never_compacted boolean, producer_id
    bigint, marker_offset bigint, contradicting bigint, may_be_missing boolean, file string,
    other_file string, producer_epoch int, transactional_id string
"""
