"""Tables of incidents: causes, the findings that each explains, and what they did to readers.

Nothing is written of an audit without a violation. No incident changes the verdict of a finding.
"""

from pyspark.sql.types import StringType

from schemas.columns import AUDIT_ID, PLACE, array, boolean, integer, long, string, table

# Where a group stands (AFFECTED_GROUP.position).
READ, INSIDE, BEFORE, OWN = POSITIONS = ("read", "inside", "before", "own")

STEP = table(
    string("what", "what to do"),
    string("command", "command line, quoted for a shell; null where there is none"),
    string("before", "what must be true before it is done"),
    string("check", "how to see that it worked"),
    string("cannot", "what it does not repair"),
    boolean("reversible", "whether it can be taken back"),
)

INCIDENT = table(
    AUDIT_ID,
    integer("incident", "number in this audit, from 1; the one with most violations first"),
    string("kind", "signature of docs/incidents.md, or unexplained"),
    string("grade", "proven, consistent (fits, but another cause would fit too) or unexplained"),
    string("title", "the cause in one sentence"),
    string("why", "why it led to these findings"),
    string("known_bug", "bug of Kafka and the releases it was seen in; null for none"),
    integer("broker", "broker concerned; null where it is not about one broker"),
    long("findings", "findings that it explains, of any verdict"),
    long("violations", "violations among them"),
    long("places", "replicas (a partition on a broker) in which they show"),
    array("topics", StringType(), "topics concerned, the first 20"),
    long("since_ms", "earliest timestamp, of broker or client, of an effect, ms; null: none"),
    array("steps", STEP, "what to do, in this order; nothing is ever executed"),
)

INCIDENT_FINDING = table(
    AUDIT_ID,
    integer("incident", "number of the incident"),
    string("code", "code of the finding, as in the table violation; so are the next columns"),
    string("verdict", "violation, suspect or inconclusive"),
    string("reason", "reason of the finding"),
    *PLACE,
    long("offset_first", "first offset concerned, inclusive"),
    long("producer_id", "producer id; null where none"),
    integer("producer_epoch", "producer epoch; null where none"),
    string("file", "path relative to the dump"),
    long("byte_position", "start of the batch or entry that proves it, bytes"),
)

CONSEQUENCE = table(
    AUDIT_ID,
    integer("incident", "number of the incident"),
    *PLACE,
    string(
        "kind",
        "aborted_records_visible, committed_records_invisible, records_blocked, records_lost (of "
        "committed transactions), plain_records_lost (written outside of transactions), "
        "replicated_records_lost (that no replica has), records_stored_twice, "
        "records_unreadable (damaged in a copy that consumers may read) or offsets_went_back",
    ),
    long(
        "first_offset",
        "first offset concerned, inclusive; null where nothing tells. A row is a range of "
        "neighbouring offsets: no records of others lie in it, except where it is blocked: from an "
        "open transaction to the end, a row for each that nothing will end",
    ),
    long(
        "last_offset",
        "last offset concerned, inclusive; null where no copy tells, of what is lost in all",
    ),
    long(
        "transactions",
        "transactions concerned that begin in the range; null where it is not about transactions",
    ),
    long(
        "records",
        "records concerned, of records_unreadable offsets; null where the dump does not show how "
        "many, and of records_blocked where another row of the copy counts them",
    ),
    long("since_ms", "timestamp of the first batch concerned, ms; null: unknown"),
    boolean(
        "provable",
        "false where the dump shows that it happened, but not to how many records; records is then "
        "the upper bound, or null",
    ),
    string(
        "ended_by",
        "of records_blocked, what ends the open transaction that the row is about: decided "
        "(its marker is due), running (the coordinator runs one that has joined it; its marker), "
        "abort, or save_and_abort (it may be committed); else null, as in the next columns",
    ),
    long("producer_id", "its producer id"),
    integer("producer_epoch", "highest epoch of its data"),
    long("start_offset", "its own first offset, which may lie below the log start"),
    integer(
        "coordinator_epoch",
        "for its abort on brokers before 2.8; null where all brokers are 4.0 or newer",
    ),
    string("transactional_id", "its transactional id, if the coordinator's log has it"),
)

AFFECTED_GROUP = table(
    AUDIT_ID,
    integer("incident", "number of the incident"),
    string("group", "consumer group"),
    string("topic", "topic name"),
    integer("partition", "partition number"),
    string("kind", "kind of the consequence; derived_records for a range of the table affected"),
    long(
        "first_offset",
        "first affected offset, inclusive; where position is own, one of __consumer_offsets",
    ),
    long("last_offset", "last affected offset, inclusive; the same; null where nothing tells"),
    long("committed_offset", "newest offset that the group committed there"),
    string(
        "position",
        "read (beyond the range), inside (in it), before, or own: committed_offset is that of a "
        "commit in the range, which is one of __consumer_offsets",
    ),
)

AFFECTED = table(
    AUDIT_ID,
    integer("incident", "number of the incident"),
    string("topic", "topic that applications downstream of them wrote to in transactions"),
    integer("partition", "partition number"),
    string(
        "state",
        "suspect (computed from affected records, or maybe so), clean (downstream, "
        "without them) or unknown (downstream, and commits that would tell may be gone)",
    ),
    integer("depth", "applications between the affected records and this partition"),
    string("application", "consumer group of the last of these applications"),
    long("first_offset", "first suspect offset, inclusive; null where not suspect"),
    long("last_offset", "last suspect offset, inclusive; null where not suspect"),
    long("transactions", "transactions that wrote there since; null where not suspect"),
    long("records", "records in them, 0 where clean; null where unknown"),
    string("path", "from the affected partition to this one: partitions and groups in turn"),
)

INCIDENT_EVENT = table(
    AUDIT_ID,
    integer("incident", "number of the incident"),
    long("at_ms", "when it happened, ms, by the clock of the broker or controller that wrote it"),
    string(
        "event",
        "first_affected, last_affected, prepare_commit, prepare_abort, complete_commit, "
        "complete_abort, producer_started, read_by_group, broker_registered, broker_fenced, "
        "broker_unfenced, broker_stopping, leader_elected, leader_elected_uncleanly or no_leader",
    ),
    *PLACE,
    long("offset", "offset of what is affected, or of the coordinator's record; null for none"),
    long("producer_id", "producer id; null where none"),
    integer("producer_epoch", "producer epoch; null where none"),
    string("detail", "transactional id or group; null where none"),
)
