"""Every command that the documents show is run by something, or the reader is told that none does.

A command stands in a block that is fenced as `sh`. Either RUN_BY names the test or the target of
`make` that runs it (with folders and addresses of its own), or the words below its block begin with
*Run once* (somebody ran it by hand and looked) or *Not run*.
"""

import importlib
import re
import shlex
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from jobs.cli.arguments import parse

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
LANGUAGES = {"sh", "text", "python", "json"}
BY_HAND = ("*Run once", "*Not run")
MARKED = re.compile(r"\*(Tested|Run once|Not run)\b")

SIGNATURE = "tests/report/test_report_formats.py::test_a_signature_is_what_openssl_checks"
TOLD_AGAIN = "tests/stages/test_audit.py::test_a_policy_is_judged_stored_and_told_again"
MADE_AGAIN = "tests/stages/test_audit.py::test_the_sample_is_explained_and_its_report_made_again"
EXPORT = (
    "tests/stages/test_export.py::"
    "test_uncommitted_records_of_one_topic_once_and_what_is_lost_is_told"
)
FETCHED = "tests/brokers/test_fetched_dump.py::test_"
LIVE = "tests/brokers/test_live_audit.py::test_"
TAKE_DUMP = "tests/scripts/test_take_dump.py::test_"
HERE = "tests/meta/test_documented_commands.py::test_what_needs_no_spark_does_what_is_written"
REMOTE = "tests/storage/test_remote_audit.py::test_"
AIRFLOW = "tests/dags/test_eos_audit.py::test_the_set_up_of_the_manual_is_enough"
ON_ALL_BROKERS = "scripts/take_dump.py --step {} --to /copies/today /var/lib/kafka"

# Command -> what runs it. `make TARGET` runs itself and needs no line.
RUN_BY = {
    "./spark-submit.sh audit --dump /copies/broker-1 --out /audits": "make audit-sample",
    "./spark-submit.sh --master spark://host:7077 -- audit --dump /copies --out /audits":
        "make audit-cluster",
    "./spark-submit.sh explain --out /audits --topic orders --partition 3": MADE_AGAIN,
    "./spark-submit.sh explain --out build/sample --topic h --partition 0": MADE_AGAIN,
    "./spark-submit.sh export --dump /copies/broker-1 --out /rescued --topic orders": EXPORT,
    "./spark-submit.sh export --dump /copies --out /rescued --topic orders": EXPORT,
    "./spark-submit.sh checks sequence_gap": HERE,
    "./spark-submit.sh --help": HERE,
    "scripts/take_dump.py --to /copies/today kafka-1:/var/lib/kafka kafka-2:/var/lib/kafka":
        TAKE_DUMP + "no_broker_begins_a_step_before_all_have_ended_the_one_before",
    "scripts/take_dump.py --to /copies/today --topic 'orders*' kafka-1:/data/a kafka-1:/data/b":
        TAKE_DUMP + "topics_are_chosen_and_the_internal_ones_come_along",
    "scripts/take_dump.py --to /copies/today --taken-at 1795236470221 /mnt/snapshot/kafka":
        TAKE_DUMP + "a_snapshot_is_one_moment",
    **{ON_ALL_BROKERS.format(step): TAKE_DUMP + "steps_can_be_taken_one_by_one_in_their_order"
       for step in ("before", "data", "after")},
    "scripts/take_dump.py --to /copies/today --bootstrap kafka-1:9092":
        FETCHED + "fetched_segments_are_the_brokers_own_bytes",
    "scripts/take_dump.py --to /copies/today --bootstrap kafka-1:9093 --config client.properties "
    "--topics 'orders*' payments --jobs 4 --max-rate 50M":
        FETCHED + "fetched_segments_are_the_brokers_own_bytes",
    "./spark-submit.sh audit --dump /copies/today --out /audits": "make test-brokers",
    "./spark-submit.sh audit --bootstrap kafka-1:9092 --out /audits":
        LIVE + "a_live_cluster_is_audited_by_one_command_and_again_by_what_is_new",
    "./spark-submit.sh audit --bootstrap kafka-1:9093 --command-config client.properties "
    "--cache /copies/live --topics 'orders*' payments --jobs 4 --max-rate 50M --out /audits":
        LIVE + "a_live_cluster_is_audited_by_one_command_and_again_by_what_is_new",
    "./spark-submit.sh explain --out /audits --topic orders --partition 0":
        LIVE + "a_hanging_transaction_is_found_explained_aborted_and_gone",
    "kafka-transactions.sh --bootstrap-server kafka-1:9092 abort --topic orders --partition 0 "
    "--start-offset 42": LIVE + "a_hanging_transaction_is_found_explained_aborted_and_gone",
    "./spark-submit.sh doctor":
        "tests/stages/test_doctor.py::test_nothing_is_missing_here_and_the_trial_leaves_nothing",
    "./spark-submit.sh --master spark://host:7077 -- doctor --dump /copies/today --out /audits":
        "make audit-cluster",
    "./spark-submit.sh --driver-memory 8g -- audit --dump /copies/today --out /audits":
        "make audit-sample",
    "./spark-submit.sh --master spark://host:7077 --executor-memory 4g -- "
    "audit --dump /copies/today --out /audits": "make audit-cluster",
    "./spark-submit.sh doctor --dump s3://copies/today":
        REMOTE + "doctor_asks_the_executors_whether_they_reach_a_remote_dump",
    "./spark-submit.sh audit --dump s3://copies/today --out /audits":
        REMOTE + "an_executor_with_the_shipped_zip_reads_the_sample_from_a_server",
    "./spark-submit.sh audit --out /audits --dump "
    "'s3://copies/today?endpoint_override=storage.internal:9000&scheme=http&region=any'":
        REMOTE + "an_executor_with_the_shipped_zip_reads_the_sample_from_a_server",
    'ln -s "$PWD/dags/eos_audit.py" "$AIRFLOW_HOME/dags/"': AIRFLOW,
    'ln -s /opt/eosaudit/dags/eos_audit.py "$AIRFLOW_HOME/dags/"': AIRFLOW,
    "airflow connections add spark_default --conn-type spark --conn-host 'local[*]'": AIRFLOW,
    "airflow variables set eosaudit_clusters '[ "
    '{"name": "east", "dump": ["/copies/{{ ds }}/east"], "out": "/audits/east", '
    '"publish": "/www/east"}, '
    '{"name": "west", "dump": ["/copies/{{ ds }}/west"], "out": "/audits/west"} ]\'': AIRFLOW,
    "./spark-submit.sh audit --dump /copies --out /audits --policy default": "make audit-sample",
    "./spark-submit.sh audit --dump /copies --out /audits --policy /etc/eosaudit/policy":
        "tests/stages/test_audit.py::test_the_sample_hangs_and_a_second_run_changes_nothing",
    "./spark-submit.sh report --out /audits --audit ID --policy /etc/eosaudit/stricter": TOLD_AGAIN,
    "./spark-submit.sh explain --out /audits --incident 1": MADE_AGAIN,
    "./spark-submit.sh report --out /audits": TOLD_AGAIN,
    "./spark-submit.sh report --out /audits --format html --dump /copies": MADE_AGAIN,
    "./spark-submit.sh report --out /audits --audit ID --format junit --to build/reports":
        MADE_AGAIN,
    "openssl genpkey -algorithm ed25519 -out key.pem": SIGNATURE,
    "openssl pkey -in key.pem -pubout -out public.pem": SIGNATURE,
    "./spark-submit.sh report --out /audits --format html --sign-key key.pem": MADE_AGAIN,
    "python3 recheck.py report.json /copies":
        "tests/report/test_recheck.py::test_the_sample_report_is_rechecked_with_python_alone",
    "sha256sum -c SHA256SUMS":
        "tests/report/test_report_formats.py::"
        "test_sums_and_manifest_name_every_file_and_notice_a_change",
    "openssl pkeyutl -verify -pubin -inkey public.pem -rawin -in manifest.json "
    "-sigfile manifest.sig": SIGNATURE,
}  # fmt: skip


class Block(NamedTuple):
    """A fenced block: where it begins, its language, its text, and the words below it."""

    place: str
    language: str
    text: str
    below: str

    @property
    def by_hand(self) -> bool:
        """Whether the words below say that no test runs it."""
        return self.below.startswith(BY_HAND)


def blocks_of(name: str, text: str) -> list[Block]:
    """The fenced blocks of a document."""
    fenced = re.compile(r"^```(.*)\n((?s:.*?))^```\n+(.*)", re.MULTILINE)
    return [
        Block(f"{name}:{text.count(chr(10), 0, found.start()) + 1}", *found.groups())
        for found in fenced.finditer(text)
    ]


def commands_of(text: str) -> list[str]:
    """The commands of a block, each in one line, without remarks and further blanks."""
    commands, begun = [], ""
    for line in text.splitlines():
        begun = f"{begun} {re.sub(r'(^| +)# .*$', '', line)}"
        begun = re.sub(r" {2,}", " ", begun).strip()
        if begun.endswith("\\"):
            begun = begun[:-1].rstrip()
        elif begun.count("'") % 2 == 0 and not begun.endswith("|"):
            commands.append(begun)
            begun = ""
    return [command for command in [*commands, begun] if command]


BLOCKS = [block for path in DOCUMENTS for block in blocks_of(path.name, path.read_text("utf-8"))]
SHOWN = [(b, command) for b in BLOCKS if b.language == "sh" for command in commands_of(b.text)]


def complaints(shown: list[tuple[Block, str]], run_by: dict[str, str]) -> list[str]:
    """What is wrong with the commands that documents show, one sentence for each."""
    said = [
        f"{block.place}: nothing runs `{command}`: name what does in RUN_BY, or begin the words "
        "below the block with *Run once* or *Not run*"
        for block, command in shown
        if not (block.by_hand or command in run_by or command.startswith("make "))
    ]
    stale = set(run_by) - {command for block, command in shown if not block.by_hand}
    return said + [f"RUN_BY: no document shows `{command}` as tested" for command in sorted(stale)]


def test_every_command_is_run_by_something_or_the_reader_is_told_that_none_does() -> None:
    assert complaints(SHOWN, RUN_BY) == []


def test_a_new_command_and_a_stale_line_are_noticed() -> None:
    (new,) = blocks_of("x.md", "a\n\n```sh\nls \\\n  -l  # new\n```\n\nTells much.\n")
    (told,) = blocks_of("x.md", "```sh\nls -l\n```\n\n*Not run* on YARN.\n")
    assert commands_of(new.text) == commands_of(told.text) == ["ls -l"]
    (said,) = complaints([(new, "ls -l")], {})
    assert said.startswith("x.md:3: nothing runs `ls -l`")
    assert complaints([(told, "ls -l")], {}) == []
    assert len(complaints([(told, "ls -l")], {"ls -l": "make test"})) == 1
    assert commands_of("set '[\n 1\n]'\na |\n  b\n\nc") == ["set '[ 1 ]'", "a | b", "c"]


def test_a_block_without_a_language_hides_no_command() -> None:
    assert {
        block.place: block.language for block in BLOCKS if block.language not in LANGUAGES
    } == {}


def test_in_the_manual_of_operations_every_block_of_commands_says_how_it_was_run() -> None:
    unmarked = [
        block.place
        for block in BLOCKS
        if block.place.startswith("operations.md") and block.language == "sh"
        if not MARKED.match(block.below)
    ]
    assert unmarked == []


def test_what_runs_a_command_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    themselves = {command for _, command in SHOWN if command.startswith("make ")}
    for runner in {*RUN_BY.values(), *themselves}:
        path, _, name = runner.partition("::")
        if runner.startswith("make "):
            target = runner.split()[1]
            assert f"\n.PHONY: {target}\n" in makefile, runner
        else:
            assert f"\ndef {name}(" in (ROOT / path).read_text("utf-8"), runner


def test_every_subcommand_is_one_that_the_command_line_takes() -> None:
    taken = 0
    for block, command in SHOWN:
        _, ours, arguments = command.partition("spark-submit.sh ")
        words = shlex.split(arguments)
        own = words[words.index("--") + 1 :] if "--" in words else words
        if ours and own != ["--help"]:
            assert parse(own).command == own[0], block.place
            taken += 1
    assert taken > 10


def test_every_copy_is_one_that_take_dump_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    take_dump = importlib.import_module("take_dump")
    copies = [command for _, command in SHOWN if command.startswith("scripts/take_dump.py ")]
    for command in copies:
        here = re.sub(r"(?<= )/(var|mnt)/\S+", str(tmp_path), command)
        assert take_dump.parse(shlex.split(here)[1:]).to == Path("/copies/today")
    assert len(copies) > 5


@pytest.mark.parametrize(
    "command", [command for command, runner in RUN_BY.items() if runner == HERE]
)
def test_what_needs_no_spark_does_what_is_written(command: str) -> None:
    done = subprocess.run(
        ["bash", "-c", command], check=False, cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
