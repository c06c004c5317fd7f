"""The context `offset_discontinuity`: what one row is, and its columns."""

ROW = "two neighbouring batches whose offsets or leader epochs do not follow"
COLUMNS = """
    discontinuity string, previous_last_offset bigint, base_offset bigint, previous_leader_epoch
    int, leader_epoch int, previous_position bigint, file string, previous_file string,
    offset_first bigint, offset_last bigint, byte_position bigint, byte_length int,
    previous_length int, producer_id bigint, producer_epoch int, transactional_id string, broker
    int, topic string, partition int, cleaned_below bigint, files_cleaned_below
    bigint, newest_base bigint, never_compacted boolean, compacted_once boolean, replicated_below
    bigint, cleaning string, first_pass_possible boolean, passed_by_none boolean
"""
