"""The identity of an audit: a digest of its input, its configuration and its version."""

import hashlib
import json
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs import __version__
from jobs.model.dump import Dump


def file_digests(summaries: DataFrame) -> DataFrame:
    """One row a file: file_index, sha256 (over the block digests in order), batches, records.

    Also shrank, error, is_segment-independent sums over the splits of the file.
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


def audit_id(dump: Dump, digests: DataFrame, configuration: str) -> str:
    """SHA-256 over path, size and digest of every file, configuration and version, 32 digits.

    Paths are relative to the dump and sorted, so that neither the place of a copy nor the order
    in which it was listed matters.
    """
    content = {
        row.file_index: row.sha256 for row in digests.select("file_index", "sha256").collect()
    }
    manifest = sorted([file.path, file.size, content.get(file.file_index)] for file in dump.files)
    return _digest([__version__, configuration, manifest])


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
