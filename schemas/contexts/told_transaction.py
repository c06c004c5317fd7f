"""The context `told_transaction`: what one row is, and its columns as Spark SQL declares them."""

ROW = "what a coordinator replied about a transactional id, and the last record of that id"
COLUMNS = """
    transactional_id string, partition int, answering_broker int, told_producer_id bigint,
    told_state string, broker int, producer_id bigint, producer_epoch int, state string, quiet
    boolean, topic string, offset_first bigint, offset_last bigint, file string, byte_position
    bigint, byte_length bigint
"""
