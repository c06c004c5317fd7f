"""A record of the group coordinator's log cannot be decoded.

What it finds: a key of an offset commit or a classic group in `__consumer_offsets`, or its value,
that does not follow its format, or has bytes left over.

Why it is wrong: the coordinator reads the whole partition when it takes it over; a record it
cannot read makes it fail, or lose the committed offset.

When it is legal: a newer broker may write a newer version, which this audit does not know. Records
of consumer, share and streams groups are not decoded and never told here.

Evidence: the batch of the record.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.conditions import unstable_tail
from jobs.verify.verdict import TEXT_DUMP_LACKS_FIELD, VERSION_DEPENDENT, inconclusive

CHECK = Check(
    code="offsets_undecodable",
    severity=ERROR,
    context="group_record",
    source="GroupMetadataManager.readMessageKey, CoordinatorRecordSerde",
    fires=lambda: F.col("what") == "undecodable",
    excuses=(
        inconclusive(TEXT_DUMP_LACKS_FIELD, lambda: F.col("error").startswith("text_")),
        inconclusive(VERSION_DEPENDENT, lambda: F.col("error").startswith("unknown_version")),
        unstable_tail(),
    ),
    expected=lambda: text("a key and value of a known version"),
    found=lambda: text("{error}"),
    message=lambda: text(
        "The record at offset {offset} of {topic}-{partition} (group {group}) cannot be decoded: "
        "{error}."
    ),
    remedy=lambda: text(
        "Copy the segment again; if it stays so, take the record from another replica."
    ),
    needs_records=True,
)
