"""The context `frame`: what one row is, and its columns as Spark SQL declares them."""

from schemas.contexts.of_partition import OF_PARTITION

ROW = "a batch with a fault, or a byte range without a valid batch"
COLUMNS = f"""
    file_index int, partition_index int, offset_first bigint, offset_last bigint, producer_id
    bigint, producer_epoch int, byte_position bigint, byte_length bigint, fault_mask bigint,
    count int, attributes int, base_sequence int, base_timestamp bigint, max_timestamp bigint,
    found_value bigint, reason_of_failure string, at_end boolean, claimed_bytes bigint,
    previous_last_offset bigint, next_offset bigint, batches bigint, records bigint, file
    string, base_offset bigint, next_base_offset bigint, size_bytes bigint, active boolean,
    tail boolean, complete_frame boolean, transactional_id string,{OF_PARTITION}"""
