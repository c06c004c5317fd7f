"""Bytes on the disk of one broker changed after they were written.

What it looks like: batches with a wrong checksum, length or record count, segments that are missing
or end in bytes that are no batch, all on one broker.

Why: a leader checks a batch before it appends it, and a follower stores the same bytes. Bytes that
are wrong afterwards were changed by the disk, by the file system, or when the dump was copied.

Evidence: the damaged ranges, byte by byte; the same offsets in a replica on another broker.

Look-alikes: the torn tail of a broker that was killed, which recovery truncates; a file that was
copied while it was written. Both are at the end of the newest segment only. A log that was
truncated below acknowledged data is valid up to its end. A side file that cannot be read: a broker
makes it anew from the log. An offset that is used again after a
marker without an index entry: there an append failed.

Known bug: none; hardware, file system, or the copying of the dump.
"""

from jobs.incidents.offset_steps import NO_MEMBER
from jobs.incidents.signature import BROKER, Signature, Step
from jobs.model.commands import EXPORT_READABLE, SET_BEHIND
from jobs.model.incident import UNREADABLE

DAMAGED = (
    "batch_crc_mismatch", "batch_length_invalid", "batch_count_below_range",
    "batch_count_exceeds_range", "batch_magic_unknown", "batch_record_count_mismatch",
    "batch_record_malformed", "batch_record_offset_order", "batch_decompression_failed",
    "batch_codec_invalid", "batch_attribute_bits_unknown", "control_batch_malformed",
    "control_type_unknown", "legacy_wrapper_invalid", "segment_missing",
    "closed_segment_tail_garbage", "offset_not_increasing", "segment_offset_out_of_range",
)  # fmt: skip
# Where the end of a log cannot be read, its checkpoints lie beyond it.
UNREAD_END = (
    "batch_crc_mismatch", "batch_length_invalid", "batch_magic_unknown",
    "closed_segment_tail_garbage",
)  # fmt: skip
FOLLOWS = ("hw_beyond_log_end", "recovery_point_beyond_log_end")

SIGNATURE = Signature(
    name="damaged_disk",
    title="Bytes on the disk of one broker changed after they were written",
    why="Brokers check a batch before they append it, so it was valid when it was written.",
    explains=lambda finding: (
        (finding.one_of(*DAMAGED) | (finding.one_of(*FOLLOWS) & finding.beside(*UNREAD_END)))
        & ~(finding.one_of("offset_not_increasing") & finding.beside("txnindex_missing_entry"))
    ),
    proven_by=("batch_crc_mismatch",),
    key=BROKER,
    steps=(
        Step(
            "Copy the damaged partition folders to another place, and stop their broker cleanly "
            "only: one that recovers a log cuts it off at the first damaged batch, and deletes "
            "what lies behind (LogSegment.recover, LogLoader.recoverLog)",
            check="the copies have the same checksums as the folders",
        ),
        Step(
            "Check that another replica has the damaged offsets without damage. Move leadership "
            "away from the broker with the damage, so that it does not lead the partition",
            before="a replica without a finding at these offsets is in sync",
            check="the in-sync replicas of the partition name another broker as leader",
        ),
        Step(
            "Where another replica has them: stop the broker, move the damaged partition folders "
            "away (keep them), and start it. It fetches these partitions again",
            before="that replica leads the partition, and the disk was checked",
            check="an audit of a new dump has no finding on this broker",
            cannot="records that are damaged in every replica: they stay lost",
            reversible=False,
        ),
        Step(
            "Where no other replica has them: leave the folder where it is, since without it the "
            "partition begins anew at offset 0, and a partition of __transaction_state or "
            "__consumer_offsets forgets its ids or groups. Export what can be read",
            command=EXPORT_READABLE,
            before="no backup has the segment",
            check="the table record has the offsets around the damaged ones",
        ),
        Step(
            "Where no other replica has them: stop each group that stands at or in front of a "
            "damaged batch, and set it behind that one, with the command of that range only. The "
            "command explain --incident names the groups; the table affected_group has all "
            "(before, inside). Of a topic with cleanup.policy=delete, not an internal one, the "
            "records up to there can be deleted instead (kafka-delete-records.sh), and followers "
            "go on, too",
            command=SET_BEHIND,
            before=NO_MEMBER,
            check="the groups read on",
            cannot="the records of the damaged batches",
            reversible=False,
            of=(UNREADABLE,),
            offsets=False,
        ),
    ),
)
