"""What a person is told who mistypes: one sentence with the place and the nearest right word."""

from pathlib import Path

import pytest

from jobs.cli.arguments import parse
from jobs.cli.commands.checks import list_checks, show_check
from jobs.cli.failures import sentence
from jobs.model import settings
from jobs.model.errors import UsageError
from jobs.model.settings import load as load_settings

AUDIT = ["audit", "--dump", "d", "--out", "o"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["adit"], "(did you mean audit?)"),
        (
            ["audit", "--dmp", "d", "--out", "o"],
            "--dmp is not an argument here (did you mean --dump?)",
        ),
        (
            [*AUDIT, "--dept=headers"],
            "--dept=headers is not an argument here (did you mean --depth?)",
        ),
        ([*AUDIT, "--depth", "header"], "(did you mean headers?)"),
        (
            ["audit"],
            "audit: the following arguments are required: --out, and --dump or --bootstrap",
        ),
        (["audit", "--dump=d"], "the following arguments are required: --out;"),
        (["audit", "--bootstrap", "b:1"], "the following arguments are required: --out;"),
        (
            ["explain", "--out", "o", "--topic", "h-0"],
            "spark-submit.sh explain: the following arguments are required: --topic and "
            "--partition, or --incident (did you mean --topic h --partition 0?)",
        ),
        (["explain", "--out", "o", "--topic", "h"], "--partition, or --incident; see --help."),
        (["audit", "--out", "o"], "one of the arguments --dump --bootstrap is required"),
        ([*AUDIT, "--bootstrap", "b:1"], "--bootstrap: not allowed with argument --dump"),
        ([*AUDIT, "--cache", "c"], "spark-submit.sh audit: --cache goes only with --bootstrap"),
        ([*AUDIT, "--as-of", "1795236470"], "too small: expected ms since 1970"),
        ([*AUDIT, "--as-of", "2026-01-31"], "ms since 1970; date -d '2026-01-31 20:00 UTC' +%s000"),
        (["audit", "--dump", "d", "--out", f"{__file__}/out"], "test_usage.py is a file"),
        (["audit", "--dump", "d", "--out", "d/out"], "--out d/out lies in the dump "),
        (["export", "--dump", "d", "--out", "d"], "name a folder outside of it"),
        (["export", "--dump", "d", "--out", "o", "--partition", "0"], "goes only with --topic"),
        (["checks", "a", "b"], "b is not an argument here"),
        (["report", "--ot", "o"], "(did you mean --out?)"),
    ],
)
def test_a_wrong_argument_is_one_line(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        parse(given)
    (line,) = capsys.readouterr().err.splitlines()
    assert end.value.code == 2
    assert line.startswith("eosaudit: ")
    assert said in line


@pytest.mark.parametrize("command", ["audit", "report", "explain", "export", "checks", "doctor"])
def test_every_subcommand_shows_an_example_that_it_takes(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse([command, "--help"])
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    examples = [words for words in shown if words[:1] == ["./spark-submit.sh"]]
    assert examples
    for words in examples:
        own = words[words.index("--") + 1 :] if "--" in words else words[1:]
        assert parse(own).command == own[0]


def test_checks_are_listed_by_family_and_found_by_part_of_their_name() -> None:
    assert "\n\nproducer\n  duplicate_batch " in list_checks()
    assert "hanging_transaction" not in show_check("producer")
    for wrong, nearest in (("hanging", "hanging_transaction"), ("producr", "producer")):
        with pytest.raises(UsageError, match=f"Did you mean {nearest}\\?"):
            show_check(wrong)


def test_a_dump_is_the_same_folder_on_every_executor() -> None:
    assert parse(AUDIT).dump == [Path.cwd() / "d"]


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[brokr]\n", "[brokr] is not a section (did you mean broker?). Sections: [broker], "),
        ("[run]\nsplit_byte = 1", "run.split_byte is not an option (did you mean run.split_bytes?"),
        (
            "[run]\nclock_tolerance_ms = 1",
            "(did you mean verify.clock_tolerance_ms?). Options of [run]: ",
        ),
        ("[run]\nsplit_bytes = 5", "split_bytes is 5; expected a multiple of 1,048,576 from"),
        ("[run]\nsplit_bytes = '64m'", "split_bytes is '64m'; expected"),
        ("[limits]\nmax_batch_bytes = true", "max_batch_bytes is True; expected an integer"),
        ("run = 3", "run is a section; write it as [run]"),
        ("x = [", "not valid TOML"),
    ],
)
def test_a_wrong_configuration_names_file_key_and_what_is_allowed(
    toml: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "audit.toml"
    file.write_text(toml)
    with pytest.raises(UsageError) as error:
        load_settings(file)
    assert str(error.value).startswith(f"{file}: ")
    assert said in str(error.value)


def test_a_configuration_that_is_no_text_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "audit.toml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not valid TOML"):
        load_settings(file)


def test_the_defaults_are_allowed_values() -> None:
    defaults = Path(settings.__file__).parents[2] / "conf" / "audit.toml"
    assert load_settings(defaults) == load_settings()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ('java.io.IOException: Cannot run program "python9": error=2', "python9 does not exist"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in "
         "driver: 3.11, PySpark cannot run", "run Python 3.9, the driver runs Python 3.11"),
        ("x\nModuleNotFoundError: No module named 'udfs'\n at y", "do not have the code"),
        ("x\nModuleNotFoundError: No module named 'numba'\n at y", "lacks numba"),
        ("[PACKAGE_NOT_INSTALLED] PyArrow >= 18.0.0 must be installed", "lacks pyarrow"),
        ("ImportError: libgomp.so.1: cannot open shared object file\n", "(libgomp.so.1: cannot"),
        ("java.io.IOException: No space left on device\n", "a disk is full"),
    ],
)  # fmt: skip
def test_known_failures_of_spark_are_sentences(error: str, said: str) -> None:
    told = sentence(RuntimeError(error))
    assert told is not None
    assert said in told
    assert "\n" not in told


def test_an_unknown_failure_is_not_guessed_at() -> None:
    assert sentence(RuntimeError("index out of range")) is None
