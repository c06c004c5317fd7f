"""A world as it is fetched over the protocol: data, a manifest, and what its brokers answered.

All of it is true. Leaders and coordinators are asked before the fetch and after it, and nothing
moves between.
"""

import json
from typing import Any

from laws.dump_files import MANIFEST, META, Directory, Partition

from model.log import Log
from model.world import CLUSTER, World
from schemas.coordinator_states import STATE_NAMES

ANSWERS = "broker-answers.json"
MOMENTS = {"before": -2, "after": 1}
# The isolation with which ListOffsets tells it.
HIGH_WATERMARK, STABLE = 0, 1
BROKER = 1


def fetched(world: World) -> list[Directory]:
    """The folder of the fetch, and in it the first copy of the coordinator's log."""
    folder = Directory(f"{world.index:03}-fetched")
    folder.files = {
        META: f"version=1\ncluster.id={CLUSTER}\n".encode(),
        MANIFEST: _json(_manifest(world)),
        ANSWERS: _json(
            {"format": 1, "cluster_id": CLUSTER, "partitions": {}, "answers": _answers(world)}
        ),
    }
    folder.partitions = [_bare(log) for log in world.logs]
    first = Directory(f"{folder.name}/before")
    first.partitions = [_bare(log) for log in world.coordinators.values()]
    return [folder, first]


def _json(told: dict[str, Any]) -> bytes:
    return json.dumps(told).encode()


def _bare(log: Log) -> Partition:
    """One file: segments and side files of a broker cannot be fetched."""
    content = b"".join(part for one in log.segments for part in one.parts)
    return Partition(log.topic, log.number, {f"{0:020}.log": content})


def _manifest(world: World) -> dict[str, Any]:
    copies = [
        {
            "path": f"{log.topic}-{log.number}", "copy_start_ms": world.now,
            "copy_end_ms": world.now, "high_watermark": log.end, "log_start": 0,
            "end_offset": log.end, "fetched_from": 0,
        }
        for log in world.logs
    ]  # fmt: skip
    return {"format": 1, "fetched": True, "directories": copies}


def _answers(world: World) -> list[dict[str, Any]]:
    """Of each moment: offsets and producers of each partition, and all transactional ids."""
    found = []
    for moment, from_now_ms in MOMENTS.items():
        asked = {"moment": moment, "broker": BROKER, "asked_ms": world.now + from_now_ms}
        asked["answered_ms"] = world.now + from_now_ms + 1
        for log in world.logs:
            found += [asked | one for one in _of_partition(log)]
        found.append(asked | _transactions(world))
    return found


def _of_partition(log: Log) -> list[dict[str, Any]]:
    def told(request: str, **facts: object) -> dict[str, Any]:
        of_partition = {"partition_index": log.number, "error_code": 0, **facts}
        answer = {"topics": [{"name": log.topic, "partitions": [of_partition]}]}
        return {"request": request, "answer": answer}

    producers = [
        {
            "producer_id": one.producer_id, "producer_epoch": one.producer_epoch,
            "last_sequence": one.last_sequence,
            "current_txn_start_offset": one.current_txn_first_offset,
        }
        for one in log.states.values()
    ]  # fmt: skip
    offsets = {HIGH_WATERMARK: log.end, STABLE: log.stable}
    return [
        *(
            told("ListOffsets", offset=offset, leader_epoch=log.leader_epoch) | {"isolation": kind}
            for kind, offset in offsets.items()
        ),
        told("DescribeProducers", active_producers=producers),
    ]


def _transactions(world: World) -> dict[str, Any]:
    states = [
        {
            "transactional_id": name, "producer_id": producer_id,
            "transaction_state": STATE_NAMES[status],
        }
        for name, (producer_id, status) in sorted(world.states.items())
    ]  # fmt: skip
    return {
        "request": "ListTransactions",
        "answer": {"error_code": 0, "transaction_states": states},
    }
