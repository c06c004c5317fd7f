"""What goes wrong at a remote dump is one sentence: what, where, and what to do."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from storage.s3_server import CLOSED_BUCKET, S3Server

from jobs.collect.collect import collect
from jobs.main import main
from jobs.model.errors import UsageError
from udfs.storage.connections import connect
from udfs.storage.dump_path import dump_at
from udfs.storage.errors import as_os_error
from udfs.storage.open_file import open_file
from udfs.storage.reach import problem_with

pytestmark = pytest.mark.usefixtures("reader")

ROOT = Path(__file__).resolve().parents[2]


def refused(uri: str) -> str:
    """What a person is told who names this dump."""
    with pytest.raises(UsageError) as caught:
        collect([dump_at(uri)])
    said = str(caught.value)
    assert "?" not in said.replace("?region", "").replace("?endpoint_override", "")
    assert "\n" not in said
    return said


def test_a_dump_that_is_not_there_is_told(s3: S3Server) -> None:
    nowhere = refused(s3.uri("nowhere"))
    assert nowhere.startswith("--dump s3://dumps/nowhere does not exist: expected a broker's log")


def test_a_folder_that_is_no_dump_is_told(s3: S3Server) -> None:
    s3.put("plain/folder/file", b"x")
    assert refused(s3.uri("plain")).startswith("--dump s3://dumps/plain is not a dump: expected")


def test_a_bucket_that_may_not_be_listed_is_told(s3: S3Server) -> None:
    said = refused(s3.uri("x", CLOSED_BUCKET))
    assert said.startswith("--dump s3://closed/x: access is denied; the credentials (of the env")


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_wrong_credentials_are_told_and_not_shown(
    s3: S3Server, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "wrong-one")
    connect.cache_clear()  # who reads again in one process reads as the same person
    said = refused(s3.uri("sample"))
    connect.cache_clear()
    assert "s3://dumps/sample: the credentials are not accepted; check those of the env" in said
    assert "wrong-one" not in said


def test_an_endpoint_that_does_not_answer_ends_the_command_in_one_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Port 9 of the machine itself, where nothing listens.
    uri = "s3://dumps/sample?endpoint_override=127.0.0.1:9&scheme=http&region=us-east-1"
    assert main(["audit", "--dump", uri, "--out", "/nowhere"]) == 2
    assert capsys.readouterr().err == (
        "eosaudit: --dump s3://dumps/sample: the endpoint does not answer, after several tries; "
        "check ?endpoint_override=… or AWS_ENDPOINT_URL, and the network.\n"
    )


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("s3://dumps/x?region=a&color=red", "the option color is not known; docs/remote"),
        ("s3://?region=secret", "the URI names no bucket"),
        ("s3://dumps//x?region=secret", "Empty path component in path dumps//x"),
        ("s3://dumps/a b?region=secret", "the URI cannot be read; write a space and other"),
    ],
)
def test_a_uri_that_cannot_be_read_is_told_without_its_options(uri: str, said: str) -> None:
    told = refused(uri)
    assert said in told
    assert "secret" not in told


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (
            "When listing objects under key 'x/' in bucket 'b': AWS Error NO_SUCH_BUCKET during "
            "ListObjectsV2 operation: The specified bucket does not exist",
            FileNotFoundError,
            "there is no such bucket",
        ),
        (
            "AWS Error UNKNOWN (HTTP status 301) during ListObjectsV2 operation: No response body.",
            ConnectionError,
            "the bucket is in another region",
        ),
        (
            "google::cloud::Status(UNAVAILABLE: Retry policy exhausted, with a last message of …",
            ConnectionError,
            "the endpoint does not answer",
        ),
        (
            "google::cloud::Status(PERMISSION_DENIED: Permanent error, with a last message of …",
            PermissionError,
            "access is denied",
        ),
        ("Unable to load libjvm\ndlopen(…", OSError, "Hadoop's client library cannot be loaded"),
        ("no words for hdfs://me:x@host/a?b=c\nmore", OSError, "no words for hdfs://…"),
    ],
)
def test_what_the_libraries_say_is_put_in_words(text: str, kind: type[OSError], said: str) -> None:
    error = as_os_error(OSError(text), "gs://me@bucket/dump?x=y")
    assert type(error) is kind
    assert error.errno in (errno.ENOENT, errno.EACCES, errno.EHOSTUNREACH, errno.EIO)
    assert error.strerror is not None
    assert error.strerror.startswith(said)
    assert error.filename == "gs://bucket/dump"


def test_a_file_that_may_not_be_read_is_a_sentence_in_its_place(s3: S3Server) -> None:
    with pytest.raises(PermissionError, match="access is denied") as caught:
        open_file(s3.uri("", CLOSED_BUCKET), "ready")
    assert caught.value.filename == "s3://closed/ready"


def test_it_is_told_whether_a_process_reaches_a_dump(s3: S3Server, sample_uri: str) -> None:
    assert problem_with(sample_uri) is None
    assert str(problem_with(s3.uri("nowhere"))) == ("s3://dumps/nowhere: No such file or directory")
    assert "s3://closed/: access is denied" in str(problem_with(s3.uri("", CLOSED_BUCKET)))


def test_a_process_that_has_read_a_remote_dump_ends(sample_uri: str) -> None:
    script = (
        "import sys; from jobs.collect.collect import collect\n"
        "from udfs.storage.dump_path import dump_at\n"
        "dump = dump_at(sys.argv[1])\n"
        "print(len(collect([dump]).files))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, sample_uri],
        check=False, cwd=ROOT, capture_output=True, text=True, timeout=120, env=dict(os.environ),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 10
