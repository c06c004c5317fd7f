"""The S3 server that the tests of this folder share, and the environment of its reader."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from storage.s3_server import KEY, SECRET, S3Server, program, running

# No test may ask the machine that it runs on for credentials.
READER = {
    "AWS_ACCESS_KEY_ID": KEY,
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A server with the bucket `dumps`, which the reader may read, and one that he may not."""
    if program() is None:
        if sys.platform != "linux":
            pytest.skip("SeaweedFS is installed on Linux only")
        pytest.fail("there is no program weed: run `make setup`", pytrace=False)
    with running(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The environment of somebody who may read dumps."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in READER.items():
        monkeypatch.setenv(name, value)
    yield


@pytest.fixture(scope="session")
def sample_uri(s3: S3Server) -> str:
    """The sample dump on the server."""
    s3.put_folder(Path(__file__).parents[1] / "dumps" / "hanging-sample", "sample")
    return s3.uri("sample")
