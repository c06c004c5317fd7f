"""A state record carries a field that this audit does not know.

What it finds: a tagged field whose tag no known version of the format has. Reported once for each
new tag of a partition.

Why it matters: the content of the field is not checked. The rest of the record is audited.

When it is legal: newer brokers add fields; readers must skip tags that they do not know.

Evidence: the first record of the partition with the tag.
"""

from pyspark.sql import functions as F

from jobs.verify.check import INFO, Check, text
from jobs.verify.verdict import VERSION_DEPENDENT, suspect

CHECK = Check(
    code="txnlog_unknown_tag",
    severity=INFO,
    context="coordinator_step",
    source="TransactionLogValue",
    fires=lambda: F.col("new_tag"),
    excuses=(suspect(VERSION_DEPENDENT),),
    expected=lambda: text("tags 0 to 3"),
    found=lambda: text("tag {unknown_tag}"),
    message=lambda: text(
        "Records of __transaction_state-{partition} have tag {unknown_tag}, first at offset "
        "{offset}. This audit does not know it."
    ),
)
