"""The second opinion itself: that it is one, and that brokers agree with it."""

import ast
import random
import sys
from pathlib import Path

import pytest
from log_builder import LogBuilder

from second_opinion import exports, replay
from second_opinion.answers import answers, unpacked
from second_opinion.random_logs import RandomLog, write_logs

DUMPS = Path(__file__).resolve().parent.parent / "dumps"
MOST_LINES = 400
LIBRARIES = {"google_crc32c", "pyarrow"}
# Every magic, every codec and an operator; a hanging transaction; compaction.
ASKED = ("v28-legacy-format", "v39-hanging", "tv2-compaction")
LOGS = 300


def test_it_knows_nothing_of_ours_and_stays_small() -> None:
    text = Path(replay.__file__).read_text()
    imported = {
        name.name.partition(".")[0] if isinstance(node, ast.Import) else node.module
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    modules = {str(one).partition(".")[0] for one in imported}
    assert modules - LIBRARIES <= set(sys.stdlib_module_names)
    assert len(text.splitlines()) <= MOST_LINES


@pytest.mark.parametrize("name", ASKED)
def test_brokers_say_the_same_of_their_dumps(name: str, tmp_path: Path) -> None:
    told = list(answers(unpacked(DUMPS / f"{name}.tar.gz", tmp_path)))
    assert [one for one in told if one.differs] == []
    assert {"last stable offset", "read_committed offsets"} <= {one.what for one in told}


def test_the_kernel_of_the_export_gives_what_the_opinion_gives() -> None:
    wrong, offsets = exports.differing(range(500_000, 500_000 + LOGS))
    assert wrong == []
    assert offsets > LOGS


def folder_of(tmp_path: Path, *lines: str) -> Path:
    log = LogBuilder()
    for line in lines:
        log.add(line)
    folder = tmp_path / "t-0"
    folder.mkdir()
    for base, content in log.segments.items():
        (folder / f"{base:020}.log").write_bytes(content)
    return folder


def test_an_aborted_transaction_beside_an_open_one(tmp_path: Path) -> None:
    lines = ("txn pid=1 n=2", "txn pid=2", "abort pid=1", "plain", "roll", "txn pid=1 epoch=1")
    told = replay.opinion(folder_of(tmp_path, *lines))
    assert told.aborted == [replay.Aborted(1, 0, 3, 2)]
    assert (told.log_end, told.last_stable, told.received) == (6, 2, [])
    assert told.open == told.in_log == [(1, 5), (2, 2)]


def test_what_a_marker_decides_above_the_high_watermark_is_not_stable(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "plain", "txn pid=1", "commit pid=1", "plain")
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\nt 0 2\n")
    told = replay.opinion(folder)
    assert (told.last_stable, told.received, told.open) == (1, [0], [])


def test_what_no_broker_loads_is_refused(tmp_path: Path) -> None:
    with pytest.raises(replay.RefusedError, match="no transactional write at 1"):
        replay.opinion(folder_of(tmp_path, "txn pid=1", "data pid=1"))


def test_damage_ends_the_reading(tmp_path: Path) -> None:
    told = replay.opinion(folder_of(tmp_path, "plain", "plain crc=bad", "plain"))
    assert (told.damage or "").endswith(".log at 71: checksum")
    assert told.log_end == 1


def test_random_logs_have_everything_and_are_a_matter_of_their_seed(tmp_path: Path) -> None:
    write_logs(tmp_path / "b", range(LOGS))
    told = [replay.opinion(one) for one in (tmp_path / "b").iterdir() if one.is_dir()]
    assert len(told) == LOGS
    assert not any(one.damage for one in told)
    for has in (
        [one.aborted for one in told], [one.open for one in told], [one.received for one in told],
        [one.last_stable < one.high_watermark for one in told],
        [one.high_watermark < one.log_end for one in told],
    ):  # fmt: skip
        assert LOGS / 50 < sum(map(bool, has)) < LOGS
    again = [RandomLog(random.Random(8)).segments for _ in range(2)]
    assert again[0] == again[1]
