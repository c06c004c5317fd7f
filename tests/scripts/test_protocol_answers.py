"""broker-answers.json: what brokers are asked beside a fetch, in which order, what is noted."""

import importlib
import json
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("kafka")
SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
OLD, NEW = uuid.UUID(int=1), uuid.UUID(int=2)
OLD_TEXT, NEW_TEXT = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"


class Brokers:
    """Brokers 1 and 2; `topic_id` is that of the topic, `asked` has (broker, request)."""

    def __init__(self, topic_id: uuid.UUID | None) -> None:
        self.topic_id = topic_id
        self.asked: list[tuple[int | None, str]] = []
        self.made_again_behind: str | None = None

    def metadata(self, topics: list[str]) -> Any:
        return SimpleNamespace(brokers=[SimpleNamespace(node_id=one) for one in (1, 2)])

    def ask(self, request: Any, broker: int | None = None) -> Any:
        self.asked.append((broker, request.name))
        topics = [SimpleNamespace(name=one.name, topic_id=self.topic_id)
                  for one in getattr(request, "topics", None) or ()]  # fmt: skip
        if request.name == self.made_again_behind:
            self.topic_id = NEW
        return SimpleNamespace(
            version=1, topics=topics, transaction_states=[], to_dict=lambda: {"topics": []}
        )


def ask(folder: Path, monkeypatch: pytest.MonkeyPatch, brokers: Brokers) -> list[dict[str, Any]]:
    """The noted answers of one moment: broker 1 leads a partition, broker 2 none."""
    monkeypatch.syspath_prepend(SCRIPTS)
    told = importlib.import_module("_protocol_answers").Answers(brokers, "c")
    values = importlib.import_module("_protocol_values")
    told.ask("before", [values.Partition("orders", brokers.topic_id, 0, 1, 0, 1, 0)])
    told.write(folder)
    answers: list[dict[str, Any]] = json.loads((folder / told_name()).read_text())["answers"]
    return answers


def told_name() -> str:
    return str(importlib.import_module("_protocol_answers").NAME)


def ids_of(answers: list[dict[str, Any]]) -> list[Any]:
    return [one["answer"] for one in answers if one["request"] == "Metadata"]


def test_the_leader_tells_the_ids_of_its_topics_before_and_behind_what_it_says_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brokers = Brokers(OLD)
    noted = ids_of(ask(tmp_path, monkeypatch, brokers))
    assert noted == [{"topics": [{"name": "orders", "topic_id": OLD_TEXT}]}] * 2
    ids = [place for place, one in enumerate(brokers.asked) if one[1] == "MetadataRequest"]
    of_partitions = [place for place, one in enumerate(brokers.asked)
                     if one[1] in ("ListOffsetsRequest", "DescribeProducersRequest")]  # fmt: skip
    assert ids[0] < min(of_partitions) and max(of_partitions) < ids[1]
    assert {brokers.asked[place][0] for place in ids} == {1}


def test_a_topic_that_is_made_again_in_between_has_both_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brokers = Brokers(OLD)
    brokers.made_again_behind = "ListOffsetsRequest"
    noted = ids_of(ask(tmp_path, monkeypatch, brokers))
    assert [one["topics"][0]["topic_id"] for one in noted] == [OLD_TEXT, NEW_TEXT]


@pytest.mark.parametrize("topic_id", [None, uuid.UUID(int=0)])
def test_a_broker_before_2_8_has_no_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, topic_id: uuid.UUID | None
) -> None:
    noted = ids_of(ask(tmp_path, monkeypatch, Brokers(topic_id)))
    assert noted == [{"topics": [{"name": "orders", "topic_id": None}]}] * 2
