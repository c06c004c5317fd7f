"""The identity of an audit: a digest of its input, its configuration and its code."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs import __version__
from jobs.model.dump import Dump

# What findings, tables and reports are made by.
PACKAGES = ("jobs", "schemas", "udfs")


def file_digests(summaries: DataFrame) -> DataFrame:
    """One row a file: file_index, sha256 (over the block digests in order), batches, records.

    Also whether it shrank and an error, of any split of the file.
    """
    blocks = F.array_sort(F.collect_list(F.struct("split_start", "digests")))
    joined = F.aggregate(blocks, F.lit(b""), lambda so_far, part: F.concat(so_far, part["digests"]))
    return summaries.groupBy("file_index").agg(
        F.sha2(joined, 256).alias("sha256"),
        F.sum("batches").alias("batches"),
        F.sum("records").alias("records"),
        F.max("shrank").alias("shrank"),
        F.max("error").alias("error"),
    )


@cache
def code_digest() -> str:
    """SHA-256 over the Python files of this program, 32 digits.

    A changed rule is another audit of the same dump, and a version is not raised with each. The
    files lie in a folder or, on the driver of a cluster, in the zip that spark-submit was given.
    """
    files = [file for name in PACKAGES for file in _sources(resources.files(name), name)]
    return _digest([__version__, sorted(files)])


def _sources(folder: Traversable, path: str) -> Iterator[tuple[str, str]]:
    """Path and SHA-256 of each Python file below a folder."""
    for one in folder.iterdir():
        name = f"{path}/{one.name}"
        if one.name.endswith(".py"):
            yield name, hashlib.sha256(one.read_bytes()).hexdigest()
        elif one.is_dir() and one.name != "__pycache__":
            yield from _sources(one, name)


def input_digest(dump: Dump, digests: DataFrame) -> str:
    """SHA-256 over path, size and digest of every file, 32 digits. `digests`: see file_digests.

    Paths are relative to the dump and sorted, so that neither the place of a copy nor the order
    in which it was listed matters.
    """
    content = {
        row.file_index: row.sha256 for row in digests.select("file_index", "sha256").collect()
    }
    manifest = sorted([file.path, file.size, content.get(file.file_index)] for file in dump.files)
    return _digest([manifest])


def audit_id(of_input: str, configuration: str) -> str:
    """SHA-256 over the digest of the input, the configuration and the code, 32 digits."""
    return _digest([code_digest(), configuration, of_input])


def of_incomplete(identity: str, missing: Sequence[str]) -> str:
    """The identity of an audit that lacks something for another reason than its input.

    A check that broke down for want of memory or disk, or a file that could not be read for a
    moment, would else be the result of every later audit of the same input. `missing`: sentences;
    what they are about counts, not what was said of it, which differs from time to time.
    """
    if not missing:
        return identity
    return _digest([identity, sorted({sentence.partition(":")[0] for sentence in missing})])


def _digest(parts: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
