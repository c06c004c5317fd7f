"""The context `torn_epoch`: what one row is, and its columns as Spark SQL declares them."""

ROW = "an aborted transaction whose producer epoch was committed in another partition"
COLUMNS = """
    producer_id bigint, producer_epoch int, first_offset bigint, marker_offset bigint,
    replicated_below bigint, committed struct<partition_index:int, producer_id:bigint,
    producer_epoch:int, first_offset:bigint, last_offset:bigint, first_file_index:int,
    first_position:bigint, first_length:int, marker_offset:bigint, marker_epoch:int,
    marker_commit:boolean, last_timestamp:bigint, marker_timestamp:bigint, previous_epoch:int,
    place:string, replicated_below:bigint>, topic string, partition int, broker int,
    transactional_id string, file string, committed_file string, offset_first bigint,
    offset_last bigint, byte_position bigint, byte_length int, committed_position bigint,
    committed_length int, committed_place string, committed_first bigint, committed_marker
    bigint, committed_replicated_below bigint
"""
