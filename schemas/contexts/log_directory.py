"""The context `log_directory`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a log directory of the dump, with its cluster id and that of most others"
COLUMNS = """
    file string, byte_length bigint, broker int, cluster_id string, usual_cluster_id string,
    byte_position bigint, topic string, partition int, offset_first bigint, offset_last bigint,
    producer_id bigint, producer_epoch int, transactional_id string
"""
