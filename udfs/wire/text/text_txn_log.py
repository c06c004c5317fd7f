"""Records of `__transaction_state` as --transaction-log-decoder prints them (`DumpLogSegments`).

Up to 3.9 the text lacks the start timestamp, None here, and the version of the transaction
protocol. A value of version 0 does not tell it, and the stored size shows such a value; any other
cannot be judged from such a text.
"""

import json
import re
from collections import Counter
from typing import Any, NamedTuple

from udfs.rules.coordinator_step import UNTOLD_VERSION
from udfs.wire.coordinator.txn_log import (
    MIN_TOPIC_SIZE,
    PARTITION_ID_SIZE,
    STATUS,
    VALUE_HEAD,
    VALUE_TIMES,
    TopicPartitions,
)
from udfs.wire.errors import WireError
from udfs.wire.fields import INT16, INT32

TOMBSTONE = "<DELETE>"
KEY, PAYLOAD = " key: ", " payload: "
JSON_KEY = '{"type":'
PLAIN_KEYS = ("transaction_metadata::transactionalId=", "transactionalId=")
# Version and length stand in front of the id in the stored key.
STORED_BEFORE_ID = 4
PLAIN_VALUE = re.compile(
    r"producerId:(-?\d{1,19}),producerEpoch:(-?\d{1,10}),state=(\w{1,40}),"
    r"partitions=(?:Set\(|\[|HashSet\()(.*)[\])],"
    r"txnLastUpdateTimestamp=(-?\d{1,19}),txnTimeoutMs=(-?\d{1,10})\Z",
    re.DOTALL,
)
PARTITION = re.compile(r"([A-Za-z0-9._-]{1,249})-(\d{1,10})")


class TextState(NamedTuple):
    """A state as it was printed; names as in `udfs.wire.coordinator.txn_log.TxnLogValue`."""

    producer_id: int
    producer_epoch: int
    timeout_ms: int
    status: int
    partitions: TopicPartitions | None
    last_update_ms: int
    start_ms: int | None
    next_producer_id: int
    client_transaction_version: int


def is_decoded(printed: bytes) -> bool:
    """Whether a record was printed by the decoder of this log."""
    starts = (JSON_KEY, *PLAIN_KEYS, "unknown::version=")
    return printed.startswith(tuple((KEY + start).encode() for start in starts))


def lacks_start(printed: bytes) -> bool:
    """Whether a record was printed by a tool up to 3.9."""
    return printed.startswith(tuple((KEY + start).encode() for start in PLAIN_KEYS))


def read_state(printed: bytes, key_size: int, value_size: int) -> tuple[str, TextState | None]:
    """(transactional id, state; None for a tombstone). Raises WireError.

    `printed`: key and value as they stand on the line; sizes are those stored, bytes.
    """
    text = printed.decode("utf-8", "replace")
    try:
        if text.startswith(KEY + JSON_KEY):
            key, end = json.JSONDecoder().raw_decode(text, len(KEY))
            name, value = str(key["data"]["transactionalId"]), text[end:]
        else:
            name, value = _plain_key(printed, key_size)
        if not value.startswith(PAYLOAD):
            raise WireError("text_unreadable", "no value is printed")
        # Nothing in a value breaks its line; what stands after is no part of it.
        value = value[len(PAYLOAD) :].partition("\n")[0].rstrip("\r")
        if value == TOMBSTONE:
            return name, None
        if value.startswith("{"):
            return name, _json_value(value)
        return name, _plain_value(value, value_size)
    except (
        ArithmeticError, ValueError, KeyError, TypeError, AttributeError, RecursionError,
    ) as error:  # fmt: skip
        if isinstance(error, WireError):
            raise
        raise WireError("text_unreadable", f"{type(error).__name__}: {error}"[:200]) from None


def _plain_key(printed: bytes, key_size: int) -> tuple[str, str]:
    """The id by its size: it may hold any character, even what looks like the value."""
    for start in PLAIN_KEYS:
        before = (KEY + start).encode()
        if printed.startswith(before):
            end = len(before) + key_size - STORED_BEFORE_ID
            if not printed.startswith(PAYLOAD.encode(), end):
                end = printed.rfind((PAYLOAD + "producerId:").encode())
                end = printed.rfind((PAYLOAD + TOMBSTONE).encode()) if end < 0 else end
            name = printed[len(before) : max(end, 0)].decode("utf-8", "replace")
            return name, printed[max(end, 0) :].decode("utf-8", "replace")
    raise WireError("text_unreadable", "the key was not printed by --transaction-log-decoder")


def _plain_size(partitions: TopicPartitions | None) -> int:
    """Stored size of a value of version 0, which names each topic once."""
    topics = Counter(topic for topic, _ in partitions or ())
    listed = sum(MIN_TOPIC_SIZE + len(t) + PARTITION_ID_SIZE * n for t, n in topics.items())
    return INT16.size + VALUE_HEAD.size + INT32.size + listed + VALUE_TIMES.size


def _plain_value(text: str, size: int) -> TextState:
    match = PLAIN_VALUE.match(text)
    if match is None:
        raise WireError("text_unreadable", f"value {text[:100]!r}")
    producer_id, epoch, status, listed, updated, timeout = match.groups()
    number, partitions = _status(status), _listed(listed)
    if size != _plain_size(partitions):
        raise WireError(
            "text_lacks_field", "the version of the transaction protocol is not printed"
        )
    return TextState(
        producer_id=int(producer_id),
        producer_epoch=int(epoch),
        timeout_ms=int(timeout),
        status=number,
        # The text prints null like an empty list; Empty has null.
        partitions=None if number == 0 and not listed else partitions,
        last_update_ms=int(updated),
        start_ms=None,
        next_producer_id=-1,
        client_transaction_version=UNTOLD_VERSION,
    )


def _listed(text: str) -> TopicPartitions:
    found = []
    for name in filter(None, re.split(r",\s*", text)):
        match = PARTITION.fullmatch(name)
        if match is None:
            raise WireError("text_unreadable", f"partition {name[:100]!r}")
        found.append((match[1], (int(match[2]),)))
    return tuple(found)


def _status(printed: Any) -> int:
    """The state by its number or its name."""
    if isinstance(printed, str) and printed in STATUS:
        return STATUS.index(printed)
    return int(printed)


def _json_value(text: str) -> TextState:
    value = json.loads(text)
    data = value["data"]
    # Early builds of 4.0 name the version `type`.
    flexible = int(value.get("version", value.get("type"))) > 0
    listed = data["transactionPartitions"]
    partitions = None
    if listed is not None:
        partitions = tuple(
            (str(one["topic"]), tuple(int(number) for number in one["partitionIds"]))
            for one in listed
        )
    return TextState(
        producer_id=int(data["producerId"]),
        producer_epoch=int(data["producerEpoch"]),
        timeout_ms=int(data["transactionTimeoutMs"]),
        status=_status(data["transactionStatus"]),
        partitions=partitions,
        last_update_ms=int(data["transactionLastUpdateTimestampMs"]),
        start_ms=int(data["transactionStartTimestampMs"]),
        next_producer_id=int(data.get("nextProducerId", -1)),
        client_transaction_version=(
            int(data.get("clientTransactionVersion", 0)) if flexible else UNTOLD_VERSION
        ),
    )
