"""Columns of a copy of a partition (`jobs.replay.partitions`) that most contexts join on."""

OF_PARTITION = """
    broker int, topic string, partition int, checkpoint_high_watermark bigint,
    checkpoint_log_start bigint, checkpoint_recovery_point bigint, cleaner_checkpoint bigint,
    has_cleaner_checkpoint boolean, has_log_start_checkpoint boolean, clean_shutdown boolean,
    copied_at_ms bigint, cleaned_below bigint, coordinator_topic boolean, internal_compacted
    boolean, first_base bigint, newest_base bigint, replica_set int, comparable_from bigint,
    cleaner_reach bigint, topic_id string, metadata_file int, topic_partitions int, created_once
    boolean, never_compacted boolean, unallocated_from bigint, cluster_id string,
    metadata_up_to_ms bigint, fetched boolean, kraft_only boolean, compacted_once boolean,
    alone_in_cluster boolean, single_broker boolean, every_broker boolean, registered_up_to_ms
    bigint, log_start_offset bigint,
    log_end_offset bigint, data_end_offset bigint, high_watermark bigint, stable_below bigint,
    from_beginning boolean, start_known boolean, cleaning string, first_pass_possible boolean,
    cleaner_traces boolean,
    missing array<struct<first:bigint, end:bigint, producer_id:bigint>>, holes
    array<struct<first:bigint, end:bigint, producer_id:bigint>>, gone array<struct<first:bigint,
    end:bigint, producer_id:bigint>>, lost_to bigint, broker_timestamp bigint,
    first_dated_offset bigint, first_dated_ms bigint, set_backs
    array<struct<to_ms:bigint, from_ms:bigint, by_ms:bigint>>,
    complete_up_to_ms bigint, outlasted boolean, of_leader boolean, emptied
    array<struct<first:bigint, end:bigint, producer_id:bigint, producer_epoch:int>>,
    last_legacy_offset bigint, earlier_end bigint, newest_snapshot bigint, open_in_snapshot
    array<struct<producer_id:bigint, producer_epoch:int, first_offset:bigint>>, ids bigint,
    misplaced_ids bigint, unreadable_at bigint, nameless_at bigint,
    cut_off_at bigint, only_here array<bigint>
"""
