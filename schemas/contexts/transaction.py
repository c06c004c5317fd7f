"""The context `transaction`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a transaction on one partition with its marker"
COLUMNS = """
    producer_id bigint, marker_epoch int, marker_commit boolean, highest_epoch int, listed
    string, first_offset bigint, first_sequence int, last_offset bigint, last_position bigint,
    last_length int, marker_offset bigint, coordinator_epoch int, marker_position bigint,
    marker_length int, marker_timestamp bigint, lowest_epoch int, batches
    bigint, records bigint, all_batches bigint,
    outcome string, previous_marker struct<offset:bigint, epoch:int, commit:boolean,
    coordinator_epoch:int, timestamp:bigint, file_index:int, position:bigint, length:int,
    initial:boolean, absent_to_marker:bigint>, previous_data struct<offset:bigint, epoch:int,
    timestamp:bigint, absent_to_last:bigint>, state_has_batches boolean, epoch_goes_on boolean,
    previous_closed_data boolean, opening_marker struct<offset:bigint, epoch:int,
    commit:boolean, coordinator_epoch:int, timestamp:bigint, file_index:int, position:bigint,
    length:int, initial:boolean, absent_to_marker:bigint>, earlier_epoch int, raised_epochs
    array<int>, coordinator_log_complete boolean, forgotten boolean, unlisted boolean,
    shared_epoch boolean, epoch_whole boolean, history_later boolean,
    coordinator struct<broker:int, partition:int, transactional_id:string,
    producer_id:bigint, producer_epoch:int, state:string,
    partitions:array<string>, timeout_ms:int, start_ms:bigint, last_update_ms:bigint,
    record_timestamp:bigint, record_offset:bigint, leader_epoch:int,
    client_transaction_version:int,
    tombstone:boolean, complete_up_to_ms:bigint, clean_shutdown:boolean,
    alone_in_cluster:boolean, lost_behind:boolean, whole_since_ms:bigint, replicated:boolean>,
    limit_ms bigint, previous_of_no_coordinator boolean,
    regression_first bigint, regression_last bigint, regression_epoch int, regression_file string,
    regression_position bigint, last_file string, marker_file string, previous_marker_file string,
    opening_marker_file string, epoch_record_file string, transactional_id string,
    coordinator_state string, coordinator_covers_partition boolean, coordinator_known boolean,
    coordinator_lost boolean, coordinator_log_lost boolean, two_phase_commit boolean,
    copies_agree boolean, coordinator_went_on boolean, copied_behind_coordinator boolean,
    overdue_ms bigint, behind_own_marker boolean, listed_later boolean, listing_known boolean,
    began_behind boolean, registration_over boolean, listing_over boolean, one_clock boolean,
    behind_gap boolean, came_late boolean, all_aborted boolean, logs_later boolean, has_data
    boolean, held_ms bigint, holds_lso boolean, missing_before_marker boolean, behind_data_gap
    boolean, completion_lost boolean, marker_was_there boolean, open_at_the_stop boolean,
    state_may_have_expired boolean, data_may_have_expired boolean, offset_first bigint,
    offset_last bigint, producer_epoch int, file string, byte_position bigint, byte_length int,
    previous_marker_position bigint, previous_marker_length int, opening_marker_position
    bigint, opening_marker_length int, epoch_record_position bigint, epoch_record_length int,
    age_ms bigint, hangs boolean, overdue boolean, start_untold boolean, unmarked_decision
    boolean, broker int, topic string, partition int, cleaner_checkpoint bigint,
    has_log_start_checkpoint boolean, clean_shutdown boolean, coordinator_topic boolean,
    first_base bigint, created_once boolean, created_again boolean, log_start_offset bigint,
    log_start_known boolean, replicated_below bigint, start_known boolean,
    missing array<struct<first:bigint, end:bigint, producer_id:bigint>>,
    holes array<struct<first:bigint, end:bigint, producer_id:bigint>>, outlasted boolean,
    emptied array<struct<first:bigint, end:bigint, producer_id:bigint, producer_epoch:int>>,
    one_moment_from bigint, newest_snapshot bigint,
    newest_begin struct<first_offset:bigint, first_sequence:int, absent_to_first:bigint,
    epoch_before:int, offset_before:bigint, absent_to_before:bigint>
"""
