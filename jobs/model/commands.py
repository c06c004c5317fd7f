"""Commands of Kafka's tools as an operator types them, each worded once, with names in braces.

Only brokers of 3.0 and newer find a transaction by its start, older ones by its producer
(TransactionsCommand, KIP-664). Topics need no quotes: a folder with a name that a shell would not
take as it is holds no partition (`jobs.model.file_names`).
"""

_BROKER = "--bootstrap-server HOST:PORT"
TOOL = f"kafka-transactions.sh {_BROKER}"
_PLACE = "--topic {topic} --partition {partition}"

DESCRIBE_PRODUCERS = f"{TOOL} describe-producers {_PLACE}"
DESCRIBE_TRANSACTION = f"{TOOL} describe --transactional-id {{transactional_id}}"
FIND_HANGING = f"{TOOL} find-hanging {_PLACE}"
ABORT_BY_START = f"{TOOL} abort {_PLACE} --start-offset {{first_offset}}"
ABORT_BY_PRODUCER = (
    f"{TOOL} abort {_PLACE} --producer-id {{producer_id}} --producer-epoch {{producer_epoch}} "
    "--coordinator-epoch {coordinator_epoch}"
)
DESCRIBE_TOPIC = f"kafka-topics.sh {_BROKER} --describe --topic {{topic}}"
# Of this project: the records of a topic as a consumer would get them, from a copy.
EXPORT_TOPIC = "./spark-submit.sh export --dump COPY --out RESCUED --topic {topic}"
SET_GROUP_BACK = (
    f"kafka-consumer-groups.sh {_BROKER} --group {{group}} --topic {{topic}}:{{partition}} "
    "--reset-offsets --to-offset {offset} --execute"
)
