"""The context `coordinator_step`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a record of a transactional id in __transaction_state and the one before it"
COLUMNS = """
    transactional_id string, offset bigint, leader_epoch int, producer_id bigint, producer_epoch
    int, timeout_ms int, status int, partitions array<string>, last_update_ms bigint, start_ms
    bigint, next_producer_id bigint, client_transaction_version int, unknown_tag bigint,
    batch_shape string, error string, ordinal bigint, new_tag boolean, state int, previous
    struct<offset:bigint, ordinal:bigint, state:int, tombstone:boolean, producer_id:bigint,
    producer_epoch:int, timeout_ms:int, partitions:array<string>, last_update_ms:bigint,
    start_ms:bigint, leader_epoch:int, next_producer_id:bigint, client_transaction_version:int,
    file_index:int, position:bigint, length:int>, earlier struct<offset:bigint, ordinal:bigint,
    state:int, tombstone:boolean, producer_id:bigint, producer_epoch:int, timeout_ms:int,
    partitions:array<string>, last_update_ms:bigint, start_ms:bigint, leader_epoch:int,
    next_producer_id:bigint, client_transaction_version:int, file_index:int, position:bigint,
    length:int>, newest boolean, topic string, partition int, broker int, replicated_below bigint,
    single_broker boolean, lost_behind boolean, adjacent boolean, first_of_log boolean,
    from_older_state boolean, first_user struct<transactional_id:string, file_index:int,
    position:bigint, length:int, offset:bigint>, first_use boolean, returns_to_producer_id
    boolean, end_timestamp bigint, alive_for_ms bigint, last_of_all boolean, loaded_for_ms
    bigint, partition_count int, partition_count_proven boolean, marked_partitions int,
    marked_for_ms bigint, led_partitions int, led_until_ms bigint, home_partition int, file
    string, previous_file string, user_file string, state_name string, previous_state_name
    string, offset_first bigint, offset_last bigint, byte_position bigint, byte_length int,
    limit_ms int, overdue_ms bigint, previous_position bigint, previous_length int,
    user_position bigint, user_length int, data_epoch int, producer_id_block bigint, age_ms
    bigint, seen_for_ms bigint
"""
