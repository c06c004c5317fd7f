"""The context `producer_block`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a block of producer ids that overlaps one allocated before it"
COLUMNS = """
    file string, broker int, partition int, offset_first bigint, byte_position bigint,
    byte_length bigint, next_producer_id bigint, previous_file string, previous_offset bigint,
    previous_position bigint, previous_length bigint, previous_next_producer_id bigint, topic
    string, offset_last bigint, producer_id bigint, producer_epoch int, transactional_id string
"""
