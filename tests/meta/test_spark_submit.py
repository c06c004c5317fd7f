"""spark-submit.sh: what it hands to Spark, tried with a Spark that only records its arguments."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FAKE_SPARK = """#!/usr/bin/env bash
printf '%s\\0' "$@" >"$RECORD"
printf '%s' "${PYSPARK_PYTHON:-} ${PYSPARK_DRIVER_PYTHON:-}" >"$RECORD.python"
pwd >"$RECORD.pwd"
exit 7
"""
FAKE_JAVA = """#!/bin/sh
echo 'openjdk version "{version}" 2025-04-15' >&2
"""


class Checkout:
    """A small copy of the project in a folder of its own, with a fake Spark and a fake Java."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "the checkout"
        self.elsewhere = folder / "else where"
        self.spark = folder / "spark"
        self.record = folder / "record"
        self.script = self.folder / "spark-submit.sh"
        for made in (self.folder, self.elsewhere, self.folder / ".jars"):
            made.mkdir()
        shutil.copy(ROOT / "spark-submit.sh", self.script)
        shutil.copytree(ROOT / "scripts", self.folder / "scripts")
        shutil.copytree(ROOT / "conf", self.folder / "conf")
        for package in ("jobs", "schemas", "udfs"):
            write(self.folder / package / "__init__.py", "")
        write(self.folder / "jobs/main.py", "import sys\nprint(sys.argv[1:])\nsys.exit(5)\n")
        write(self.folder / ".gitignore", "/build/\n/.jars/\n__pycache__/\n")
        write(self.folder / ".jars/delta-spark_4.2_2.13-4.4.0.jar", "")
        write(self.folder / ".jars/delta-storage-4.4.0.jar", "")
        write(self.spark / "bin/spark-submit", FAKE_SPARK, executable=True)
        self.java("17.0.15")
        self.environment = {
            "HOME": str(folder),
            "PATH": f"{folder / 'bin'}:{os.defpath}",
            "PYTHON": sys.executable,
            "RECORD": str(self.record),
            "SPARK_HOME": str(self.spark),
        }

    def java(self, version: str) -> None:
        text = FAKE_JAVA.format(version=version)
        write(self.folder.parent / "bin/java", text, executable=True)

    def git(self, *arguments: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        done = subprocess.run(
            ["git", *identity, *arguments],
            cwd=self.folder,
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def commit(self) -> str:
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "x")
        return self.git("rev-parse", "--short=12", "HEAD")

    def run(
        self, *arguments: str, script: Path | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(script or self.script), *arguments],
            cwd=self.elsewhere,
            env=self.environment | environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def submitted(self, *arguments: str, **environment: str) -> list[str]:
        """What the fake Spark was given."""
        done = self.run(*arguments, **environment)
        assert done.returncode == 7, done.stderr
        return self.record.read_text().split("\0")[:-1]


def write(path: Path, text: str, *, executable: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if executable:
        path.chmod(0o755)


def last(arguments: list[str], option: str) -> str:
    """The value of the last such option: the one that Spark takes."""
    return [b for a, b in pairwise(arguments) if a == option][-1]


def conf(arguments: list[str]) -> dict[str, str]:
    """The effective --conf settings."""
    pairs = [b for a, b in pairwise(arguments) if a == "--conf"]
    return dict(pair.split("=", 1) for pair in pairs)


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Checkout]:
    yield Checkout(tmp_path)


# --- from anywhere ------------------------------------------------------------------------------


def test_the_exit_code_of_spark_is_ours_and_the_folder_stays_the_callers(
    checkout: Checkout,
) -> None:
    given = checkout.submitted("audit", "--dump", "a b", "--out", "it's")
    assert given[-6:] == [
        str(checkout.folder / "jobs/main.py"), "audit", "--dump", "a b", "--out", "it's",
    ]  # fmt: skip
    assert Path(f"{checkout.record}.pwd").read_text().strip() == str(checkout.elsewhere)


def test_wrong_arguments_are_refused_before_spark_starts(checkout: Checkout) -> None:
    shutil.copytree(ROOT / "jobs", checkout.folder / "jobs", dirs_exist_ok=True)
    for package in ("schemas", "udfs"):
        shutil.copytree(ROOT / package, checkout.folder / package, dirs_exist_ok=True)
    done = checkout.run("audit", "--dmp", "x", "--out", "y")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and "did you mean --dump?" in done.stderr
    assert not checkout.record.exists()
    assert checkout.submitted("audit", "--dump", "x", "--out", "y")[-4:] == [
        "--dump", "x", "--out", "y",
    ]  # fmt: skip


def test_a_chain_of_symlinks_leads_to_the_same_command(checkout: Checkout) -> None:
    (checkout.elsewhere / "one").symlink_to(checkout.script)
    (checkout.elsewhere / "two").symlink_to("one")
    straight = checkout.run("--dry-run", "audit").stdout
    linked = checkout.run("--dry-run", "audit", script=checkout.elsewhere / "two").stdout
    assert straight == linked
    assert "jobs/main.py" in straight


def test_a_dry_run_prints_the_command_for_a_shell_and_runs_nothing(checkout: Checkout) -> None:
    dry = checkout.run("--dry-run", "--name", "x y", "--", "audit", "--out", 'a "b" $c')
    assert (dry.returncode, checkout.record.exists()) == (0, False)
    pasted = subprocess.run(
        ["bash", "-c", dry.stdout], env=checkout.environment, check=False, cwd=checkout.elsewhere
    )
    assert pasted.returncode == 7
    printed = checkout.record.read_text().split("\0")[:-1]
    assert printed == checkout.submitted("--name", "x y", "--", "audit", "--out", 'a "b" $c')


# --- options of the user ------------------------------------------------------------------------


def test_options_before_the_dashes_come_first_and_unchanged(checkout: Checkout) -> None:
    options = [
        "--name",
        "it's a",
        "--conf",
        'spark.x=a "b"  $c *',
        "--num-executors=3",
        "-c",
        "spark.y=",
    ]
    given = checkout.submitted(*options, "--", "audit", "--out", "o", "--", "rest")
    assert given[: len(options)] == options
    assert given[-5:] == ["audit", "--out", "o", "--", "rest"]


def test_dashes_after_the_subcommand_belong_to_it(checkout: Checkout) -> None:
    assert checkout.submitted("audit", "--x", "--", "y")[-4:] == ["audit", "--x", "--", "y"]


@pytest.mark.parametrize(
    "options",
    [
        ["--master", "yarn"],
        ["--master=yarn"],
        ["--conf", "spark.master=yarn"],
        ["-c", "spark.master=yarn"],
        ["--conf=spark.master=yarn"],
        ["--properties-file", "p.conf"],
        ["--remote", "sc://x"],
    ],
)
def test_a_given_master_is_kept(checkout: Checkout, options: list[str]) -> None:
    write(checkout.elsewhere / "p.conf", "# mine\nspark.master   yarn\n")
    given = checkout.submitted(*options, "--", "audit")
    assert "local[*]" not in given
    assert "spark.ui.enabled" not in conf(given)


def test_without_a_master_all_cores_of_this_machine_are_used(checkout: Checkout) -> None:
    given = checkout.submitted("audit")
    assert last(given, "--master") == "local[*]"
    assert conf(given)["spark.ui.enabled"] == "false"


def test_defaults_give_way_to_the_users_spark_defaults(checkout: Checkout) -> None:
    defaults = "spark.driver.memory=9g\nspark.master : spark://x:7077\n"
    write(checkout.spark / "conf/spark-defaults.conf", defaults)
    given = checkout.submitted("audit")
    assert "spark.driver.memory" not in conf(given)
    assert "--master" not in given
    # A properties file replaces it, as in Spark itself, unless both are asked for.
    write(checkout.elsewhere / "p.conf", "spark.z 1\n")
    alone = checkout.submitted("--properties-file", "p.conf", "--", "audit")
    assert conf(alone)["spark.driver.memory"] == "2g"
    both = checkout.submitted("--load-spark-defaults", "--properties-file", "p.conf", "--", "audit")
    assert "spark.driver.memory" not in conf(both)


@pytest.mark.parametrize(
    "options", [["--driver-memory", "8g"], ["--conf", "spark.driver.memory=8g"]]
)
def test_given_driver_memory_is_kept(checkout: Checkout, options: list[str]) -> None:
    given = checkout.submitted(*options, "--", "audit")
    assert conf(given).get("spark.driver.memory", "8g") == "8g"


def test_java_options_of_the_user_stay_and_ours_go_before_them(checkout: Checkout) -> None:
    mine = "spark.driver.defaultJavaOptions=-Dmine=1"
    given = checkout.submitted("--conf", mine, "--driver-java-options", "-Dtheirs=1", "--", "audit")
    settings = conf(given)
    ours = settings["spark.driver.defaultJavaOptions"]
    assert ours.startswith("-XX:-DontCompileHugeMethods ")
    assert ours.endswith(" -Dmine=1")
    assert f'"-Dlog4j2.configurationFile={checkout.folder}/conf/log4j2.properties"' in ours
    assert settings["spark.executor.defaultJavaOptions"] == "-XX:-DontCompileHugeMethods"
    assert last(given, "--driver-java-options") == "-Dtheirs=1"


@pytest.mark.parametrize(
    ("size", "options", "short"),
    [
        (1 << 20, [], True),
        (1 << 30, [], False),
        (1 << 20, ["--master", "yarn", "--"], False),
        (1 << 20, ["--master", "local-cluster[2,1,1024]", "--"], False),
    ],
)
@pytest.mark.parametrize("joined", [False, True])
def test_short_work_is_not_compiled_twice(
    checkout: Checkout, size: int, options: list[str], *, short: bool, joined: bool
) -> None:
    dump = checkout.elsewhere / "a dump/log"
    write(dump, "")
    os.truncate(dump, size)
    named = ["--dump=a dump"] if joined else ["--dump", "a dump"]
    ours = conf(checkout.submitted(*options, "audit", *named))["spark.driver.defaultJavaOptions"]
    assert ("-XX:TieredStopAtLevel=1" in ours) == short


def test_a_dump_that_is_not_there_is_no_short_work(checkout: Checkout) -> None:
    given = checkout.submitted("audit", "--dump", "/nowhere/at-all")
    assert "TieredStopAtLevel" not in conf(given)["spark.driver.defaultJavaOptions"]


def test_a_live_cluster_is_no_short_work(checkout: Checkout) -> None:
    given = checkout.submitted("audit", "--bootstrap", "127.0.0.1:1")
    assert "TieredStopAtLevel" not in conf(given)["spark.driver.defaultJavaOptions"]


def test_logging_of_the_user_is_kept(checkout: Checkout) -> None:
    option = "-Dlog4j2.configurationFile=mine.xml"
    given = checkout.submitted("--driver-java-options", option, "--", "audit")
    assert "log4j2" not in conf(given)["spark.driver.defaultJavaOptions"]
    write(checkout.spark / "conf/log4j2.properties.template", "")
    assert "log4j2" in conf(checkout.submitted("audit"))["spark.driver.defaultJavaOptions"]
    write(checkout.spark / "conf/log4j2.properties", "")
    assert "log4j2" not in conf(checkout.submitted("audit"))["spark.driver.defaultJavaOptions"]


def test_delta_joins_the_extensions_that_are_there(checkout: Checkout) -> None:
    delta = "io.delta.sql.DeltaSparkSessionExtension"
    mine = "spark.sql.extensions=org.example.Mine"
    given = checkout.submitted("--conf", mine, "--", "audit")
    assert conf(given)["spark.sql.extensions"] == f"org.example.Mine,{delta}"
    again = checkout.submitted("--conf", f"spark.sql.extensions={delta}", "--", "audit")
    assert conf(again)["spark.sql.extensions"] == delta


# --- what is shipped ----------------------------------------------------------------------------


def test_modules_and_jars_of_the_user_are_shipped_too(checkout: Checkout) -> None:
    given = checkout.submitted("--py-files=a.zip,b.py", "--jars", "c.jar", "--", "audit")
    ours, *theirs = last(given, "--py-files").split(",")
    assert Path(ours).name.startswith("eosaudit-")
    assert theirs == ["a.zip", "b.py"]
    jars = [Path(jar).name for jar in last(given, "--jars").split(",")]
    assert jars == ["c.jar", "delta-spark_4.2_2.13-4.4.0.jar", "delta-storage-4.4.0.jar"]


def test_delta_jars_are_not_added_where_spark_has_them(checkout: Checkout) -> None:
    package = "io.delta:delta-spark_4.2_2.13:4.4.0"
    assert "--jars" not in checkout.submitted("--packages", package, "--", "audit")
    write(checkout.spark / "jars/delta-spark_4.2_2.13-4.4.0.jar", "")
    assert "--jars" not in checkout.submitted("audit")


def test_missing_delta_jars_are_one_sentence(checkout: Checkout) -> None:
    shutil.rmtree(checkout.folder / ".jars")
    done = checkout.run("audit")
    assert done.returncode == 2
    assert "there are no Delta jars" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_clean_checkout_ships_its_commit_byte_for_byte_the_same(checkout: Checkout) -> None:
    commit = checkout.commit()
    first = Path(last(checkout.submitted("audit"), "--py-files"))
    assert first == checkout.folder / f"build/eosaudit-{commit}.zip"
    content = first.read_bytes()
    first.unlink()
    checkout.submitted("audit", TZ="Asia/Tokyo")
    assert first.read_bytes() == content
    names = zipfile.ZipFile(first).namelist()
    assert {"jobs/main.py", "conf/audit.toml", "schemas/__init__.py"} <= set(names)
    assert "spark-submit.sh" not in names


def test_changed_code_is_shipped_and_its_name_says_so(checkout: Checkout) -> None:
    commit = checkout.commit()
    write(checkout.folder / "udfs/new.py", "x = 1\n")
    write(checkout.folder / "udfs/__pycache__/new.pyc", "")
    first = Path(last(checkout.submitted("audit"), "--py-files"))
    assert first.name.startswith(f"eosaudit-{commit}-")
    assert first.name.endswith("-dirty.zip")
    names = zipfile.ZipFile(first).namelist()
    assert "udfs/new.py" in names
    assert not [name for name in names if "__pycache__" in name]
    write(checkout.folder / "udfs/new.py", "x = 2\n")
    second = Path(last(checkout.submitted("audit"), "--py-files"))
    assert first.exists() and second.exists() and first != second  # a run may still read the first


def test_an_unpacked_archive_inside_another_repository_is_not_that_commit(
    checkout: Checkout,
) -> None:
    subprocess.run(["git", "init", "--quiet", str(checkout.folder.parent)], check=True)
    shipped = Path(last(checkout.submitted("audit"), "--py-files"))
    assert shipped.name.startswith("eosaudit-nocommit-")


def test_which_code_is_shipped_is_said_only_when_asked(checkout: Checkout) -> None:
    assert checkout.run("audit").stderr == ""
    assert checkout.run("--verbose", "--", "audit").stderr.count("the code is shipped as") == 1


# --- Python, Java, Spark ------------------------------------------------------------------------


def test_python_of_the_environment_is_used_where_the_user_named_none(checkout: Checkout) -> None:
    python = checkout.folder / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    seen = Path(f"{checkout.record}.python")
    checkout.submitted("audit")
    assert seen.read_text() == f"{python} "
    checkout.submitted("--master", "yarn", "--", "audit")
    assert seen.read_text() == f" {python}"
    checkout.submitted("audit", PYSPARK_PYTHON="mine")
    assert seen.read_text() == "mine "
    checkout.submitted("--conf", "spark.pyspark.python=mine", "--", "audit")
    assert seen.read_text() == " "


@pytest.mark.parametrize(
    ("version", "said"), [("11.0.2", "is version 11"), ("1.8.0_292", "is version 8")]
)
def test_an_old_java_is_one_sentence(checkout: Checkout, version: str, said: str) -> None:
    checkout.java(version)
    done = checkout.run("audit")
    assert (done.returncode, checkout.record.exists()) == (2, False)
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("version", ["17", "21.0.4", "25-ea"])
def test_a_newer_java_will_do(checkout: Checkout, version: str) -> None:
    checkout.java(version)
    checkout.submitted("audit")


def test_a_missing_java_is_one_sentence(checkout: Checkout) -> None:
    needed = ("bash", "dirname", "env", "readlink", "git", "sort", "mkdir", "find", "grep")
    tools = checkout.folder.parent / "tools"
    tools.mkdir()
    for tool in needed:
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    done = checkout.run("audit", PATH=str(tools))
    assert done.returncode == 2
    assert "there is no java on PATH" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    done = checkout.run("audit", JAVA_HOME="/nowhere")
    assert done.returncode == 2
    assert "JAVA_HOME is /nowhere" in done.stderr


def test_a_missing_spark_is_one_sentence(checkout: Checkout) -> None:
    wrong = checkout.run("audit", SPARK_HOME="/nowhere")
    none = checkout.run("audit", SPARK_HOME="")
    assert (wrong.returncode, none.returncode) == (2, 2)
    assert "SPARK_HOME is /nowhere" in wrong.stderr
    assert "make setup" in none.stderr


def test_a_spark_on_the_path_is_found(checkout: Checkout) -> None:
    path = f"{checkout.spark}/bin:{checkout.environment['PATH']}"
    assert "audit" in checkout.submitted("audit", SPARK_HOME="", PATH=path)


# --- what needs no Spark ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments", [["checks", "a b"], ["--version"], ["audit", "--help"], ["nonsense"]]
)
def test_what_needs_no_spark_runs_without_it(checkout: Checkout, arguments: list[str]) -> None:
    done = checkout.run(*arguments)
    assert (done.returncode, done.stdout) == (5, f"{arguments}\n")
    assert not checkout.record.exists()


def test_help_teaches(checkout: Checkout) -> None:
    done = checkout.run("--help", SPARK_HOME="/nowhere")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("usage:", "audit", "report", "checks", "doctor", "export", " -- ", "exit codes"):
        assert word in done.stdout
    bare = checkout.run()
    assert (bare.returncode, bare.stderr) == (2, done.stdout)


def test_options_without_dashes_are_explained(checkout: Checkout) -> None:
    done = checkout.run("--master", "yarn", "audit")
    assert done.returncode == 2
    assert "put --" in done.stderr


def test_a_missing_subcommand_is_explained(checkout: Checkout) -> None:
    done = checkout.run("--master", "yarn", "--")
    assert done.returncode == 2
    assert "no subcommand" in done.stderr
