"""The context `coordinator_copies`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a partition of __transaction_state of which the dump has several copies"
COLUMNS = """
    partition int, difference struct<offset:bigint, one:struct<offset:bigint, broker:int,
    partition_index:int, file_index:int, position:bigint, length:int, leader_epoch:int,
    transactional_id:string, producer_id:bigint, producer_epoch:int, clean_shutdown:boolean,
    high_watermark_known:boolean>, other:struct<offset:bigint, broker:int,
    partition_index:int, file_index:int, position:bigint, length:int, leader_epoch:int,
    transactional_id:string, producer_id:bigint, producer_epoch:int, clean_shutdown:boolean,
    high_watermark_known:boolean>>, loss struct<offset:bigint, one:struct<offset:bigint,
    broker:int, partition_index:int, file_index:int, position:bigint, length:int,
    leader_epoch:int, transactional_id:string, producer_id:bigint, producer_epoch:int,
    clean_shutdown:boolean, high_watermark_known:boolean>, lacking:struct<broker:int,
    clean_shutdown:boolean, high_watermark_known:boolean, may_have_expired:boolean>>, one
    struct<offset:bigint, broker:int, partition_index:int, file_index:int, position:bigint,
    length:int, leader_epoch:int, transactional_id:string, producer_id:bigint,
    producer_epoch:int, clean_shutdown:boolean, high_watermark_known:boolean>, other
    struct<offset:bigint, broker:int, partition_index:int, file_index:int, position:bigint,
    length:int, leader_epoch:int, transactional_id:string, producer_id:bigint,
    producer_epoch:int, clean_shutdown:boolean, high_watermark_known:boolean>, other_broker
    int, may_have_expired boolean, contradictions bigint, file string, other_file string,
    topic string, broker int, offset_first bigint, offset_last bigint, producer_id bigint,
    producer_epoch int, transactional_id string, byte_position bigint, byte_length int,
    other_position bigint, other_length int, both_high_watermarks_known boolean, both_clean
    boolean
"""
