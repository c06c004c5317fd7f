"""The context `told`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a difference between what a leader replied about a partition and its fetched log"
COLUMNS = """
    fault string, answering_broker int, told_high_watermark bigint, producer_id bigint,
    producer_epoch int, begins bigint, log_ahead boolean, known_by_marker boolean, passed
    boolean, of_earlier_run boolean, expected string, found string, file string, offset_first
    bigint, offset_last bigint, byte_position bigint, byte_length bigint, transactional_id
    string, broker int, topic string, partition int, first_base bigint, compacted_once boolean,
    log_start_offset bigint, data_end_offset bigint, cleaning string, missing
    array<struct<first:bigint, end:bigint, producer_id:bigint>>, emptied
    array<struct<first:bigint, end:bigint, producer_id:bigint, producer_epoch:int>>
"""
