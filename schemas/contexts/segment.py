"""The context `segment`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a segment with its neighbours, side files and checkpoints"
COLUMNS = """
    base_offset bigint, next_base_offset bigint, file string, lowest_offset bigint,
    highest_offset bigint, offset_first bigint, offset_last bigint, byte_position bigint,
    byte_length int, producer_id bigint, producer_epoch int, transactional_id string, broker
    int, topic string, partition int, clean_shutdown boolean, first_base bigint, replicated_below
    bigint, last_legacy_offset bigint
"""
