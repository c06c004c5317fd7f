"""What brokers said of a fetched partition, in the notation of `tests/log_builder.py`.

Each line is told before the fetch and after it, or at one moment with `moment=before` or `after`.
"""

from collections.abc import Callable, Iterable
from typing import Any

MOMENTS = ("before", "after")
# ms from the moment of the fetch.
ASKED = {"before": -2, "after": 1}
FETCHED_LATER, MADE_AGAIN = "fetched later", "made again"
# The isolation with which ListOffsets tells it.
ISOLATIONS = {"mark": 0, "stable": 1}
BROKER = 1
TOPIC_IDS = {"same": "AAAAAAAAAAAAAAAAAAAAAQ", "other": "AAAAAAAAAAAAAAAAAAAAAg", "none": None}


def answers_of(
    topic: str,
    partition: int,
    lines: Iterable[Any],
    end: int,
    pid: Callable[[int], int],
    at_ms: int,
) -> list[dict[str, Any]]:
    """Answers as broker-answers.json has them. `end`: the high watermark, where no line tells it.

    `lines`: of the type `Line` there; `pid`: a producer id of the case as that of the dump;
    `at_ms`: when the partition was fetched.
    """
    offsets = {moment: {"mark": end} for moment in MOMENTS}
    leader = dict.fromkeys(MOMENTS, 0)
    producers: dict[str, list[dict[str, int]] | None] = {moment: [] for moment in MOMENTS}
    found, known = [], True
    for line in lines:
        known &= line.verb != "id"
        moment = line.text_of("moment")
        for one in MOMENTS if moment is None else (moment,):
            if line.verb == "id":
                found.append(_topic_id(one, topic, TOPIC_IDS[line.word()]))
            else:
                _read(line, one, offsets, leader, producers, pid)
        line.end()
    for moment in MOMENTS:
        if known:
            found.append(_topic_id(moment, topic, TOPIC_IDS["same"]))
        for kind, isolation in ISOLATIONS.items():
            if kind in offsets[moment]:
                told = {"offset": offsets[moment][kind], "leader_epoch": leader[moment]}
                found.append(_answer(moment, "ListOffsets", topic, partition, told))
                found[-1]["isolation"] = isolation
        if producers[moment] is not None:
            told = {"active_producers": producers[moment]}
            found.append(_answer(moment, "DescribeProducers", topic, partition, told))
    for one in found:
        asked_ms = at_ms + ASKED[one["moment"]]
        one |= {"asked_ms": asked_ms, "answered_ms": asked_ms + 1}
    return found


def _read(
    line: Any,
    moment: str,
    offsets: dict[str, dict[str, int]],
    leader: dict[str, int],
    producers: dict[str, list[dict[str, int]] | None],
    pid: Callable[[int], int],
) -> None:
    there = producers[moment]
    if line.verb in ISOLATIONS:
        offsets[moment][line.verb] = int(line.word())
    elif line.verb == "leader":
        leader[moment] = int(line.word())
    elif line.verb == "refused":
        producers[moment] = None
    elif line.verb == "producer" and there is not None:
        there.append(
            {
                "producer_id": pid(line.number("pid", 1)),
                "producer_epoch": line.number("epoch"),
                "last_sequence": line.number("seq", -1),
                "current_txn_start_offset": line.number("open", -1),
            }
        )
    else:
        raise ValueError(f"nobody tells {line.verb}")


def _answer(
    moment: str, request: str, topic: str, partition: int, told: dict[str, Any]
) -> dict[str, Any]:
    of_partition = {"partition_index": partition, "error_code": 0, **told}
    return {
        "moment": moment,
        "request": request,
        "broker": BROKER,
        "answer": {"topics": [{"name": topic, "partitions": [of_partition]}]},
    }


def _topic_id(moment: str, topic: str, topic_id: str | None) -> dict[str, Any]:
    answer = {"topics": [{"name": topic, "topic_id": topic_id}]}
    return {"moment": moment, "request": "Metadata", "broker": BROKER, "answer": answer}


def of_coordinator(text: str) -> bool:
    """Whether a line is told by a coordinator; it needs the ids of the whole dump."""
    return text.split(maxsplit=1)[0] == "transaction"


def transactions_of(
    lines: Iterable[Any], identity: Callable[[str], str], pid: Callable[[int], int]
) -> list[dict[str, Any]]:
    """Answers to ListTransactions. `identity`: an id of the case as that of the dump."""
    found = []
    for line in lines:
        told = {
            "transactional_id": identity(line.text_of("id", "id")),
            "producer_id": pid(line.number("pid", 1)),
            "transaction_state": line.text_of("state", "Ongoing"),
        }
        only = line.text_of("moment")
        line.end()
        found += [
            {
                "moment": moment,
                "request": "ListTransactions",
                "broker": BROKER,
                "answer": {"error_code": 0, "transaction_states": [told]},
            }
            for moment in MOMENTS
            if only in (None, moment)
        ]
    return found
