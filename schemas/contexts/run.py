"""The context `run`: what one row is, and its columns as Spark SQL declares them."""

ROW = "contiguous batches of a producer id and epoch, with the state of the producer before them"
COLUMNS = """
    producer_id bigint, producer_epoch int, transactional boolean, first_offset bigint,
    first_sequence int, first_batch_last_sequence int, records bigint, first_timestamp bigint,
    absent_to_first bigint, previous struct<epoch:int, transactional:boolean,
    first_offset:bigint, last_offset:bigint, first_sequence:int, last_sequence:int,
    last_timestamp:bigint, marker_timestamp:bigint, batches:int, file_index:int,
    split_start:bigint, position:bigint, length:int, initial:boolean, absent_to_last:bigint>,
    previous_marker struct<offset:bigint, epoch:int, commit:boolean, coordinator_epoch:int,
    timestamp:bigint, file_index:int, position:bigint, length:int, initial:boolean,
    absent_to_marker:bigint>, state_epoch int, state_timestamp bigint, highest_data_epoch int,
    highest_marker_epoch int, transaction_number bigint, data_transaction_number bigint,
    open_transaction boolean, open_first_offset bigint, expected_sequence int, topic string,
    partition int, broker int, coordinator_topic boolean, start_known boolean, replicated_below
    bigint, cleaner_checkpoint bigint, log_start_offset bigint, has_log_start_checkpoint
    boolean, clean_shutdown boolean, created_once boolean, first_base bigint, missing
    array<struct<first:bigint, end:bigint, producer_id:bigint>>, emptied
    array<struct<first:bigint, end:bigint, producer_id:bigint, producer_epoch:int>>, same_bytes
    boolean, client_data boolean, state_offset bigint, state_may_have_expired boolean,
    data_may_have_expired boolean, marker_may_have_expired boolean, pause_or_break boolean,
    file string, previous_file string, previous_marker_file string, sequence_known boolean,
    lost_before boolean, marker_lost_before boolean, missing_before boolean,
    offsets_missing_before bigint, offsets_untold_before bigint, overlaps boolean, repeats
    boolean, joins_earlier boolean,
    offset_first bigint, offset_last bigint, byte_position bigint, byte_length int,
    previous_position bigint, previous_length int, previous_marker_position bigint,
    previous_marker_length int, transactional_id string, newest_begin
    struct<first_offset:bigint, first_sequence:int, absent_to_first:bigint, epoch_before:int,
    offset_before:bigint, absent_to_before:bigint>
"""
