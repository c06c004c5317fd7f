"""The context `segment`: what one row is, and its columns as Spark SQL declares them."""

from schemas.contexts.of_partition import OF_PARTITION

ROW = "a segment with its neighbours, side files and checkpoints"
COLUMNS = f"""
    partition_index int, file_index int, base_offset bigint, next_base_offset bigint, low
    struct<lowest_offset:bigint, lowest_position:bigint, first_length:int>, high
    struct<last_offset:bigint, highest_position:bigint, final_length:int>, batches bigint,
    records bigint, file string, lowest_offset bigint, highest_offset bigint, offset_first
    bigint, offset_last bigint, byte_position bigint, byte_length int, producer_id bigint,
    producer_epoch int, transactional_id string,{OF_PARTITION}"""
