"""What is a remote dump, and what of its URI may be shown."""

import pytest

from jobs.cli.arguments import parse
from udfs.storage.places import has_password, is_remote, last_name, redacted

SECRETS = [
    "s3://AKIA:se/cr?et@bucket/dump",
    "s3://AKIA:secret@bucket/dump?region=x",
    "s3://AKIA:12@bucket",
    "gs://user:secret@bucket/dump",
    "hdfs://me:secret@namenode:8020/dump",
]


@pytest.mark.parametrize("uri", SECRETS)
def test_a_password_is_refused_and_nothing_of_it_shown(
    uri: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert has_password(uri)
    with pytest.raises(SystemExit) as end:
        parse(["audit", "--out", "/audits", "--dump", uri])
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "in the environment or a profile" in said
    for part in ("AKIA", "cr?et", ":12", "secret", "me:"):
        assert part not in said


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("s3://bucket/a@b/dump?endpoint_override=internal:9000&x=y", "s3://bucket/a@b/dump"),
        ("s3://key@bucket/dump#part", "s3://bucket/dump"),
        ("gs://anonymous@bucket/dump", "gs://bucket/dump"),
        ("hdfs://me@namenode:8020/dump?user=me", "hdfs://namenode:8020/dump"),
        ("hdfs://nameservice/dump", "hdfs://nameservice/dump"),
        ("/copies/a?b@c", "/copies/a?b@c"),
    ],
)
def test_neither_user_nor_options_are_shown(uri: str, shown: str) -> None:
    assert redacted(uri) == shown
    assert not has_password(uri)


def test_several_dumps_are_told_apart_by_the_last_folder() -> None:
    assert last_name("s3://bucket/copies/today/?region=x") == "today"
    assert last_name("s3://bucket") == "bucket"


@pytest.mark.parametrize("place", ["/copies", "copies/s3:", "s3:/copies", "./s3:"])
def test_a_path_stays_a_path(place: str) -> None:
    assert not is_remote(place)


@pytest.mark.parametrize(
    "uri", ["s3a://bucket/dump", "S3://bucket/dump", "file:///copies", "ftp://host/dump?x=y"]
)
def test_of_an_unknown_scheme_the_known_ones_are_told(
    uri: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(["audit", "--out", "/audits", "--dump", uri])
    said = capsys.readouterr().err
    assert "a dump is a folder, or a URL that begins with s3://, gs://, hdfs://" in said
    assert "x=y" not in said
