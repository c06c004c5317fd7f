"""A segment file is missing between two others.

What it finds: a segment whose base offset is more than one above the last offset of the previous
segment.

Why it is wrong: segments follow one another without gaps (LocalLog.roll), so a whole file of
records is not in the dump.

When it is legal: retention or the cleaner removed the segment while the dump was copied; the
cleaner removed the end of the previous segment. The cleaner lists a partition in its checkpoint
when it has passed. If the checkpoint does not list it, the cleaner of another broker may have
passed, from which this one fetched (inconclusive), unless the dump has all brokers of the cluster,
all stopped cleanly, none lists it, and no copy has a gap inside of a file: then only a broker that
gave its replica away may have.

Evidence: the last batch before and the first batch after.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.conditions.cleaned import cleaned_between_files
from jobs.verify.verdict import CLEANED_RANGE, CONFIG_UNKNOWN, explained, inconclusive, suspect
from schemas.dump_partition import CLEANED
from schemas.topics import OFFSETS_TOPIC, TXN_LOG_TOPIC

CHECK = Check(
    code="segment_missing",
    severity=WARNING,
    context="offset_discontinuity",
    source="LocalLog.roll",
    fires=lambda: F.col("discontinuity") == "segment_missing",
    excuses=(
        explained(CLEANED_RANGE, lambda: cleaned_between_files(F.col("offset_first"))),
        inconclusive(
            CLEANED_RANGE, lambda: (F.col("cleaning") == CLEANED) & ~F.col("passed_by_none")
        ),
        suspect(CLEANED_RANGE, lambda: F.col("cleaning") == CLEANED),
        suspect(CONFIG_UNKNOWN),
    ),
    expected=lambda: text("a segment that begins at offset {offset_first}"),
    found=lambda: text("the next segment begins at offset {base_offset}"),
    proofs=(
        Proof("the last batch before", "previous_file", "previous_position", "previous_length"),
        Proof("the first batch after"),
    ),
    message=lambda: text(
        "Offsets {offset_first} to {offset_last} are in no segment. A file is missing from the "
        "dump, or {what}.",
        what=F.when(
            F.col("topic") == TXN_LOG_TOPIC,
            "a cleaner took them. Decisions of the coordinators in it are not known",
        )
        .when(F.col("topic") == OFFSETS_TOPIC, "a cleaner took them")
        .otherwise("retention removed it during the copy"),
    ),
    remedy=lambda: F.lit("Copy the partition again, and exclude nothing from its folder."),
)
