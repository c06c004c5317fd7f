"""The context `offset_transaction`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a transaction in a partition of __consumer_offsets"
COLUMNS = """
    first_offset bigint, producer_id bigint, producer_epoch int, marker_offset bigint,
    marker_epoch int, previous_epoch int, topic string, partition int, broker int, replicated_below
    bigint, cleaning string, cleaned_below bigint, start_known boolean, outlasted boolean,
    history struct<producer_id:bigint, producer_epoch:int, transactional_id:string,
    listed:array<string>, decisions:bigint, aborted:array<string>, moved_on:boolean,
    coordinator_up_to_ms:bigint, coordinator_clean_shutdown:boolean,
    record:struct<ordinal:bigint, offset:bigint, file_index:int, position:bigint, length:int>,
    replicated:boolean>, output struct<aborted_epoch:int, committed_epoch:int,
    aborted_place:string, aborts:bigint, aborted_first:boolean, place:string, file_index:int,
    position:bigint, length:int, first_offset:bigint, marker_offset:bigint, replicated_below:bigint,
    moment:bigint>, outcome string, listed boolean, file string, output_file string, record_file
    string, transactional_id string, coordinator_state string, coordinator_covers_partition
    boolean, coordinator_known boolean, coordinator_log_complete boolean, two_phase_commit boolean,
    copies_agree boolean, decided_once boolean, history_covers boolean, age_ms bigint, limit_ms
    bigint, pending_groups string, missing_before_marker boolean, behind_data_gap boolean,
    offset_first bigint, offset_last bigint, byte_position bigint, byte_length int,
    output_position bigint, output_length int, record_position bigint, record_length int
"""
