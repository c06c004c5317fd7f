"""The context `producer`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a producer id over all partitions and the coordinator's log"
COLUMNS = """
    producer_id bigint, transactional_place struct<first_offset:bigint, topic:string,
    partition:int, broker:int, file_index:int, position:bigint, length:int, producer_epoch:int>,
    plain_place struct<first_offset:bigint, topic:string, partition:int, broker:int,
    file_index:int, position:bigint, length:int, producer_epoch:int>, owner
    struct<timestamp:bigint, file_index:int, position:bigint, length:int,
    transactional_id:string>, unallocated struct<first_offset:bigint, topic:string,
    partition:int, broker:int, file_index:int, position:bigint, length:int, producer_epoch:int,
    unallocated_from:bigint, metadata_up_to_ms:bigint>, file string, transactional_file string,
    owner_file string, topic string, partition int, broker int, offset_first bigint, offset_last
    bigint, producer_epoch int, byte_position bigint, byte_length int, transactional_position
    bigint, transactional_length int, owner_position bigint, owner_length int, transactional_id
    string, unallocated_from bigint, metadata_later boolean
"""
