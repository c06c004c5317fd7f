"""All checks, written down by hand, in the order of the families."""

from jobs.verify.check import Check
from jobs.verify.checks.atomicity.committed_output_without_offsets import (
    CHECK as COMMITTED_OUTPUT_WITHOUT_OFFSETS,
)
from jobs.verify.checks.atomicity.epoch_committed_and_aborted import (
    CHECK as EPOCH_COMMITTED_AND_ABORTED,
)
from jobs.verify.checks.atomicity.marker_before_prepare import CHECK as MARKER_BEFORE_PREPARE
from jobs.verify.checks.atomicity.marker_coordinator_epoch_mismatch import (
    CHECK as MARKER_COORDINATOR_EPOCH_MISMATCH,
)
from jobs.verify.checks.atomicity.marker_in_unlisted_partition import (
    CHECK as MARKER_IN_UNLISTED_PARTITION,
)
from jobs.verify.checks.atomicity.marker_outcome_mismatch import CHECK as MARKER_OUTCOME_MISMATCH
from jobs.verify.checks.atomicity.marker_pending import CHECK as MARKER_PENDING
from jobs.verify.checks.atomicity.marker_protocol_mixed import CHECK as MARKER_PROTOCOL_MIXED
from jobs.verify.checks.atomicity.marker_stale import CHECK as MARKER_STALE
from jobs.verify.checks.atomicity.marker_without_prepare import CHECK as MARKER_WITHOUT_PREPARE
from jobs.verify.checks.atomicity.missing_marker_in_listed_partition import (
    CHECK as MISSING_MARKER_IN_LISTED_PARTITION,
)
from jobs.verify.checks.atomicity.offset_commit_outcome_mismatch import (
    CHECK as OFFSET_COMMIT_OUTCOME_MISMATCH,
)
from jobs.verify.checks.atomicity.offset_commit_regression import CHECK as OFFSET_COMMIT_REGRESSION
from jobs.verify.checks.atomicity.offset_commit_unlisted import CHECK as OFFSET_COMMIT_UNLISTED
from jobs.verify.checks.atomicity.open_data_of_completed_transaction import (
    CHECK as OPEN_DATA_OF_COMPLETED_TRANSACTION,
)
from jobs.verify.checks.atomicity.pending_offsets_stuck import CHECK as PENDING_OFFSETS_STUCK
from jobs.verify.checks.atomicity.prepare_never_completed import CHECK as PREPARE_NEVER_COMPLETED
from jobs.verify.checks.atomicity.torn_transaction import CHECK as TORN_TRANSACTION
from jobs.verify.checks.batch.batch_attribute_bits_unknown import (
    CHECK as BATCH_ATTRIBUTE_BITS_UNKNOWN,
)
from jobs.verify.checks.batch.batch_codec_invalid import CHECK as BATCH_CODEC_INVALID
from jobs.verify.checks.batch.batch_count_below_range import CHECK as BATCH_COUNT_BELOW_RANGE
from jobs.verify.checks.batch.batch_count_exceeds_range import CHECK as BATCH_COUNT_EXCEEDS_RANGE
from jobs.verify.checks.batch.batch_crc_mismatch import CHECK as BATCH_CRC_MISMATCH
from jobs.verify.checks.batch.batch_decompression_failed import CHECK as BATCH_DECOMPRESSION_FAILED
from jobs.verify.checks.batch.batch_empty_unexpected import CHECK as BATCH_EMPTY_UNEXPECTED
from jobs.verify.checks.batch.batch_length_invalid import CHECK as BATCH_LENGTH_INVALID
from jobs.verify.checks.batch.batch_magic_unknown import CHECK as BATCH_MAGIC_UNKNOWN
from jobs.verify.checks.batch.batch_max_timestamp_mismatch import (
    CHECK as BATCH_MAX_TIMESTAMP_MISMATCH,
)
from jobs.verify.checks.batch.batch_producer_fields_inconsistent import (
    CHECK as BATCH_PRODUCER_FIELDS_INCONSISTENT,
)
from jobs.verify.checks.batch.batch_record_count_mismatch import (
    CHECK as BATCH_RECORD_COUNT_MISMATCH,
)
from jobs.verify.checks.batch.batch_record_malformed import CHECK as BATCH_RECORD_MALFORMED
from jobs.verify.checks.batch.batch_record_offset_order import CHECK as BATCH_RECORD_OFFSET_ORDER
from jobs.verify.checks.batch.control_batch_malformed import CHECK as CONTROL_BATCH_MALFORMED
from jobs.verify.checks.batch.control_type_unknown import CHECK as CONTROL_TYPE_UNKNOWN
from jobs.verify.checks.batch.delete_horizon_unexpected import CHECK as DELETE_HORIZON_UNEXPECTED
from jobs.verify.checks.batch.legacy_wrapper_invalid import CHECK as LEGACY_WRAPPER_INVALID
from jobs.verify.checks.coordinator.group_wrong_partition import CHECK as GROUP_WRONG_PARTITION
from jobs.verify.checks.coordinator.offsets_undecodable import CHECK as OFFSETS_UNDECODABLE
from jobs.verify.checks.coordinator.producer_block_regression import (
    CHECK as PRODUCER_BLOCK_REGRESSION,
)
from jobs.verify.checks.coordinator.txnlog_batch_shape import CHECK as TXNLOG_BATCH_SHAPE
from jobs.verify.checks.coordinator.txnlog_complete_without_prepare import (
    CHECK as TXNLOG_COMPLETE_WITHOUT_PREPARE,
)
from jobs.verify.checks.coordinator.txnlog_epoch_invalid import CHECK as TXNLOG_EPOCH_INVALID
from jobs.verify.checks.coordinator.txnlog_epoch_jump import CHECK as TXNLOG_EPOCH_JUMP
from jobs.verify.checks.coordinator.txnlog_epoch_regression import CHECK as TXNLOG_EPOCH_REGRESSION
from jobs.verify.checks.coordinator.txnlog_first_epoch_nonzero import (
    CHECK as TXNLOG_FIRST_EPOCH_NONZERO,
)
from jobs.verify.checks.coordinator.txnlog_invalid_transition import (
    CHECK as TXNLOG_INVALID_TRANSITION,
)
from jobs.verify.checks.coordinator.txnlog_overdue_transaction import (
    CHECK as TXNLOG_OVERDUE_TRANSACTION,
)
from jobs.verify.checks.coordinator.txnlog_partitions_invalid import (
    CHECK as TXNLOG_PARTITIONS_INVALID,
)
from jobs.verify.checks.coordinator.txnlog_pid_changed import CHECK as TXNLOG_PID_CHANGED
from jobs.verify.checks.coordinator.txnlog_pid_regression import CHECK as TXNLOG_PID_REGRESSION
from jobs.verify.checks.coordinator.txnlog_pid_shared import CHECK as TXNLOG_PID_SHARED
from jobs.verify.checks.coordinator.txnlog_replica_divergence import (
    CHECK as TXNLOG_REPLICA_DIVERGENCE,
)
from jobs.verify.checks.coordinator.txnlog_start_timestamp_invalid import (
    CHECK as TXNLOG_START_TIMESTAMP_INVALID,
)
from jobs.verify.checks.coordinator.txnlog_state_invalid import CHECK as TXNLOG_STATE_INVALID
from jobs.verify.checks.coordinator.txnlog_timeout_changed import CHECK as TXNLOG_TIMEOUT_CHANGED
from jobs.verify.checks.coordinator.txnlog_timeout_invalid import CHECK as TXNLOG_TIMEOUT_INVALID
from jobs.verify.checks.coordinator.txnlog_tombstone_invalid import (
    CHECK as TXNLOG_TOMBSTONE_INVALID,
)
from jobs.verify.checks.coordinator.txnlog_undecodable import CHECK as TXNLOG_UNDECODABLE
from jobs.verify.checks.coordinator.txnlog_unknown_tag import CHECK as TXNLOG_UNKNOWN_TAG
from jobs.verify.checks.coordinator.txnlog_update_timestamp_regression import (
    CHECK as TXNLOG_UPDATE_TIMESTAMP_REGRESSION,
)
from jobs.verify.checks.coordinator.txnlog_wrong_partition import CHECK as TXNLOG_WRONG_PARTITION
from jobs.verify.checks.index.index_entry_invalid import CHECK as INDEX_ENTRY_INVALID
from jobs.verify.checks.index.timeindex_invalid import CHECK as TIMEINDEX_INVALID
from jobs.verify.checks.index.txnindex_empty_transaction import CHECK as TXNINDEX_EMPTY_TRANSACTION
from jobs.verify.checks.index.txnindex_extra_entry import CHECK as TXNINDEX_EXTRA_ENTRY
from jobs.verify.checks.index.txnindex_malformed import CHECK as TXNINDEX_MALFORMED
from jobs.verify.checks.index.txnindex_missing_entry import CHECK as TXNINDEX_MISSING_ENTRY
from jobs.verify.checks.index.txnindex_wrong_first_offset import (
    CHECK as TXNINDEX_WRONG_FIRST_OFFSET,
)
from jobs.verify.checks.index.txnindex_wrong_lso import CHECK as TXNINDEX_WRONG_LSO
from jobs.verify.checks.producer.duplicate_batch import CHECK as DUPLICATE_BATCH
from jobs.verify.checks.producer.first_sequence_nonzero import CHECK as FIRST_SEQUENCE_NONZERO
from jobs.verify.checks.producer.mixed_transactional_mode import CHECK as MIXED_TRANSACTIONAL_MODE
from jobs.verify.checks.producer.nontransactional_in_open_txn import (
    CHECK as NONTRANSACTIONAL_IN_OPEN_TXN,
)
from jobs.verify.checks.producer.pid_used_outside_transaction_id import (
    CHECK as PID_USED_OUTSIDE_TRANSACTION_ID,
)
from jobs.verify.checks.producer.producer_epoch_out_of_range import (
    CHECK as PRODUCER_EPOCH_OUT_OF_RANGE,
)
from jobs.verify.checks.producer.producer_epoch_regression import CHECK as PRODUCER_EPOCH_REGRESSION
from jobs.verify.checks.producer.producer_id_unallocated import CHECK as PRODUCER_ID_UNALLOCATED
from jobs.verify.checks.producer.producer_timestamp_expired_state import (
    CHECK as PRODUCER_TIMESTAMP_EXPIRED_STATE,
)
from jobs.verify.checks.producer.sequence_gap import CHECK as SEQUENCE_GAP
from jobs.verify.checks.producer.sequence_nonzero_at_new_epoch import (
    CHECK as SEQUENCE_NONZERO_AT_NEW_EPOCH,
)
from jobs.verify.checks.producer.sequence_regression import CHECK as SEQUENCE_REGRESSION
from jobs.verify.checks.producer.zombie_write_after_fence import CHECK as ZOMBIE_WRITE_AFTER_FENCE
from jobs.verify.checks.replica.cluster_id_mismatch import CHECK as CLUSTER_ID_MISMATCH
from jobs.verify.checks.replica.replica_divergence import CHECK as REPLICA_DIVERGENCE
from jobs.verify.checks.replica.replica_range_hole import CHECK as REPLICA_RANGE_HOLE
from jobs.verify.checks.replica.topic_id_mismatch import CHECK as TOPIC_ID_MISMATCH
from jobs.verify.checks.segment.active_tail_torn import CHECK as ACTIVE_TAIL_TORN
from jobs.verify.checks.segment.closed_segment_tail_garbage import (
    CHECK as CLOSED_SEGMENT_TAIL_GARBAGE,
)
from jobs.verify.checks.segment.hw_below_log_start import CHECK as HW_BELOW_LOG_START
from jobs.verify.checks.segment.hw_beyond_log_end import CHECK as HW_BEYOND_LOG_END
from jobs.verify.checks.segment.leader_epoch_checkpoint_mismatch import (
    CHECK as LEADER_EPOCH_CHECKPOINT_MISMATCH,
)
from jobs.verify.checks.segment.leader_epoch_regression import CHECK as LEADER_EPOCH_REGRESSION
from jobs.verify.checks.segment.log_start_beyond_end import CHECK as LOG_START_BEYOND_END
from jobs.verify.checks.segment.offset_gap import CHECK as OFFSET_GAP
from jobs.verify.checks.segment.offset_not_increasing import CHECK as OFFSET_NOT_INCREASING
from jobs.verify.checks.segment.recovery_point_beyond_log_end import (
    CHECK as RECOVERY_POINT_BEYOND_LOG_END,
)
from jobs.verify.checks.segment.segment_missing import CHECK as SEGMENT_MISSING
from jobs.verify.checks.segment.segment_offset_out_of_range import (
    CHECK as SEGMENT_OFFSET_OUT_OF_RANGE,
)
from jobs.verify.checks.snapshot.snapshot_corrupt import CHECK as SNAPSHOT_CORRUPT
from jobs.verify.checks.snapshot.snapshot_foreign_producer import CHECK as SNAPSHOT_FOREIGN_PRODUCER
from jobs.verify.checks.snapshot.snapshot_state_mismatch import CHECK as SNAPSHOT_STATE_MISMATCH
from jobs.verify.checks.transaction.aborted_data_below_cleaned_bound import (
    CHECK as ABORTED_DATA_BELOW_CLEANED_BOUND,
)
from jobs.verify.checks.transaction.cleaned_data_without_marker import (
    CHECK as CLEANED_DATA_WITHOUT_MARKER,
)
from jobs.verify.checks.transaction.conflicting_markers import CHECK as CONFLICTING_MARKERS
from jobs.verify.checks.transaction.coordinator_epoch_regression import (
    CHECK as COORDINATOR_EPOCH_REGRESSION,
)
from jobs.verify.checks.transaction.data_in_unlisted_partition import (
    CHECK as DATA_IN_UNLISTED_PARTITION,
)
from jobs.verify.checks.transaction.duplicate_marker import CHECK as DUPLICATE_MARKER
from jobs.verify.checks.transaction.epoch_bump_inside_open_txn import (
    CHECK as EPOCH_BUMP_INSIDE_OPEN_TXN,
)
from jobs.verify.checks.transaction.hanging_transaction import CHECK as HANGING_TRANSACTION
from jobs.verify.checks.transaction.late_write_after_marker import CHECK as LATE_WRITE_AFTER_MARKER
from jobs.verify.checks.transaction.lso_stuck import CHECK as LSO_STUCK
from jobs.verify.checks.transaction.marker_epoch_invalid import CHECK as MARKER_EPOCH_INVALID
from jobs.verify.checks.transaction.marker_epoch_regression import CHECK as MARKER_EPOCH_REGRESSION
from jobs.verify.checks.transaction.marker_without_transaction import (
    CHECK as MARKER_WITHOUT_TRANSACTION,
)
from jobs.verify.checks.transaction.open_transaction_overdue import (
    CHECK as OPEN_TRANSACTION_OVERDUE,
)

CHECKS: tuple[Check, ...] = (
    BATCH_ATTRIBUTE_BITS_UNKNOWN,
    BATCH_CODEC_INVALID,
    BATCH_COUNT_BELOW_RANGE,
    BATCH_COUNT_EXCEEDS_RANGE,
    BATCH_CRC_MISMATCH,
    BATCH_DECOMPRESSION_FAILED,
    BATCH_EMPTY_UNEXPECTED,
    BATCH_LENGTH_INVALID,
    BATCH_MAGIC_UNKNOWN,
    BATCH_MAX_TIMESTAMP_MISMATCH,
    BATCH_PRODUCER_FIELDS_INCONSISTENT,
    BATCH_RECORD_COUNT_MISMATCH,
    BATCH_RECORD_MALFORMED,
    BATCH_RECORD_OFFSET_ORDER,
    CONTROL_BATCH_MALFORMED,
    CONTROL_TYPE_UNKNOWN,
    DELETE_HORIZON_UNEXPECTED,
    LEGACY_WRAPPER_INVALID,
    CLOSED_SEGMENT_TAIL_GARBAGE,
    ACTIVE_TAIL_TORN,
    OFFSET_NOT_INCREASING,
    OFFSET_GAP,
    RECOVERY_POINT_BEYOND_LOG_END,
    SEGMENT_MISSING,
    LEADER_EPOCH_CHECKPOINT_MISMATCH,
    LEADER_EPOCH_REGRESSION,
    SEGMENT_OFFSET_OUT_OF_RANGE,
    HW_BEYOND_LOG_END,
    HW_BELOW_LOG_START,
    LOG_START_BEYOND_END,
    CLUSTER_ID_MISMATCH,
    TOPIC_ID_MISMATCH,
    REPLICA_DIVERGENCE,
    REPLICA_RANGE_HOLE,
    INDEX_ENTRY_INVALID,
    TIMEINDEX_INVALID,
    TXNINDEX_MALFORMED,
    TXNINDEX_MISSING_ENTRY,
    TXNINDEX_EXTRA_ENTRY,
    TXNINDEX_EMPTY_TRANSACTION,
    TXNINDEX_WRONG_FIRST_OFFSET,
    TXNINDEX_WRONG_LSO,
    SNAPSHOT_CORRUPT,
    SNAPSHOT_STATE_MISMATCH,
    SNAPSHOT_FOREIGN_PRODUCER,
    SEQUENCE_GAP,
    SEQUENCE_REGRESSION,
    DUPLICATE_BATCH,
    SEQUENCE_NONZERO_AT_NEW_EPOCH,
    FIRST_SEQUENCE_NONZERO,
    PRODUCER_EPOCH_REGRESSION,
    ZOMBIE_WRITE_AFTER_FENCE,
    PRODUCER_EPOCH_OUT_OF_RANGE,
    MIXED_TRANSACTIONAL_MODE,
    PID_USED_OUTSIDE_TRANSACTION_ID,
    PRODUCER_ID_UNALLOCATED,
    NONTRANSACTIONAL_IN_OPEN_TXN,
    PRODUCER_TIMESTAMP_EXPIRED_STATE,
    LATE_WRITE_AFTER_MARKER,
    DATA_IN_UNLISTED_PARTITION,
    HANGING_TRANSACTION,
    OPEN_TRANSACTION_OVERDUE,
    EPOCH_BUMP_INSIDE_OPEN_TXN,
    MARKER_WITHOUT_TRANSACTION,
    DUPLICATE_MARKER,
    CONFLICTING_MARKERS,
    MARKER_EPOCH_REGRESSION,
    MARKER_EPOCH_INVALID,
    COORDINATOR_EPOCH_REGRESSION,
    LSO_STUCK,
    CLEANED_DATA_WITHOUT_MARKER,
    ABORTED_DATA_BELOW_CLEANED_BOUND,
    TORN_TRANSACTION,
    EPOCH_COMMITTED_AND_ABORTED,
    MARKER_OUTCOME_MISMATCH,
    MISSING_MARKER_IN_LISTED_PARTITION,
    OPEN_DATA_OF_COMPLETED_TRANSACTION,
    MARKER_PENDING,
    MARKER_PROTOCOL_MIXED,
    MARKER_STALE,
    MARKER_IN_UNLISTED_PARTITION,
    MARKER_WITHOUT_PREPARE,
    MARKER_COORDINATOR_EPOCH_MISMATCH,
    MARKER_BEFORE_PREPARE,
    PREPARE_NEVER_COMPLETED,
    TXNLOG_BATCH_SHAPE,
    COMMITTED_OUTPUT_WITHOUT_OFFSETS,
    OFFSET_COMMIT_OUTCOME_MISMATCH,
    OFFSET_COMMIT_REGRESSION,
    OFFSET_COMMIT_UNLISTED,
    PENDING_OFFSETS_STUCK,
    GROUP_WRONG_PARTITION,
    OFFSETS_UNDECODABLE,
    PRODUCER_BLOCK_REGRESSION,
    TXNLOG_COMPLETE_WITHOUT_PREPARE,
    TXNLOG_EPOCH_INVALID,
    TXNLOG_EPOCH_JUMP,
    TXNLOG_EPOCH_REGRESSION,
    TXNLOG_FIRST_EPOCH_NONZERO,
    TXNLOG_INVALID_TRANSITION,
    TXNLOG_OVERDUE_TRANSACTION,
    TXNLOG_PARTITIONS_INVALID,
    TXNLOG_PID_CHANGED,
    TXNLOG_PID_REGRESSION,
    TXNLOG_PID_SHARED,
    TXNLOG_REPLICA_DIVERGENCE,
    TXNLOG_START_TIMESTAMP_INVALID,
    TXNLOG_STATE_INVALID,
    TXNLOG_TIMEOUT_CHANGED,
    TXNLOG_TIMEOUT_INVALID,
    TXNLOG_TOMBSTONE_INVALID,
    TXNLOG_UNDECODABLE,
    TXNLOG_UNKNOWN_TAG,
    TXNLOG_UPDATE_TIMESTAMP_REGRESSION,
    TXNLOG_WRONG_PARTITION,
)
