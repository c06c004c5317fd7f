"""The context `transaction`: what one row is, and its columns as Spark SQL declares them."""

from schemas.contexts.of_partition import OF_PARTITION

ROW = "a transaction on one partition with its marker"
COLUMNS = f"""
    producer_id bigint, marker_epoch int, marker_commit boolean, highest_epoch int, partition_index
    int, transaction_number bigint, listed string, first_offset bigint, first_file_index int,
    first_position bigint, first_length int, first_timestamp bigint, first_sequence int,
    marker_epoch_before int, last_offset bigint, last_file_index int, last_position bigint,
    last_length int, last_timestamp bigint, last_append_ms bigint, marker_offset bigint,
    coordinator_epoch int, marker_timestamp bigint, marker_file_index int, marker_position bigint,
    marker_length int, oldest_other bigint, absent_to_marker bigint, first_kept bigint, lowest_epoch
    int, batches bigint, records bigint, all_batches bigint, outcome string, previous_marker
    struct<offset:bigint, epoch:int, commit:boolean, coordinator_epoch:int, timestamp:bigint,
    file_index:int, position:bigint, length:int, initial:boolean, absent_to_marker:bigint>,
    previous_data struct<offset:bigint, epoch:int, timestamp:bigint, absent_to_last:bigint>,
    state_has_batches boolean, newest_first_sequence int, epoch_goes_on boolean,
    previous_closed_data boolean, state_timestamp bigint, opening_marker struct<offset:bigint,
    epoch:int, commit:boolean, coordinator_epoch:int, timestamp:bigint, file_index:int,
    position:bigint, length:int, initial:boolean, absent_to_marker:bigint>, opening_marker_ended
    int, earlier_epoch int, highest_coordinator_epoch int, oldest_open bigint, raised_epochs
    array<int>, decided_ms bigint, decided_until_ms bigint, decided_before_ms bigint, decided_at
    bigint, decided_unseen boolean, begun_by_ms bigint, behind_data_ms bigint, last_marker_ms
    bigint, gone_on_at bigint, appended_by_ms bigint, logs_until_ms bigint, logs_stopped boolean,
    coordinator_log_complete boolean, listed_in_epoch array<string>, epoch_record
    struct<ordinal:bigint, offset:bigint, file_index:int, position:bigint, length:int>, epoch_copy
    struct<moved_on:boolean, replicated:boolean, coordinator_up_to_ms:bigint,
    coordinator_clean_shutdown:boolean>, unlisted boolean, shared_epoch boolean, epoch_whole
    boolean, history_later boolean, owned bigint, coordinator struct<broker:int, partition:int,
    transactional_id:string, producer_id:bigint, producer_epoch:int, state:string,
    partitions:array<string>, timeout_ms:int, start_ms:bigint, last_update_ms:bigint,
    record_timestamp:bigint, record_offset:bigint, client_transaction_version:int,
    tombstone:boolean, complete_up_to_ms:bigint, clean_shutdown:boolean, alone_in_cluster:boolean,
    lost_behind:boolean, whole_since_ms:bigint, replicated:boolean>, limit_ms bigint, first_file
    string, last_file string, marker_file string, previous_marker_file string, opening_marker_file
    string, epoch_record_file string, transactional_id string, coordinator_state string,
    coordinator_covers_partition boolean, coordinator_known boolean, coordinator_lost boolean,
    coordinator_log_lost boolean, two_phase_commit boolean, copies_agree boolean,
    coordinator_went_on boolean, copied_behind_coordinator boolean, overdue_ms bigint,
    behind_own_marker boolean, listed_later boolean, listing_known boolean, began_behind boolean,
    registration_over boolean, listing_over boolean, one_clock boolean, behind_gap boolean,
    came_late boolean, logs_later boolean, has_data boolean, held_ms bigint, holds_lso boolean,
    missing_before_marker boolean, behind_data_gap boolean, completion_lost boolean,
    ended_in_snapshot boolean, open_at_the_stop boolean, state_may_have_expired boolean,
    data_may_have_expired boolean, offset_first bigint, offset_last bigint,
    producer_epoch int, file string, byte_position bigint, byte_length int,
    previous_marker_position bigint, previous_marker_length int, opening_marker_position bigint,
    opening_marker_length int, epoch_record_position bigint, epoch_record_length int, age_ms bigint,
    hangs boolean, overdue boolean, start_untold boolean,
    unmarked_decision boolean,{OF_PARTITION}
"""
