"""`broker-answers.json`: what brokers said beside a dump that was fetched from them.

Configuration is read here, what leaders said of partitions in told_partitions.py,
coordinators of transactional ids in told_transactions.py.
docs/live-clusters.md describes the file.
"""

import json
from collections.abc import Iterator
from typing import Any

from jobs.collect.told_partitions import partitions_told
from jobs.collect.told_transactions import transactions_told
from jobs.model.told import BrokersTold
from udfs.storage.dump_path import DumpPath
from udfs.storage.small_file import read_small
from udfs.wire import bounds

NAME = "broker-answers.json"
FORMAT = 1
LARGEST_BYTES = 1 << 28
CONFIGS, OF_TOPIC, OF_BROKER = "DescribeConfigs", 2, 4
EXPIRATION, MAX_TIMEOUT = "producer.id.expiration.ms", "transaction.max.timeout.ms"
# transaction.max.timeout.ms is an int in Kafka; one number of digits more is no configuration.
LARGEST_COUNT = (1 << 31) - 1


class AnswersError(ValueError):
    """A file that cannot be used; the message says why."""


def read_answers(folder: DumpPath) -> BrokersTold | None:
    """What the brokers said; None without the file. Raises AnswersError."""
    try:
        content = read_small(folder / NAME, LARGEST_BYTES).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise AnswersError(f"cannot be read ({why})") from error
    try:
        told = json.loads(content)
        if told["format"] != FORMAT:
            raise AnswersError(f"has format {str(told['format'])[:40]}, but only {FORMAT} is known")
        return _facts(told)
    except AnswersError:
        raise
    except RecursionError as error:
        raise AnswersError("is damaged (nested too deeply)") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise AnswersError(f"is damaged ({type(error).__name__}: {str(error)[:200]})") from error


def _facts(told: dict[str, Any]) -> BrokersTold:
    configs = list(_configs(told["answers"]))
    cluster_id = told["cluster_id"]
    return BrokersTold(
        cluster_id=None if cluster_id is None else str(cluster_id),
        partitions={
            str(topic): _number(str(number), LARGEST_COUNT)
            for topic, number in told["partitions"].items()
        },
        compacted=frozenset(
            resource
            for kind, resource, name, value in configs
            if (kind, name) == (OF_TOPIC, "cleanup.policy") and "compact" in value.split(",")
        ),
        expirations_ms=_of_brokers(configs, EXPIRATION),
        timeouts_ms=_of_brokers(configs, MAX_TIMEOUT),
        states=partitions_told(told["answers"]),
        transactions=transactions_told(told["answers"]),
    )


def _configs(answers: list[dict[str, Any]]) -> Iterator[tuple[int, str, str, str]]:
    """(kind of resource, its name, name of the option, value) of every DescribeConfigs."""
    for one in answers:
        if one["request"] != CONFIGS or "answer" not in one:
            continue
        for result in one["answer"]["results"]:
            for config in result["configs"] or ():
                if isinstance(config["value"], str):
                    yield (
                        result["resource_type"],
                        result["resource_name"],
                        config["name"],
                        config["value"],
                    )


def _of_brokers(configs: list[tuple[int, str, str, str]], wanted: str) -> frozenset[int]:
    return frozenset(
        _number(value, bounds.LATEST)
        for kind, _, name, value in configs
        if (kind, name) == (OF_BROKER, wanted)
    )


def _number(text: str, largest: int) -> int:
    """A number of 0 to `largest`. Raises ValueError."""
    if not text.isdecimal() or len(text) > 19 or int(text) > largest:
        raise ValueError(f"{text[:40]!r} is no configured number")
    return int(text)
