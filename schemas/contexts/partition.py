"""The context `partition`: what one row is, and its columns as Spark SQL declares them."""

from schemas.contexts.of_partition import OF_PARTITION

ROW = "a copy of a partition with its checkpoints"
COLUMNS = f"""
    partition_index int, batches bigint, records bigint, last_offset_seen bigint, offset_first
    bigint, offset_last bigint, file string, byte_position bigint, byte_length bigint,
    producer_id bigint, producer_epoch int, transactional_id string,{OF_PARTITION}"""
