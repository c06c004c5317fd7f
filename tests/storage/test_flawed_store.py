"""A store that fails now and then, or for one file, or lists what is not so any more."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from storage.flawed_store import BROKEN, BUSY, RESET, SHORT, FlawedStore, objects_of, running
from storage.test_remote_dump import listing, summaries

from jobs.collect.collect import collect
from jobs.model.errors import UsageError
from udfs.storage.connections import connect
from udfs.storage.dump_path import dump_at

pytestmark = pytest.mark.usefixtures("reader")

SAMPLE = Path(__file__).parents[1] / "dumps" / "hanging-sample"
H_0 = "broker-0/h-0/00000000000000000000.log"
FINE_0 = "broker-0/fine-0/00000000000000000000.log"


@pytest.fixture
def store() -> Iterator[FlawedStore]:
    with running(FlawedStore(objects_of(SAMPLE, "sample"))) as one:
        yield one
    connect.cache_clear()


@pytest.mark.parametrize("flaw", [BUSY, BROKEN, RESET, SHORT])
def test_one_answer_of_ten_that_fails_changes_nothing(store: FlawedStore, flaw: str) -> None:
    store.flaws, store.share = (flaw,), 0.1
    dump, local = collect([dump_at(store.uri("sample"))]), collect([SAMPLE])
    assert listing(dump) == listing(local)
    assert summaries(dump) == summaries(local)
    assert store.made[flaw]


def test_a_file_that_never_comes_is_told(
    store: FlawedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("udfs.storage.open_file.PAUSES_SECONDS", (0.0,))
    dump = collect([dump_at(store.uri("sample"))])
    store.spoiled = {f"sample/{H_0}"}
    told = summaries(dump)
    assert {path for path, one in told.items() if one["shrank"]} == {H_0}
    assert "the store answers with errors, after several tries" in told[H_0]["error"]


def test_a_listing_of_the_past_is_told_file_by_file(store: FlawedStore) -> None:
    store.listed = store.sizes()
    content = store.objects[f"sample/{H_0}"]
    del store.objects[f"sample/{FINE_0}"]
    store.objects[f"sample/{H_0}"] = content[:1000]
    dump = collect([dump_at(store.uri("sample"))])
    told = summaries(dump)
    assert {path for path, one in told.items() if one["shrank"]} == {H_0, FINE_0}
    # What was appended since is not read.
    store.objects[f"sample/{H_0}"] = content + content
    assert summaries(dump)[H_0]["length"] == len(content)


def test_an_empty_store_ends_the_command(store: FlawedStore) -> None:
    store.objects = {}
    with pytest.raises(UsageError, match="does not exist"):
        collect([dump_at(store.uri("sample"))])
