"""The context `run`: what one row is, and its columns as Spark SQL declares them."""

ROW = "contiguous batches of a producer id and epoch, with the state of the producer before them"
COLUMNS = """
    partition_index int, file_index int, split_start bigint, producer_id bigint, producer_epoch int,
    transactional boolean, first_offset bigint, last_offset bigint, first_sequence int,
    last_sequence int, first_batch_last_sequence int, batches int, records bigint, first_timestamp
    bigint, last_timestamp bigint, log_append_time boolean, first_position bigint, first_length int,
    last_position bigint, last_length int, marker_offset bigint, marker_epoch int, marker_commit
    boolean, coordinator_epoch int, marker_timestamp bigint, marker_position bigint, marker_length
    int, oldest_other bigint, follows boolean, chain_first_sequence int, chain_epoch_before int,
    chain_sequence_before int, marker_epoch_before int, initial boolean, first_checksum bigint,
    below_log_start boolean, absent_to_first bigint, absent_to_last bigint, absent_to_marker bigint,
    has_data boolean, has_marker boolean, start_offset bigint, previous struct<epoch:int,
    transactional:boolean, first_offset:bigint, last_offset:bigint, first_sequence:int,
    last_sequence:int, last_timestamp:bigint, batches:int, file_index:int, split_start:bigint,
    position:bigint, length:int, initial:boolean, absent_to_last:bigint>, previous_marker
    struct<offset:bigint, epoch:int, commit:boolean, coordinator_epoch:int, timestamp:bigint,
    file_index:int, position:bigint, length:int, initial:boolean, absent_to_marker:bigint>,
    state_epoch int, state_timestamp bigint, highest_data_epoch int, highest_marker_epoch int,
    highest_coordinator_epoch int, transaction_number bigint, next_data_epoch int,
    data_transaction_number bigint, open_transaction boolean, open_first_offset bigint,
    newest_first_sequence int, state_has_batches boolean, begins_chain boolean, chain
    struct<first_sequence:int, epoch_before:int, sequence_before:int, offset_before:bigint,
    first_offset:bigint, absent_to_before:bigint, absent_to_first:bigint>, expected_sequence int,
    known_checksums array<bigint>, topic string, partition int, broker int, coordinator_topic
    boolean, start_known boolean, stable_below bigint, cleaning string, cleaned_below bigint,
    cleaner_checkpoint bigint, log_start_offset bigint, has_log_start_checkpoint boolean,
    clean_shutdown boolean, created_once boolean, first_base bigint, holes
    array<struct<first:bigint, end:bigint, producer_id:bigint>>, missing array<struct<first:bigint,
    end:bigint, producer_id:bigint>>, emptied array<struct<first:bigint, end:bigint,
    producer_id:bigint, producer_epoch:int>>, paused boolean, latest_append_ms bigint, same_bytes
    boolean, client_data boolean, state_offset bigint, state_may_have_expired boolean,
    data_may_have_expired boolean, pause_or_break boolean, chain_begin struct<offset:bigint,
    forgotten:boolean>, file string, previous_file string, previous_marker_file string,
    sequence_known boolean, lost_before boolean, marker_lost_before boolean, missing_before boolean,
    offsets_missing_before bigint, overlaps boolean, repeats boolean, joins_earlier boolean,
    offset_first bigint, offset_last bigint, byte_position bigint, byte_length int,
    previous_position bigint, previous_length int, previous_marker_position bigint,
    previous_marker_length int, transactional_id string
"""
