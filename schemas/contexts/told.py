"""The context `told`: what one row is, and its columns as Spark SQL declares them."""

from schemas.contexts.of_partition import OF_PARTITION

ROW = "a difference between what a leader replied about a partition and its fetched log"
COLUMNS = f"""
    partition_index int, fault string, answering_broker int, told_high_watermark bigint,
    told_stable bigint, producer_id bigint, producer_epoch int, told_open bigint, log_open bigint,
    begins bigint, log_ahead boolean, known_by_marker boolean, passed boolean, of_earlier_run
    boolean, expected string, found string, file_index int, position bigint, length bigint, file
    string, offset_first bigint, offset_last bigint, byte_position bigint, byte_length bigint,
    transactional_id string,{OF_PARTITION}"""
