"""Bytes on the disk of one broker changed after they were written.

What it looks like: batches whose checksum, length or record count does not hold, segments that are
missing or end in garbage, all on one broker.

Why: a leader checks a batch before it appends it and a follower copies what it fetched. What is
wrong afterwards was changed by the disk, the file system, or a copy of the dump that went wrong.

Evidence: the damaged ranges, byte by byte; the same offsets in a replica on another broker.

Look-alikes: the torn tail of a broker that was killed, which recovery cuts off; a file that was
copied while it was written. Both are at the end of the newest segment only. A log cut below
acknowledged data is whole up to the cut. An offset that comes again behind a marker that the index
did not take: there an append failed.

Known bug: none; hardware, file system, or the copying of the dump.
"""

from jobs.incidents.signature import BROKER, Signature, Step

DAMAGED = (
    "batch_crc_mismatch", "batch_length_invalid", "batch_count_below_range",
    "batch_count_exceeds_range", "batch_magic_unknown", "batch_record_count_mismatch",
    "batch_record_malformed", "batch_record_offset_order", "batch_decompression_failed",
    "batch_codec_invalid", "batch_attribute_bits_unknown", "control_batch_malformed",
    "control_type_unknown", "legacy_wrapper_invalid", "segment_missing",
    "closed_segment_tail_garbage", "offset_not_increasing", "segment_offset_out_of_range",
    "snapshot_corrupt", "txnindex_malformed",
)  # fmt: skip
# Where the end of a log cannot be read, its checkpoints lie beyond it.
UNREADABLE = ("batch_crc_mismatch", "batch_length_invalid", "batch_magic_unknown")
FOLLOWS = ("hw_beyond_log_end", "recovery_point_beyond_log_end")

SIGNATURE = Signature(
    name="damaged_disk",
    title="Bytes on the disk of one broker changed after they were written",
    why="Brokers check a batch before they store it, so it was whole when it was appended.",
    explains=lambda finding: (
        (finding.one_of(*DAMAGED) | (finding.one_of(*FOLLOWS) & finding.beside(*UNREADABLE)))
        & ~(finding.one_of("offset_not_increasing") & finding.beside("txnindex_missing_entry"))
    ),
    proven_by=("batch_crc_mismatch",),
    key=BROKER,
    steps=(
        Step(
            "Check that another replica has the damaged offsets whole, and stop the broker with "
            "the damage from becoming leader (move leadership away from it)",
            before="a replica without a finding at these offsets is in sync",
            check="the in-sync replicas of the partition name another broker as leader",
        ),
        Step(
            "Stop the broker, move the damaged partition folders away (keep them), and start it: "
            "it fetches these partitions again",
            before="step 1 holds, and the disk was checked",
            check="an audit of a new dump has no finding on this broker",
            cannot="records that no replica has whole stay lost",
            reversible=False,
        ),
    ),
)
