"""The context `decided_partition`: what one row is, and its columns as Spark SQL declares them."""

ROW = "a partition, producer epoch and outcome: the coordinator's decisions and the markers there"
COLUMNS = """
    producer_id bigint, marker_epoch int, commit boolean, coordinator_partition int, prepares
    bigint, completes bigint, complete_offset bigint, earliest_prepare bigint,
    with_transaction_version_1 int, with_transaction_version_2 int, with_untold_rise int, pending
    int, told_elsewhere int, markers bigint, marker_offset bigint, marker_length int,
    earliest_marker bigint, unraised_offset bigint, unraised_first bigint, unraised_last bigint,
    raised_offset bigint, decidable int, contradicted int, contradicted_early int, broker int,
    topic string, partition int, replicated_below bigint, kraft_only boolean, of_deleted_topic
    boolean, record_length int, transaction_version_2 boolean, decided_commit boolean,
    decided_abort boolean, decided_with_transaction_version_1 boolean, committed_place bigint,
    committed_offset bigint, committed_complete boolean, first_whole boolean, decided_length int,
    coordinator_replicated_below bigint, may_come boolean, committed_somewhere boolean,
    raised_both_ways boolean, unnamed boolean, of_another_cluster boolean, data_run
    struct<first_offset:bigint, file_index:int, first_position:bigint, first_length:int>,
    copied_later boolean, history_later boolean, history_after_all boolean, stale_offset bigint,
    stale_first bigint, stale_last bigint, undecided_offset bigint, short_place bigint,
    short_as_read boolean, short_number bigint, short_unseen boolean, all_lost boolean, held_from
    bigint, last_older bigint, marker_missing boolean, commits_undecided boolean, other_settled
    boolean, other_short boolean, other_outcome boolean, replaced boolean, opposed
    struct<offset:bigint, place:bigint, first:bigint, last:bigint, decided_place:bigint,
    decided_length:int, marked_commit:boolean, told_commit:boolean>, opposed_offset bigint,
    replaces_decided boolean, format_refused boolean, committed_undecided_instead boolean,
    wrong_offset bigint, wrong_first bigint, wrong_last bigint, misfit_epoch int, from_epoch int,
    to_epoch int, of_no_coordinator boolean, torn_length int, torn_epoch int, against_length int,
    lacking_length int, lacking_complete bigint, counted_complete bigint, early_offset bigint,
    early_first bigint, misfit_offset bigint, misfit_first bigint, marker_position bigint,
    record_position bigint, unraised_position bigint, wrong_position bigint, stale_position
    bigint, decided_position bigint, unexpected_position bigint, torn_position bigint,
    lacking_position bigint, early_position bigint, misfit_position bigint, contradicting_position
    bigint, against_position bigint, marker_file string, record_file string, unraised_file string,
    wrong_file string, stale_file string, decided_file string, unexpected_file string, torn_file
    string, lacking_file string, early_file string, misfit_file string, contradicting_file string,
    against_file string, decision string, pending_ms bigint, clock_tolerance_ms int,
    transactional_id string, offset_first bigint, offset_last bigint, lacking_first bigint,
    lacking_last bigint, shown_file string, shown_position bigint, shown_length int,
    unexpected_first bigint, unexpected_last bigint, contradicting_offset bigint,
    contradicting_outcome string, contradicted_outcome string, contradicting_first bigint,
    contradicting_last bigint, producer_epoch int, file string, byte_position bigint, byte_length
    int, all_aborted boolean, unproven string, id_went_on boolean
"""
