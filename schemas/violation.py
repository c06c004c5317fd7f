"""Table `violation`: one row is a finding, with the evidence to check it again from the bytes."""

from schemas.columns import AUDIT_ID, array, integer, long, string, table

EVIDENCE = table(
    string("file", "path relative to the dump"),
    long("byte_position", "start of the batch or entry, bytes; of TEXT!/FILE the line"),
    long("byte_length", "its size, bytes; of TEXT!/FILE lines"),
    string("role", "what these bytes show"),
)

FINDING_PLACE = table(
    string("topic", "topic name"),
    integer("partition", "partition number"),
    integer("broker", "broker id"),
    long("offset_first", "first offset concerned, inclusive"),
    long("offset_last", "last offset concerned, inclusive"),
    string("file", "path relative to the dump"),
    long("byte_position", "start of the batch or entry that proves it, bytes"),
)

FINDING_COLUMNS = (
    string("code", "check code of docs/checks.md"),
    string("severity", "error, warning or info"),
    string("verdict", "violation, suspect or inconclusive"),
    string("reason", "stable reason name of a suspect or inconclusive finding; else null"),
    string("topic", "topic name"),
    integer("partition", "partition number"),
    integer("broker", "broker id"),
    long("offset_first", "first offset concerned, inclusive"),
    long("offset_last", "last offset concerned, inclusive"),
    long("producer_id", "producer id; null where none"),
    integer("producer_epoch", "producer epoch; null where none"),
    string("transactional_id", "transactional id, where known"),
    string("file", "path relative to the dump"),
    long(
        "byte_position", "start of the batch or entry that proves it, bytes; of TEXT!/FILE the line"
    ),
    string("expected", "what the rule requires"),
    string("found", "what the dump has"),
    array("evidence", EVIDENCE, "at most five batches or entries that prove it"),
    string("message", "one sentence for a person"),
    string("remedy", "what an operator does; null where there is nothing to do"),
    string("cause_id", "equal for findings of one cause; null where each has its own cause"),
)

# By these a row of `incident_finding` and one of `violation` are the same finding.
FINDING_KEY = (
    "code", "verdict", "reason", "broker", "topic", "partition", "offset_first", "producer_id",
    "producer_epoch", "file", "byte_position",
)  # fmt: skip

VIOLATION = table(
    AUDIT_ID,
    *FINDING_COLUMNS,
    array("places", FINDING_PLACE, "all places of the finding if it has several; else null"),
)
