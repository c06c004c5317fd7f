"""A real break told by texts of kafka-dump-log alone: the findings are those of the bytes."""

import tarfile
from pathlib import Path

from conftest import SampleAudit
from pyspark.sql import SparkSession

from jobs import main
from jobs.audit.audit import Request
from jobs.cli.progress import Progress
from jobs.model.settings import load as load_settings
from schemas.dump_file import IN_TEXT

DUMPS = Path(__file__).resolve().parent.parent / "dumps"
# The partitions of the sample.
FOLDERS = ("h-0", "fine-0", "__transaction_state-")
AS_OF = 1_795_240_070_221


def joined_text() -> str:
    """What Kafka 3.9 printed of the files of the sample: one text, with line ends of Windows."""
    parts = []
    with tarfile.open(DUMPS / "v39-hanging.tar.gz") as archive:
        for member in archive:
            _, _, name = member.name.partition("/oracle/dump-log/0/")
            opened = archive.extractfile(member)
            if opened is not None and name.startswith(FOLDERS) and name.endswith(".txt"):
                parts.append("root@broker:/# kafka-dump-log.sh\n" + opened.read().decode())
    return "".join(parts).replace("\n", "\r\n")


def test_a_real_break_is_named_by_its_lines(
    spark: SparkSession, sample_audit: SampleAudit, tmp_path: Path
) -> None:
    text = joined_text()
    (tmp_path / "all.txt").write_bytes(text.encode())
    request = Request([tmp_path], "", AS_OF, "records", load_settings())
    audit = main.audit(spark, request, Progress(None, quiet=True))
    assert audit.verdict.incomplete == []
    place = ("code", "topic", "partition", "offset_first", "offset_last", "producer_id")
    table = spark.read.format("delta").load(f"{sample_audit.out}/violation")
    owed = {
        tuple(row[name] for name in place)
        for row in table.filter("verdict = 'violation'").collect()
    }
    found = {tuple(row[name] for name in place): row for row in audit.verified.findings.collect()}
    assert owed and owed <= found.keys()
    # A text does not tell that the broker had stopped cleanly, so nothing is proven by it alone.
    assert {found[one].reason for one in owed} == {"dump_before_event"}
    assert not [row for row in found.values() if row.verdict == "violation"]
    untold = [row for row in found.values() if row.reason == "text_dump_lacks_field"]
    assert [row.code for row in untold] == ["txnlog_overdue_transaction"]
    lines = text.splitlines()
    for proof in [proof for one in owed for proof in found[one].evidence]:
        assert proof.file.startswith(f"all.txt{IN_TEXT}h-0/")
        assert lines[proof.byte_position - 1].startswith("baseOffset: ")
    audit.release()
