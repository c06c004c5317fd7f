"""The context `offset_discontinuity`: what one row is, and its columns."""

from schemas.contexts.of_partition import OF_PARTITION

ROW = "two neighbouring batches whose offsets or leader epochs do not follow"
COLUMNS = f"""
    partition_index int, file_index int, discontinuity string, previous_file_index int,
    previous_last_offset bigint, base_offset bigint, previous_leader_epoch int, leader_epoch
    int, previous_position bigint, position bigint, length int, at_seam boolean, batches bigint,
    records bigint, file string, previous_file string, offset_first bigint, offset_last bigint,
    byte_position bigint, byte_length int, previous_length int, producer_id bigint,
    producer_epoch int, transactional_id string,{OF_PARTITION}"""
