"""Segments of a fetched partition: whole batches only, whatever arrives and wherever a run ends."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest
from scripts.protocol_fakes import batch, wrapper

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPTS)
    return importlib.import_module("_protocol_log")


def stored(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.log"))}


def test_only_whole_batches_are_stored_and_the_rest_is_asked_for_again(
    module: ModuleType, tmp_path: Path
) -> None:
    log, batches = module.PartitionLog(tmp_path), [batch(0, 3), batch(3, 2), batch(5, 1)]
    whole = b"".join(batches)
    log.begin(0)
    assert log.append(whole[:200]).size == 160
    assert log.end == 5
    # The next answer begins with a batch that is here already.
    assert log.append(b"".join(batches[1:])).size == 80
    log.close()
    assert stored(tmp_path) == {f"{0:020}.log": whole}


def test_the_first_batch_may_begin_before_the_log_start(module: ModuleType, tmp_path: Path) -> None:
    log = module.PartitionLog(tmp_path)
    log.begin(12)
    log.append(batch(10, 5))
    log.close()
    assert stored(tmp_path) == {f"{10:020}.log": batch(10, 5)}


def test_a_compacted_head_keeps_the_name_of_the_log_start_and_gaps_are_told(
    module: ModuleType, tmp_path: Path
) -> None:
    log = module.PartitionLog(tmp_path)
    log.begin(0)
    assert log.append(batch(7, 2)).gap is None
    assert log.append(batch(9, 1) + batch(15, 1)).gap == (10, 15)
    log.close()
    assert list(stored(tmp_path)) == [f"{0:020}.log"]


def test_a_segment_that_begins_with_a_wrapper_has_the_offset_behind_the_batch_before(
    module: ModuleType, tmp_path: Path
) -> None:
    log = module.PartitionLog(tmp_path, segment_bytes=100)
    log.begin(0)
    added = log.append(wrapper(2) + wrapper(6) + batch(7))
    log.close()
    assert added.gap is None
    assert list(stored(tmp_path)) == [f"{base:020}.log" for base in (0, 3, 7)]
    log = module.PartitionLog(tmp_path, segment_bytes=100)
    assert log.append(wrapper(11)).gap is None
    assert log.append(wrapper(14, codec=0)).gap == (12, 14)


def test_segments_end_before_they_grow_too_large(module: ModuleType, tmp_path: Path) -> None:
    log = module.PartitionLog(tmp_path, segment_bytes=200)
    log.begin(0)
    log.append(b"".join(batch(n) for n in range(5)))
    log.append(batch(5))
    log.close()
    assert {name: len(content) for name, content in stored(tmp_path).items()} == {
        f"{0:020}.log": 160, f"{2:020}.log": 160, f"{4:020}.log": 160,
    }  # fmt: skip


def test_wherever_a_run_was_killed_the_next_one_stores_the_same(
    module: ModuleType, tmp_path: Path
) -> None:
    batches = [batch(n, epoch=n // 2, size=80 + n) for n in range(4)]
    whole = b"".join(batches)
    for killed_at in range(len(whole) + 1):
        folder = tmp_path / str(killed_at)
        folder.mkdir()
        (folder / f"{0:020}.log").write_bytes(whole[:killed_at])
        log = module.PartitionLog(folder)
        assert log.end is not None
        assert log.leader_epoch == (-1 if log.end == 0 else (log.end - 1) // 2)
        log.append(b"".join(batches[log.end :]))
        log.close()
        assert stored(folder) == {f"{0:020}.log": whole}


def test_zeros_behind_the_last_batch_are_cut(module: ModuleType, tmp_path: Path) -> None:
    (tmp_path / f"{0:020}.log").write_bytes(batch(0) + bytes(4096))
    assert module.PartitionLog(tmp_path).end == 1
    assert stored(tmp_path) == {f"{0:020}.log": batch(0)}


def test_an_empty_segment_behind_batches_is_the_end(module: ModuleType, tmp_path: Path) -> None:
    (tmp_path / f"{0:020}.log").write_bytes(batch(0))
    (tmp_path / f"{1:020}.log").touch()
    log = module.PartitionLog(tmp_path)
    assert (log.end, log.holds_batches) == (1, True)
    log.append(batch(1))
    log.close()
    assert stored(tmp_path) == {f"{0:020}.log": batch(0), f"{1:020}.log": batch(1)}


def test_a_cut_keeps_what_it_takes_away(module: ModuleType, tmp_path: Path) -> None:
    log = module.PartitionLog(tmp_path, segment_bytes=160)
    log.begin(0)
    log.append(b"".join(batch(n) for n in range(5)))
    assert log.cut(1) == 4 * 80
    assert log.end == 1
    log.append(batch(1, epoch=7))
    log.close()
    assert stored(tmp_path) == {f"{0:020}.log": batch(0) + batch(1, epoch=7)}
    kept = sorted(tmp_path.glob("*.cut"))
    assert b"".join(path.read_bytes() for path in kept) == b"".join(batch(n) for n in range(1, 5))


def test_a_batch_across_the_end_is_another_log(module: ModuleType, tmp_path: Path) -> None:
    log = module.PartitionLog(tmp_path)
    log.begin(0)
    log.append(batch(0, 3))
    with pytest.raises(module.RewrittenError):
        log.append(batch(2, 4))
    log.close()


@pytest.mark.parametrize("broken", [bytes(61), b"\xff" * 80, batch(0)[:8] + bytes(60)])
def test_what_is_no_batch_is_never_stored(
    module: ModuleType, tmp_path: Path, broken: bytes
) -> None:
    log = module.PartitionLog(tmp_path)
    with pytest.raises(module.BrokenBatchError):
        log.append(broken)
    assert stored(tmp_path) == {}


def test_messages_of_the_old_formats_are_stored_too(module: ModuleType, tmp_path: Path) -> None:
    old = (0).to_bytes(8, "big") + (22).to_bytes(4, "big") + bytes(4) + b"\1" + bytes(17)
    log = module.PartitionLog(tmp_path)
    log.append(old)
    log.close()
    assert (log.end, log.leader_epoch) == (1, -1)
    assert module.PartitionLog(tmp_path).end == 1
