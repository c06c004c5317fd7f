"""The context `group_record`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a fault in the records of __consumer_offsets"
COLUMNS = """
    fault string, group string, offset bigint, error string, topic string, partition int, broker
    int, replicated_below bigint, file string, some_number_fits boolean, most_fit boolean,
    producer_id bigint, producer_epoch int, transactional_id string, offset_first bigint,
    offset_last bigint, byte_position bigint, byte_length int
"""
