"""The context `offset_transaction`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a transaction in a partition of __consumer_offsets"
COLUMNS = """
    partition_index int, first_offset bigint, producer_id bigint, producer_epoch int,
    last_offset bigint, first_file_index int, first_position bigint, first_length int,
    marker_offset bigint, marker_epoch int, marker_commit boolean, last_timestamp bigint,
    marker_timestamp bigint, previous_epoch int, topic string, partition int, broker int,
    stable_below bigint, cleaning string, cleaned_below bigint, holes array<struct<first:bigint,
    end:bigint, producer_id:bigint>>, start_known boolean, single_broker boolean, clean_shutdown
    boolean, complete_up_to_ms bigint, alone_in_cluster boolean, outlasted boolean,
    set_backs array<struct<to_ms:bigint, from_ms:bigint, by_ms:bigint>>,
    appended_by_ms bigint, history struct<producer_id:bigint, producer_epoch:int,
    transactional_id:string, listed:array<string>, decisions:bigint, aborted:array<string>,
    moved_on:boolean,
    coordinator_up_to_ms:bigint,
    coordinator_clean_shutdown:boolean, record:struct<ordinal:bigint, offset:bigint,
    file_index:int, position:bigint, length:int>, replicated:boolean>, output
    struct<aborted_epoch:int, committed_epoch:int, aborted_place:string,
    aborts:bigint, aborted_first:boolean, place:string, file_index:int, position:bigint,
    length:int, first_offset:bigint, marker_offset:bigint, stable_below:bigint, moment:bigint>,
    outcome string, listed boolean, owned bigint, coordinator struct<broker:int, partition:int,
    transactional_id:string, producer_id:bigint, producer_epoch:int, state:string,
    partitions:array<string>, timeout_ms:int, start_ms:bigint, last_update_ms:bigint,
    record_timestamp:bigint, record_offset:bigint, client_transaction_version:int,
    tombstone:boolean, complete_up_to_ms:bigint, clean_shutdown:boolean, alone_in_cluster:boolean,
    lost_behind:boolean, whole_since_ms:bigint, replicated:boolean>, pending_partition int,
    pending_producer bigint, waiting array<struct<record_offset:bigint, group:string>>, file
    string, output_file string, record_file string, transactional_id string, coordinator_state
    string, coordinator_covers_partition boolean, coordinator_known boolean, coordinator_lost
    boolean, two_phase_commit boolean, copies_agree boolean, coordinator_went_on boolean,
    copied_behind_coordinator boolean, overdue_ms bigint, decided_once boolean, history_covers
    boolean, age_ms bigint, limit_ms bigint, pending_groups string, missing_before_marker boolean,
    offset_first bigint, offset_last bigint, byte_position bigint, byte_length int,
    output_position bigint, output_length int, record_position bigint, record_length int
"""
