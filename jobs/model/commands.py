"""Commands of Kafka's tools as an operator types them, each worded once, with names in braces.

The tool finds a transaction by its start with a request that brokers have from 2.8 on; older ones
are asked by producer, and end whatever that has open (TransactionsCommand, KIP-664). It is in
releases from 3.0 on, and that of 4.x does not reach brokers up to 2.7. Topics need no quotes: a
folder with a name that a shell would not take as it is holds no partition
(`jobs.model.file_names`).
"""

import shlex

from udfs.rules.coordinator_step import TRANSACTION_VERSION_2
from udfs.rules.logic import Values, clipped

HIGHEST_COORDINATOR_EPOCH = (1 << 31) - 1
_BROKER = "--bootstrap-server HOST:PORT"
TOOL = f"kafka-transactions.sh {_BROKER}"
_PLACE = "--topic {topic} --partition {partition}"

DESCRIBE_PRODUCERS = f"{TOOL} describe-producers {_PLACE}"
# With "=", as the tool takes an id that begins with "-" for an option.
DESCRIBE_TRANSACTION = f"{TOOL} describe --transactional-id={{transactional_id}}"
# What is to be looked at before an abort, which cannot be taken back.
SHOW_OPEN = f"{DESCRIBE_PRODUCERS}\n{DESCRIBE_TRANSACTION}"
FIND_HANGING = f"{TOOL} find-hanging {_PLACE}"
ABORT_BY_START = f"{TOOL} abort {_PLACE} --start-offset {{first_offset}}"
ABORT_BY_PRODUCER = (
    f"{TOOL} abort {_PLACE} --producer-id {{producer_id}} --producer-epoch {{producer_epoch}} "
    "--coordinator-epoch {coordinator_epoch}"
)
# Nothing compares what the older form names with what is open.
FOR_OLDER = (
    "on brokers before 2.8, with the tool of a 3.x release, and with the producer stopped, as it "
    "ends whatever that has open"
)
DESCRIBE_TOPIC = f"kafka-topics.sh {_BROKER} --describe --topic {{topic}}"
_GROUP = f"kafka-consumer-groups.sh {_BROKER} --group {{group}}"
DESCRIBE_GROUPS = f"kafka-consumer-groups.sh {_BROKER} --describe --all-groups"
# Which groups stand there the operator looks up.
SET_BEHIND = (
    f"kafka-consumer-groups.sh {_BROKER} --group GROUP --topic {{topic}}:{{partition}} "
    "--reset-offsets --to-offset {behind} --execute"
)
DESCRIBE_GROUP = f"{_GROUP} --describe --members"
# Without --execute it would only be shown.
SET_GROUP = (
    f"{_GROUP} --topic {{topic}}:{{partition}} --reset-offsets --to-offset {{committed_offset}} "
    "--execute"
)
# Of this project: the records of a topic as a consumer would get them, from a copy. What the other
# copies lack lies above its high watermark.
EXPORT_OPEN = (
    "./spark-submit.sh export --dump COPY --out SAVED --topic {topic} --isolation read_uncommitted "
    "--to-log-end"
)
EXPORT_READABLE = "./spark-submit.sh export --dump COPY --out SAVED --topic TOPIC --to-log-end"
EXPORT_TOPIC = "./spark-submit.sh export --dump COPY --out RESCUED --topic {topic} --to-log-end"


def quoted(value: object) -> str:
    """A value as one word of a shell command on one line, which a terminal shows as it is."""
    text = str(value)
    if text.isprintable():
        return shlex.quote(text)
    shown = "".join(
        one
        if one.isprintable() and one not in "\\'"
        else "".join(f"\\x{byte:02x}" for byte in one.encode("utf-8", "surrogateescape"))
        for one in text
    )
    return f"$'{shown}'"


def takes_a_start(transaction_version: Values) -> Values:
    """Whether every broker takes ABORT_BY_START; null for a null.

    Only brokers of 4.0 and newer know transaction.version 2. `transaction_version`: that of the
    client, by the last record of the coordinator.
    """
    return transaction_version >= TRANSACTION_VERSION_2


def given_coordinator_epoch(coordinator_epoch: Values) -> Values:
    """The coordinator epoch for ABORT_BY_PRODUCER, of the newest marker of the producer there.

    -1 is that of a coordinator that never wrote one: the tool takes 0 for it.
    """
    return clipped(coordinator_epoch, 0, HIGHEST_COORDINATOR_EPOCH)
