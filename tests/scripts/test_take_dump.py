"""take_dump.py: what it copies, in which order, and what it promises when brokers go on writing."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jobs.collect.collect import collect

ROOT = Path(__file__).resolve().parents[2]
FIRST, SECOND = "00000000000000000000", "00000000000000000100"
HW = "0\n2\norders 0 150\n__transaction_state 0 7\n"

# A far shell that does something to the source each time it has sent files.
MEDDLER = """
cat >"$1/script"
sh "$1/script"
code=$?
if grep -q '^tar ' "$1/script"; then
    cat "$1/script" >>"$1/sent"
    . "$1/meddle"
fi
exit $code
"""


class Broker:
    """A small log directory, and a far shell that can be made to meddle with it."""

    def __init__(self, folder: Path, number: int = 1) -> None:
        self.folder = folder / f"kafka {number}"
        self.shell = folder / f"shell-{number}"
        self.put("meta.properties", f"version=1\nnode.id={number}\ncluster.id=c\n")
        self.put("replication-offset-checkpoint", HW)
        self.put(".lock", "")
        self.put(f"orders-0/{FIRST}.log", "first")
        self.put(f"orders-0/{FIRST}.index", "\0" * 4096)
        self.put(f"orders-0/{SECOND}.log", "second")
        self.put("a.b-1/00000000000000000000.log", "other topic")
        self.put("__transaction_state-0/00000000000000000000.log", "state")
        self.put("__consumer_offsets-3/00000000000000000000.log", "offsets")
        self.shell.mkdir()
        (self.shell / "run.sh").write_text(MEDDLER)
        self.meddle("")

    def put(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def meddle(self, commands: str) -> None:
        (self.shell / "meddle").write_text(f'cd "{self.folder}"\n{commands}\n')

    def sent(self) -> list[str]:
        """Names of the files that were sent, in order, since the last call."""
        record = self.shell / "sent"
        words = record.read_text().split()
        record.unlink()
        return [word[2:] for word in words if word.endswith((".log", ".index"))]

    @property
    def far(self) -> tuple[str, ...]:
        """The arguments that reach it through the meddling shell."""
        return "--through", f"sh {self.shell}/run.sh {self.shell}", f"far:{self.folder}"

    def state(self) -> dict[str, tuple[int, int, bytes]]:
        """Everything that a copy could have changed."""
        return {
            str(path): (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
            for path in self.folder.rglob("*")
            if path.is_file()
        }


class Copied:
    """A dump as it was taken."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest: dict[str, Any] = json.loads((folder / "dump-manifest.json").read_text())

    def paths(self, *roles: str) -> list[str]:
        entries = self.manifest["directories"]
        return [entry["path"] for entry in entries if not roles or entry["role"] in roles]

    def entry(self, path: str) -> dict[str, Any]:
        (entry,) = [e for e in self.manifest["directories"] if e["path"] == path]
        return dict(entry)

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()


def take(to: Path, *arguments: object, code: int = 0) -> str:
    """Runs the script; what it said."""
    command = [sys.executable, str(ROOT / "scripts/take_dump.py"), "--to", str(to)]
    done = subprocess.run(
        [*command, *map(str, arguments)], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    return done.stderr


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    return Broker(tmp_path)


def test_a_copy_is_the_log_directory_with_the_coordinators_twice(
    tmp_path: Path, broker: Broker
) -> None:
    broker.put(f"orders-0/{SECOND}.log.deleted", "gone soon")
    broker.put(f"-dash-7/{FIRST}.log", "an odd but legal name")
    broker.put(f"orders-1.{'0' * 32}-delete/{FIRST}.log", "gone soon")
    broker.put(f"__cluster_metadata-0/{FIRST}.log", "credentials")
    before = broker.state()
    take(tmp_path / "dump", broker.folder)
    assert broker.state() == before
    copied = Copied(tmp_path / "dump/broker-1")
    here = {
        str(path.relative_to(copied.folder)): path.read_bytes()
        for path in copied.folder.rglob("*")
        if path.is_file() and path.name != "dump-manifest.json"
    }
    there = {str(Path(p).relative_to(broker.folder)): v[2] for p, v in before.items()}
    unwanted = (".deleted", ".lock")
    assert here == {
        n: v for n, v in there.items() if not n.endswith(unwanted) and "-1." not in n
        and not n.startswith("__cluster")
    } | {f"before/__transaction_state-0/{FIRST}.log": b"state"}  # fmt: skip
    assert copied.paths("before") == ["before/__transaction_state-0"]
    assert sorted(copied.paths("data")) == [
        "-dash-7", "__consumer_offsets-3", "a.b-1", "orders-0",
    ]  # fmt: skip
    assert copied.paths()[-1] == "__transaction_state-0"
    assert copied.manifest["finished"] is True
    left_out = {entry["name"].partition(".")[0] for entry in copied.manifest["left_out"]}
    assert left_out == {"__cluster_metadata-0", "orders-1"}


def test_the_manifest_tells_moment_and_high_watermark(tmp_path: Path, broker: Broker) -> None:
    take(tmp_path / "dump", broker.folder)
    copied = Copied(tmp_path / "dump/broker-1")
    starts = [entry["copy_start_ms"] for entry in copied.manifest["directories"]]
    assert starts == sorted(starts)
    orders, state = copied.entry("orders-0"), copied.entry("before/__transaction_state-0")
    assert orders["copy_start_ms"] < orders["copy_end_ms"]
    assert (orders["high_watermark"], state["high_watermark"]) == (150, 7)
    assert copied.entry("a.b-1")["high_watermark"] is None
    assert (orders["topic"], orders["partition"], orders["settled"]) == ("orders", 0, True)
    assert (orders["files"], orders["bytes"]) == (3, len("first") + 4096 + len("second"))


def test_an_audit_sees_the_log_directory_and_not_the_first_copy(
    tmp_path: Path, broker: Broker
) -> None:
    take(tmp_path / "dump", broker.folder)
    seen = collect([tmp_path / "dump"])
    partitions = sorted((p.topic, p.partition, p.broker) for p in seen.partitions)
    assert partitions == [
        ("__consumer_offsets", 3, 1), ("__transaction_state", 0, 1), ("a.b", 1, 1), ("orders", 0, 1)
    ]  # fmt: skip
    assert seen.unreadable == []


def test_what_is_appended_meanwhile_is_not_copied_again(tmp_path: Path, broker: Broker) -> None:
    broker.meddle(f"printf more >>orders-0/{SECOND}.log; printf new >orders-0/{'9' * 20}.log")
    take(tmp_path / "dump", *broker.far)
    copied = Copied(tmp_path / "dump/broker-1")
    assert copied.entry("orders-0")["settled"] is True
    assert broker.sent().count(f"{SECOND}.log") == 1
    assert copied.text(f"orders-0/{SECOND}.log").startswith("second")


def test_segments_compacted_meanwhile_are_taken_again_and_their_originals_dropped(
    tmp_path: Path, broker: Broker
) -> None:
    broker.meddle(
        f"cd orders-0; [ -e {SECOND}.log ] || return 0; printf firstsecond >{FIRST}.log.swap\n"
        f"rm {SECOND}.log; mv {FIRST}.log.swap {FIRST}.log"
    )
    take(tmp_path / "dump", "--topic", "orders", *broker.far)
    copied = Copied(tmp_path / "dump/broker-1")
    assert copied.text(f"orders-0/{FIRST}.log") == "firstsecond"
    assert not (copied.folder / f"orders-0/{SECOND}.log").exists()
    assert copied.entry("orders-0")["settled"] is True


def test_a_file_cut_meanwhile_is_taken_again(tmp_path: Path, broker: Broker) -> None:
    broker.meddle(f"printf fi >orders-0/{FIRST}.log")
    take(tmp_path / "dump", "--topic", "orders", *broker.far)
    assert Copied(tmp_path / "dump/broker-1").text(f"orders-0/{FIRST}.log") == "fi"


def test_files_that_never_settle_are_told(tmp_path: Path, broker: Broker) -> None:
    name = f"orders-0/{FIRST}.log"
    broker.meddle(f"[ -d orders-0 ] && cp {name} x && mv x {name}")
    said = take(tmp_path / "dump", *broker.far)
    copied = Copied(tmp_path / "dump/broker-1")
    assert copied.entry("orders-0")["settled"] is False
    assert copied.entry("a.b-1")["settled"] is True
    assert "orders-0" in said.splitlines()[-2]


def test_a_partition_deleted_meanwhile_is_left_out(tmp_path: Path, broker: Broker) -> None:
    broker.meddle("rm -rf a.b-1")
    take(tmp_path / "dump", *broker.far)
    copied = Copied(tmp_path / "dump/broker-1")
    assert "a.b-1" not in copied.paths()
    assert not (copied.folder / "a.b-1").exists()


def test_a_broker_started_meanwhile_had_not_stopped_cleanly(tmp_path: Path, broker: Broker) -> None:
    broker.put(".kafka_cleanshutdown", "{}")
    take(tmp_path / "at rest", broker.folder)
    assert (tmp_path / "at rest/broker-1/.kafka_cleanshutdown").exists()
    broker.meddle("[ -e orders-0/started ] || { touch orders-0/started; rm .kafka_cleanshutdown; }")
    broker.shell.joinpath("sent").unlink(missing_ok=True)
    take(tmp_path / "started", *broker.far)
    assert not (tmp_path / "started/broker-1/.kafka_cleanshutdown").exists()


def test_an_interrupted_copy_goes_on_and_sends_nothing_twice(
    tmp_path: Path, broker: Broker
) -> None:
    run = broker.shell / "run.sh"
    whole = run.read_text()
    # The connection breaks behind the index and the first segment.
    breaking = f'grep -q {SECOND} "$1/script" && {{ sh "$1/script" | head -c 5700; exit 255; }}\n'
    run.write_text(whole.replace("sh ", breaking + "sh ", 1))
    said = take(tmp_path / "dump", *broker.far, code=3)
    assert "same command" in said
    copied = Copied(tmp_path / "dump/broker-1")
    assert (copied.manifest["finished"], copied.paths("before", "after")) == (
        False, ["before/__transaction_state-0"],
    )  # fmt: skip
    run.write_text(whole)
    broker.sent()
    take(tmp_path / "dump", *broker.far)
    sent, copied = broker.sent(), Copied(tmp_path / "dump/broker-1")
    assert f"{SECOND}.log" in sent
    assert f"{FIRST}.index" not in sent
    assert copied.manifest["finished"] is True
    assert copied.text(f"orders-0/{FIRST}.log") == "first"
    assert copied.text(f"orders-0/{SECOND}.log") == "second"
    said = take(tmp_path / "dump", *broker.far)
    assert "finished before" in said and "give another --to" in said
    assert not (broker.shell / "sent").exists()


def test_no_broker_begins_a_step_before_all_have_ended_the_one_before(tmp_path: Path) -> None:
    brokers = [Broker(tmp_path, 1), Broker(tmp_path, 2)]
    said = take(tmp_path / "dump", *(b.folder for b in brokers))
    steps = [line.split()[2].rstrip(",") for line in said.splitlines()[:-1]]
    assert steps == sorted(steps, key=("before", "data", "after").index)
    assert {line.split()[1] for line in said.splitlines()[:-1]} == {"broker-1:", "broker-2:"}


def test_steps_can_be_taken_one_by_one_in_their_order(tmp_path: Path, broker: Broker) -> None:
    said = take(tmp_path / "dump", "--step", "after", broker.folder, code=3)
    assert "step before has to come before step after" in said
    for step in ("before", "data", "after"):
        take(tmp_path / "dump", "--step", step, broker.folder)
    one_by_one = Copied(tmp_path / "dump/broker-1")
    assert one_by_one.manifest["finished"] is True
    assert one_by_one.paths()[0] == "before/__transaction_state-0"
    assert one_by_one.paths()[-1] == "__transaction_state-0"


def test_a_snapshot_is_one_moment(tmp_path: Path, broker: Broker) -> None:
    take(tmp_path / "dump", "--taken-at", "1795236470221", broker.folder)
    copied = Copied(tmp_path / "dump/broker-1")
    assert len(copied.paths()) == 4
    assert not (copied.folder / "before").exists()
    for entry in copied.manifest["directories"]:
        assert (entry["role"], entry["copy_start_ms"], entry["copy_end_ms"]) == (
            "data", 1795236470221, 1795236470221,
        )  # fmt: skip
    assert copied.manifest["finished"] is True
    assert copied.manifest["taken_at_ms"] == 1795236470221
    assert "of another copy: its taken_at_ms" in take(tmp_path / "dump", broker.folder, code=2)


def test_topics_are_chosen_and_the_internal_ones_come_along(tmp_path: Path, broker: Broker) -> None:
    take(tmp_path / "dump", "--topic", "a.*", broker.folder)
    copied = Copied(tmp_path / "dump/broker-1")
    assert copied.paths("data") == ["__consumer_offsets-3", "a.b-1"]


def test_metadata_are_copied_last_where_they_are_asked_for(tmp_path: Path, broker: Broker) -> None:
    broker.put(f"__cluster_metadata-0/{FIRST}.log", "policies")
    broker.put(f"__cluster_metadata-0/{SECOND}-0000000001.checkpoint", "state")
    take(tmp_path / "dump", "--metadata", "--topic", "orders", broker.folder)
    copied = Copied(tmp_path / "dump/broker-1")
    assert copied.paths("data") == ["__consumer_offsets-3", "orders-0"]
    assert copied.paths("after") == ["__transaction_state-0", "__cluster_metadata-0"]
    (metadata,) = collect([tmp_path / "dump"]).metadata_logs
    assert [file.kind for file in metadata.files] == ["metadata_log", "metadata_snapshot"]
    take(tmp_path / "snapshot", "--metadata", "--taken-at", "1795236470221", broker.folder)
    assert Copied(tmp_path / "snapshot/broker-1").paths()[-1] == "__cluster_metadata-0"


def test_several_log_directories_of_a_broker_lie_side_by_side(tmp_path: Path) -> None:
    one, other = Broker(tmp_path, 1), Broker(tmp_path, 2)
    other.put("meta.properties", "version=1\nnode.id=1\ncluster.id=c\n")
    take(tmp_path / "dump", one.folder, other.folder)
    assert sorted(p.name for p in (tmp_path / "dump").iterdir()) == ["broker-1", "broker-1-2"]


def test_what_is_wrong_is_said_in_a_sentence(tmp_path: Path, broker: Broker) -> None:
    stranger = Broker(tmp_path, 3)
    stranger.put("meta.properties", "version=1\nnode.id=3\ncluster.id=d\n")
    (tmp_path / "empty").mkdir()
    cases: list[tuple[tuple[object, ...], str]] = [
        ((tmp_path / "empty",), "meta.properties"),
        ((tmp_path / "absent",), "absent is not a folder"),
        ((broker.folder, broker.folder), "given twice"),
        ((broker.folder, stranger.folder), "several clusters: c, d"),
        (("--topic", "ordres", broker.folder), "did you mean orders?"),
        (("--metadata", broker.folder), "the option metadata.log.dir"),
        ((), "the following arguments are required: SOURCE, or --bootstrap"),
        (("-oProxyCommand=x:/y",), "unrecognized arguments: -oProxyCommand=x:/y"),
        (("--", "-oProxyCommand=x:/y"), "is not a source"),
        (("--taken-at", "5", "--step", "data", broker.folder), "leave out --step"),
        (("--through", "no-such-shell {host}", "far:/x"), "cannot start no-such-shell"),
        (("--through", "false {host}", "far:/x"), "far:/x: its shell ended with 1"),
        (("--through", "true {host}", "far:/x"), "names no node.id"),
    ]
    for arguments, expected in cases:
        said = take(tmp_path / "dump", *arguments, code=2)
        assert expected in said, arguments
        assert "Traceback" not in said
    assert not (tmp_path / "dump").exists()
    said = take(broker.folder / "dump", broker.folder, code=2)
    assert "must stay untouched" in said


def test_a_folder_that_holds_something_else_is_not_mixed_with(
    tmp_path: Path, broker: Broker
) -> None:
    (tmp_path / "dump/broker-1").mkdir(parents=True)
    (tmp_path / "dump/broker-1/mine").write_text("")
    assert "has no dump-manifest.json" in take(tmp_path / "dump", broker.folder, code=2)
    take(tmp_path / "other", "--topic", "orders", broker.folder)
    assert "of another copy: its topics" in take(tmp_path / "other", broker.folder, code=2)


def test_copies_of_disks_need_no_package(tmp_path: Path, broker: Broker) -> None:
    script = [sys.executable, "-S", str(ROOT / "scripts/take_dump.py")]  # -S: no site-packages
    words = ["--to", str(tmp_path / "dump"), str(broker.folder)]
    done = subprocess.run([*script, *words], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [*script, "--to", str(tmp_path / "far"), "--bootstrap", "127.0.0.1:1"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "needs the package kafka-python 3" in done.stderr
    assert "Traceback" not in done.stderr


def test_options_of_disks_and_of_the_protocol_do_not_mix(tmp_path: Path, broker: Broker) -> None:
    far = ("--bootstrap", "127.0.0.1:1")
    for words, expected in (
        ((*far, str(broker.folder)), "SOURCE does not go with --bootstrap"),
        ((*far, "--step", "data"), "--step does not go with --bootstrap"),
        ((*far, "--taken-at", "5"), "--taken-at does not go with --bootstrap"),
        ((*far, "--metadata"), "--metadata does not go with --bootstrap"),
        ((*far, "--max-rate", "fast"), "invalid rate value: 'fast'"),
        ((*far, "--jobs", "0"), "invalid number (1 to 64) value: '0'"),
    ):
        assert expected in take(tmp_path / "dump", *words, code=2)
