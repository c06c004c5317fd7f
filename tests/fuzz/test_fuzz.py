"""Past failures of the fuzzer, and a slice of its inputs; `make fuzz` feeds a million."""

import random
from pathlib import Path

import pytest

from fuzz import run
from fuzz.mutate import changed
from fuzz.seeds import frames, seeds
from fuzz.targets import Target
from udfs.wire.batches.batch_records import iter_batch

# Seeds of their own: what `make fuzz` begins with is fed there.
SLICE_SEED, SLICE = 7, 4_000


@pytest.fixture(scope="module")
def ready() -> list[Target]:
    return run.ready()


@pytest.mark.parametrize("path", sorted(run.FAILURES.glob("*.bin")), ids=lambda path: path.stem)
def test_a_past_failure_is_none_any_more(path: Path, ready: list[Target]) -> None:
    name, origin, data = run.kept(path)
    (target,) = [one for one in ready if one.name == name]
    assert run.feed(target, origin, data) is None


def test_a_slice_of_the_inputs(ready: list[Target]) -> None:
    fed = set()
    for number in range(SLICE):
        target, origin, data = run.made(ready, SLICE_SEED, number)
        fed.add(target.name)
        what = run.feed(target, origin, data)
        assert what is None, (SLICE_SEED, number, target.name, run.keep(target, origin, data, what))
    assert fed == {one.name for one in ready}


def test_an_input_is_a_matter_of_its_number(ready: list[Target]) -> None:
    assert [run.made(ready, 3, n)[2] for n in range(50)] == [
        run.made(ready, 3, n)[2] for n in range(50)
    ]


def test_most_changed_batches_are_read_beyond_their_checksum() -> None:
    chance = random.Random(5)
    segments = seeds()["segment"]
    read = whole = 0
    for _ in range(300):
        data = changed(chance, chance.choice(segments), segments)
        for at, size in frames(data):
            whole += 1
            try:
                read += size > 60 and bool(list(iter_batch(data[at : at + size], 1 << 20)))
            except ValueError:
                continue
    assert read > whole / 2


def test_what_takes_too_long_or_breaks_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "SECONDS_AN_INPUT", 0.1)
    monkeypatch.setattr(run, "FAILURES", tmp_path)
    run.signal.signal(run.signal.SIGVTALRM, run.too_slow)
    origin = seeds()["segment"][0]

    def endless(data: bytes, seed: object) -> None:
        while True:
            pass

    def broken(data: bytes, seed: object) -> None:
        raise IndexError(data[:1])

    slow = Target("slow", ("segment",), 1, endless)
    assert "SlowError" in (run.feed(slow, origin, b"x") or "")
    what = run.feed(Target("broken", ("segment",), 1, broken), origin, b"x") or ""
    assert "IndexError" in what
    path = run.keep(slow, origin, b"a\nb", what)
    assert run.kept(path) == ("slow", origin._replace(data=b""), b"a\nb")
