"""The context `decided_partition`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a partition, producer epoch and outcome: the coordinator's decisions and the markers there"
COLUMNS = """
    partition_index int, producer_id bigint, marker_epoch int, commit boolean, coordinator_partition
    int, prepared_data_epoch int, listed string, deciding_index int, newest_prepare bigint,
    record_place bigint, prepares bigint, completes bigint, newest_completed bigint, prepared_index
    int, complete_offset bigint, complete_timestamp bigint, earliest_prepare bigint, latest_prepare
    bigint, prepares_ms double, completes_ms double, completed_prepare bigint, completed_start
    bigint, lowest_leader_epoch int, highest_leader_epoch int, latest_leader_epoch int, epoch_shared
    int, with_transaction_version_1 int, with_transaction_version_2 int,
    with_untold_rise int, pending int, unseen bigint, markers bigint, closing bigint,
    marker_place bigint, marker_offset bigint, marker_length int,
    earliest_marker bigint, latest_marker bigint, markers_ms double, known_markers bigint,
    known_closing bigint, known_markers_ms double, lowest_coordinator_epoch int,
    highest_coordinator_epoch int, lowest_raised_coordinator_epoch int,
    highest_raised_coordinator_epoch int, unraised_place bigint, unraised_offset bigint,
    unraised_first bigint, unraised_last bigint, raised_place bigint, raised_offset bigint,
    raised_first bigint, raised_last bigint, data_first bigint, data_last bigint, decidable int,
    contradicted int, contradicted_early int, broker int, topic string, partition int,
    complete_up_to_ms bigint, clean_shutdown boolean, stable_below bigint, of_leader boolean,
    first_dated_offset bigint, first_dated_ms bigint, first_read_offset bigint, first_read_ms
    bigint, set_backs array<struct<to_ms:bigint, from_ms:bigint, by_ms:bigint>>,
    single_broker boolean, alone_in_cluster boolean,
    holes array<struct<first:bigint, end:bigint,
    producer_id:bigint>>, missing array<struct<first:bigint, end:bigint, producer_id:bigint>>,
    emptied array<struct<first:bigint, end:bigint, producer_id:bigint, producer_epoch:int>>,
    last_legacy_offset bigint, log_end_offset bigint, kraft_only boolean, coordinator_index int,
    record_length int, prepare_offset bigint, leader_epoch int, transaction_version_2 boolean,
    decided_commit boolean, decided_abort boolean, decided_with_transaction_version_1 boolean,
    decided_id string, several_ids boolean, committed_place bigint, committed_length int,
    committed_id string, committed_epoch int, committed_offset bigint, committed_complete boolean,
    committed_index int, history_covers_ms bigint, newest_epoch int, known_above int,
    history_clean_shutdown boolean, first_epoch int, first_commit boolean, first_id string,
    first_whole boolean, known_from_ms bigint, known_to_ms bigint,
    newest_id string, newest_record bigint, last_epoch int, last_commit
    boolean, last_id string, newest_owner bigint, owners_of_data bigint, later_start_ms bigint,
    running_epoch int, running_partitions array<string>, running_start_ms bigint, decided_place
    bigint, decided_length int, coordinator_broker int, coordinator_clean_shutdown boolean,
    coordinator_stable_below bigint, earlier_end bigint,
    owner_may_be_lost boolean, replica_offset
    bigint, committed_somewhere boolean, raised_both_ways boolean, data_run
    struct<first_offset:bigint, file_index:int, first_position:bigint, first_length:int>,
    data_run_last bigint, open_run struct<first_offset:bigint, file_index:int,
    first_position:bigint, first_length:int>, ended_run_last bigint, first_ended_last bigint,
    first_ended_ms bigint, last_ended_ms bigint, earlier_offset bigint, later_run
    struct<run_first:bigint, file_index:int, run_position:bigint, run_length:int>, open_behind_ms
    bigint, last_marker_offset bigint,
    last_marker_ms bigint, ended_complete bigint, ended_marker bigint, apart_ms int, at_once
    boolean, whole_from bigint, whole_from_as_read bigint, whole_to bigint, goes_on boolean,
    copied_later boolean,
    history_later boolean, history_after_all boolean, misplaced boolean, stale_place bigint,
    stale_offset bigint, stale_first bigint, stale_last bigint, undecided_place bigint,
    undecided_offset bigint, undecided_first bigint, undecided_last bigint, never_committed boolean,
    odd_place bigint, odd_offset bigint, odd_first bigint, odd_epoch int, odd_lowest int,
    odd_highest int, premature struct<offset:bigint, place:bigint, first:bigint, last:bigint,
    decided_place:bigint, decided_length:int>, short_place bigint, short_length int, short_complete
    bigint, short_start bigint, short_prepared bigint, short_completed bigint, behind_marker bigint,
    before_marker bigint, short_next struct<offset:bigint, place:bigint, first:bigint,
    last:bigint, epoch:int>, short_next_place bigint, opposing struct<offset:bigint, place:bigint,
    first:bigint, last:bigint, decided_place:bigint, decided_length:int>, short_as_read boolean,
    short_unseen boolean,
    own_data_last bigint,
    owned_last bigint, owner_settled boolean, timely_last bigint, early_anchor bigint, order_anchor
    bigint, clock_anchor bigint, near_anchor bigint, held_from bigint, owner_unsettled boolean,
    held_by_near_clock boolean, marker_missing boolean, commits_undecided boolean, in_place boolean,
    other_unmet boolean, other_settled boolean, other_short boolean, other_outcome boolean,
    other_undecided boolean, other_record_place bigint, other_record_length int, replaced boolean,
    opposed struct<offset:bigint, place:bigint, first:bigint, last:bigint, decided_place:bigint,
    decided_length:int, marked_commit:boolean, told_commit:boolean>, opposed_offset bigint,
    replaces_decided boolean, format_refused boolean, committed_undecided_instead boolean,
    wrong_place bigint, wrong_offset bigint, wrong_first bigint, wrong_last bigint, misfit_epoch
    int, from_epoch int, to_epoch int, torn_place bigint, torn_length int, torn_epoch int,
    unexpected_place bigint, contradicting_place bigint, against_place bigint, against_length int,
    lacking_place bigint, lacking_length int, lacking_complete bigint, lacking_run
    struct<first_offset:bigint, file_index:int, first_position:bigint, first_length:int>,
    early_place bigint, early_offset bigint, early_first bigint, misfit_place bigint, misfit_offset
    bigint, misfit_first bigint, marker_file_index int, record_file_index int, unraised_file_index
    int, wrong_file_index int, stale_file_index int, committed_file_index int, decided_file_index
    int, unexpected_file_index int, torn_file_index int, lacking_file_index int, early_file_index
    int, misfit_file_index int, contradicting_file_index int, against_file_index int,
    short_next_file_index int, marker_position bigint, record_position bigint, unraised_position
    bigint, wrong_position bigint, stale_position bigint, committed_position bigint,
    decided_position bigint, unexpected_position bigint, torn_position bigint, lacking_position
    bigint, early_position bigint, misfit_position bigint, contradicting_position bigint,
    against_position bigint, short_next_position bigint, data_file string, later_file string,
    marker_file string, record_file string, unraised_file string, wrong_file string, stale_file
    string, committed_file string, decided_file string, unexpected_file string, torn_file string,
    lacking_file string, early_file string, misfit_file string, contradicting_file string,
    against_file string, short_next_file string, decision string, pending_ms bigint,
    clock_tolerance_ms int, transactional_id string, offset_first bigint, offset_last bigint,
    lacking_first bigint, lacking_last bigint, unexpected_first bigint, unexpected_last bigint,
    contradicting_offset bigint, contradicting_outcome string, contradicted_outcome string,
    contradicting_first bigint, contradicting_last bigint, producer_epoch int, file string,
    byte_position bigint, byte_length int
"""
