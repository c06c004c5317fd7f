"""The claim of each check."""

from jobs.report.recheck.batches import ABORT, COMMIT, HORIZON, LAST_EPOCH
from jobs.report.recheck.broker_answers import (
    other_coordinator_state,
    other_memory,
    other_open,
    other_stable,
)
from jobs.report.recheck.cases import (
    Claim,
    all_of,
    of_batch,
    of_markers,
    of_producer,
    of_two,
    unreadable,
)
from jobs.report.recheck.checkpoints import (
    checkpoint_beyond_end,
    leader_epoch_differs,
    mark_below_start,
    other_cluster,
    topic_ids_differ,
)
from jobs.report.recheck.consumer_groups import (
    beyond_end,
    misplaced_group,
    read_group,
    went_back,
)
from jobs.report.recheck.coordinator_records import COMPLETE, EMPTY, ONGOING, PREPARED
from jobs.report.recheck.coordinator_steps import (
    forgotten_inside,
    invalid_step,
    jumps,
    lower_epoch,
    misplaced,
    odd_batch,
    places_invalid,
    read_state,
    start_invalid,
    timeout_out_of_range,
)
from jobs.report.recheck.damage import (
    broken_frame,
    broken_wrapper,
    fails,
    malformed_marker,
    not_decompressed,
    tail,
    wrong_checksum,
)
from jobs.report.recheck.ended_transactions import (
    no_marker_between,
    nothing_between,
    opposite_ends,
    too_far_above,
    without_data,
)
from jobs.report.recheck.indexes import (
    entry_begins_elsewhere,
    entry_malformed,
    entry_missing,
    entry_of_nothing,
    entry_stable_elsewhere,
    entry_without_marker,
    offset_entry_invalid,
    time_entry_invalid,
)
from jobs.report.recheck.markers import (
    before_decision,
    ended_too_many,
    marker_not_listed,
    other_coordinator,
    other_outcome,
    other_protocol,
    torn,
    undecided,
)
from jobs.report.recheck.missing_markers import lacks_marker, no_marker_yet
from jobs.report.recheck.open_transactions import (
    lost_its_marker,
    not_run_here,
    not_run_here_then,
    overdue_here,
    passed_by_cleaner,
    too_old,
    unended,
    unlisted,
    went_on,
)
from jobs.report.recheck.producer_ids import (
    block_again,
    former_producer,
    never_allocated,
    other_producer,
    shared_producer,
    used_outside,
)
from jobs.report.recheck.replicas import lacks_range, other_copy, records_differ
from jobs.report.recheck.segments import gap_in_copy, out_of_segment
from jobs.report.recheck.sequences import (
    ahead,
    begins_late,
    first_of_producer,
    next_of_producer,
    repeated,
    skips_forward,
    with_these_timestamps,
)
from jobs.report.recheck.snapshots import corrupt_snapshot, other_state, without_origin
from jobs.report.recheck.transactional_ids import (
    first_of_id,
    last_of_id,
    of_state,
    of_states,
    outlived_timeout,
)

CLAIMS: dict[str, Claim] = {
    "batch_attribute_bits_unknown": of_batch(lambda b: bool(b.attributes & ~0x7F)),
    "batch_codec_invalid": of_batch(
        lambda b: b.codec > (4 if b.magic == 2 else 3) or (b.control and b.codec > 0)
    ),
    "batch_count_below_range": of_batch(lambda b: b.count <= b.delta),
    "batch_count_exceeds_range": of_batch(lambda b: b.count < 0 or b.count > b.delta + 1),
    "batch_crc_mismatch": of_batch(wrong_checksum),
    "batch_decompression_failed": not_decompressed,
    "batch_empty_unexpected": of_batch(lambda b: b.count == 0),
    "batch_length_invalid": broken_frame,
    "batch_magic_unknown": of_batch(lambda b: b.magic not in (0, 1, 2)),
    "batch_max_timestamp_mismatch": of_batch(
        lambda b: max(one.timestamp for one in b.records()) != b.newest
    ),
    "batch_producer_fields_inconsistent": of_batch(
        lambda b: (
            (b.producer >= 0) != (b.epoch >= 0)
            or (b.producer < 0 and (b.sequence >= 0 or b.transactional))
            or (b.producer >= 0 and not b.control and b.sequence < 0)
        )
    ),
    "batch_record_count_mismatch": of_batch(fails(lambda b: list(b.records()))),
    "batch_record_malformed": of_batch(fails(lambda b: list(b.records()))),
    "batch_record_offset_order": of_batch(
        lambda b: (
            (deltas := [one.offset - b.base for one in b.records()]) != sorted({*deltas})
            or deltas[-1] > b.delta
            or deltas[0] < 0
        )
    ),
    "legacy_wrapper_invalid": broken_wrapper,
    "control_batch_malformed": of_batch(lambda b: b.control and malformed_marker(b)),
    "control_type_unknown": of_batch(lambda b: b.marker()[0] not in (ABORT, COMMIT)),
    "delete_horizon_unexpected": of_batch(lambda b: bool(b.attributes & HORIZON)),
    "active_tail_torn": tail,
    "closed_segment_tail_garbage": tail,
    "offset_gap": all_of(of_two(lambda a, b: b.base > a.last + 1), gap_in_copy),
    "segment_missing": all_of(of_two(lambda a, b: b.base > a.last + 1), gap_in_copy),
    "offset_not_increasing": of_two(lambda a, b: b.base <= a.last),
    "leader_epoch_regression": of_two(lambda a, b: b.leader < a.leader),
    "leader_epoch_checkpoint_mismatch": leader_epoch_differs,
    "segment_offset_out_of_range": out_of_segment,
    "hw_beyond_log_end": checkpoint_beyond_end("replication-offset-checkpoint"),
    "recovery_point_beyond_log_end": checkpoint_beyond_end("recovery-point-offset-checkpoint"),
    "log_start_beyond_end": checkpoint_beyond_end("log-start-offset-checkpoint"),
    "hw_below_log_start": mark_below_start,
    "replica_divergence": other_copy,
    "replica_range_hole": lacks_range,
    "topic_id_mismatch": topic_ids_differ,
    "cluster_id_mismatch": other_cluster,
    "index_entry_invalid": offset_entry_invalid,
    "timeindex_invalid": time_entry_invalid,
    "txnindex_missing_entry": entry_missing,
    "txnindex_wrong_lso": entry_stable_elsewhere,
    "txnindex_wrong_first_offset": entry_begins_elsewhere,
    "txnindex_extra_entry": entry_without_marker,
    "txnindex_empty_transaction": entry_of_nothing,
    "txnindex_malformed": entry_malformed,
    "snapshot_corrupt": corrupt_snapshot,
    "snapshot_foreign_producer": without_origin,
    "snapshot_state_mismatch": other_state,
    "sequence_gap": all_of(
        of_producer(lambda a, b: a.epoch == b.epoch), skips_forward, next_of_producer
    ),
    "sequence_regression": all_of(
        of_producer(
            lambda a, b: (
                a.epoch == b.epoch and not ahead(a, b) and b.sequence != a.last_sequence + 1
            )
        ),
        next_of_producer,
    ),
    "duplicate_batch": repeated,
    "sequence_nonzero_at_new_epoch": begins_late,
    "first_sequence_nonzero": all_of(
        of_batch(lambda b: b.producer >= 0 and b.sequence > 0), first_of_producer
    ),
    "producer_epoch_regression": of_producer(lambda a, b: b.epoch < a.epoch),
    "producer_timestamp_expired_state": with_these_timestamps,
    "producer_epoch_out_of_range": of_batch(lambda b: b.epoch == LAST_EPOCH),
    "pid_used_outside_transaction_id": used_outside,
    "zombie_write_after_fence": of_producer(
        lambda a, b: a.control and not b.control and b.epoch < a.epoch
    ),
    "nontransactional_in_open_txn": all_of(
        of_producer(lambda a, b: a.of_client and not b.transactional), no_marker_between
    ),
    "mixed_transactional_mode": of_two(
        lambda a, b: a.producer == b.producer and not a.transactional and b.transactional
    ),
    "epoch_bump_inside_open_txn": all_of(
        of_producer(lambda a, b: a.of_client and b.of_client and b.epoch > a.epoch),
        no_marker_between,
    ),
    "late_write_after_marker": all_of(
        of_producer(lambda a, b: a.control and b.of_client and a.epoch == b.epoch),
        unended,
        not_run_here_then,
    ),
    "conflicting_markers": all_of(
        of_markers(lambda a, b, x, y: a.epoch == b.epoch and x[0] != y[0]), nothing_between
    ),
    "duplicate_marker": all_of(
        of_markers(lambda a, b, x, y: a.epoch == b.epoch and x[0] == y[0]), nothing_between
    ),
    "coordinator_epoch_regression": of_markers(lambda a, b, x, y: y[1] < x[1]),
    "marker_epoch_regression": of_producer(lambda a, b: b.control and b.epoch < a.epoch),
    "marker_epoch_invalid": all_of(of_producer(too_far_above), no_marker_between),
    "marker_without_transaction": without_data,
    "committed_output_without_offsets": without_data,
    "hanging_transaction": all_of(unended, not_run_here),
    "open_data_of_completed_transaction": all_of(unended, went_on),
    "data_in_unlisted_partition": all_of(unended, unlisted),
    "open_transaction_overdue": all_of(unended, overdue_here),
    "cleaned_data_without_marker": all_of(unended, lost_its_marker),
    "aborted_data_below_cleaned_bound": all_of(
        of_producer(lambda a, b: a.of_client and b.control and b.marker()[0] == ABORT),
        passed_by_cleaner,
    ),
    "lso_stuck": all_of(unended, too_old),
    "pending_offsets_stuck": all_of(unended, too_old),
    "offset_commit_unlisted": unlisted,
    "marker_outcome_mismatch": other_outcome,
    "torn_transaction": torn,
    "epoch_committed_and_aborted": opposite_ends,
    "offset_commit_outcome_mismatch": opposite_ends,
    "missing_marker_in_listed_partition": lacks_marker,
    "marker_pending": no_marker_yet,
    "marker_without_prepare": undecided,
    "marker_in_unlisted_partition": marker_not_listed,
    "marker_stale": ended_too_many,
    "marker_protocol_mixed": other_protocol,
    "marker_coordinator_epoch_mismatch": other_coordinator,
    "marker_before_prepare": before_decision,
    "prepare_never_completed": all_of(
        of_state(lambda s: s.state in PREPARED), last_of_id, outlived_timeout
    ),
    "txnlog_overdue_transaction": all_of(
        of_state(lambda s: s.state == ONGOING), last_of_id, outlived_timeout
    ),
    "txnlog_epoch_regression": lower_epoch,
    "txnlog_complete_without_prepare": of_states(
        lambda a, b: b.state in COMPLETE and a.state not in PREPARED
    ),
    "txnlog_epoch_invalid": of_state(lambda s: s.epoch < 0),
    "txnlog_epoch_jump": jumps,
    "txnlog_first_epoch_nonzero": all_of(of_state(lambda s: s.epoch > 0), first_of_id),
    "txnlog_invalid_transition": invalid_step,
    "txnlog_partitions_invalid": places_invalid,
    "txnlog_start_timestamp_invalid": start_invalid,
    "txnlog_timeout_invalid": timeout_out_of_range,
    "txnlog_timeout_changed": of_states(
        lambda a, b: a.timeout_ms != b.timeout_ms and b.state != EMPTY
    ),
    "txnlog_pid_changed": of_states(other_producer),
    "txnlog_pid_regression": former_producer,
    "txnlog_pid_shared": shared_producer,
    "txnlog_state_invalid": of_state(lambda s: s.state not in range(6)),
    "txnlog_tombstone_invalid": forgotten_inside,
    "txnlog_undecodable": unreadable(read_state),
    "txnlog_unknown_tag": of_state(lambda s: bool(s.unknown_tags)),
    "txnlog_update_timestamp_regression": of_states(lambda a, b: b.update_ms < a.update_ms),
    "txnlog_batch_shape": odd_batch,
    "txnlog_replica_divergence": records_differ,
    "txnlog_wrong_partition": misplaced,
    "group_wrong_partition": misplaced_group,
    "offsets_undecodable": unreadable(read_group),
    "offset_commit_beyond_log_end": beyond_end,
    "offset_commit_regression": went_back,
    "producer_block_regression": block_again,
    "producer_id_unallocated": never_allocated,
    "told_producer_mismatch": other_memory,
    "told_open_mismatch": other_open,
    "told_lso_mismatch": other_stable,
    "told_coordinator_mismatch": other_coordinator_state,
}
