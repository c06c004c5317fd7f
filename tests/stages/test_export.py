"""`export` against what the consumers of a real broker received."""

import io
import shutil
import tarfile
from collections import defaultdict
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import oracle
import pytest
from pyspark.sql import SparkSession

from jobs.collect.collect import collect
from jobs.export.export import ExportRequest, only_what_is_asked, ranges
from jobs.main import main
from jobs.model.dump import Dump, DumpPartition
from jobs.model.settings import load as load_settings
from tests.wire_writer import batches as writer
from tests.wire_writer import txn_index as index_writer
from udfs.wire.side_files import txn_index

DUMP = Path(__file__).parent.parent / "dumps/mixed-clients.tar.gz"
# Batches lie across the ends of most splits, and so do transactions.
TINY_SPLIT_BYTES = 700


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    with tarfile.open(DUMP) as archive:
        archive.extractall(folder, filter="data")
    return folder / "mixed-clients"


def export(*arguments: str) -> tuple[int, str]:
    with redirect_stdout(io.StringIO()) as told:
        code = main(["export", "--quiet", *arguments])
    return code, told.getvalue()


def exported(spark: SparkSession, out: Path) -> dict[str, list[int]]:
    rows = spark.read.format("delta").load(str(out / "record"))
    found = defaultdict(list)
    for row in rows.select("topic", "partition", "offset").collect():
        found[f"{row.topic}-{row.partition}"].append(row.offset)
    return {name: sorted(offsets) for name, offsets in found.items()}


def received(scenario: Path, isolation: str) -> dict[str, list[int]]:
    answers = (scenario / "oracle" / isolation).glob("*.txt")
    found = {path.stem: oracle.read_offsets(path) for path in answers}
    return {name: offsets for name, offsets in found.items() if offsets}


@pytest.mark.spark
@pytest.mark.parametrize(
    ("second", "broker"), [((9, 20), 1), ((10, 7), 1), ((10, 8), 2), ((11, 1), 2)]
)
def test_the_copy_that_reaches_furthest_and_then_holds_most_is_taken(
    spark: SparkSession, second: tuple[int, int], broker: int
) -> None:
    unknown = {"log_start": 0, "recovery_point": None, "cleaner_checkpoint": None}
    copies = [
        DumpPartition(number, number + 1, "t", 0, None, has_cleaner_checkpoint=True,
                      has_log_start_checkpoint=True, clean_shutdown=True, **unknown)
        for number in (0, 1)
    ]  # fmt: skip
    states = spark.createDataFrame(
        [
            (one - 1, one, "t", 0, 0, end, end, end, held, end >= max(10, second[0]))
            for one, (end, held) in ((1, (10, 7)), (2, second))
        ],
        "partition_index int, broker int, topic string, partition int, log_start_offset long, "
        "log_end_offset long, "
        "high_watermark long, last_stable_offset long, records long, furthest boolean",
    )
    (taken,) = ranges(states, Dump(partitions=copies), ExportRequest("read_committed"))
    assert taken.broker == broker


@pytest.mark.slow
@pytest.mark.spark
def test_committed_records_are_those_that_consumers_received(
    spark: SparkSession, scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(load_settings(), split_bytes=TINY_SPLIT_BYTES)
    monkeypatch.setattr("jobs.main.load_settings", lambda _: settings)
    code, told = export("--dump", str(scenario / "dump"), "--out", str(tmp_path))
    answers = received(scenario, "read_committed")
    wanted = {name: answers[name] for name in answers if not name.startswith("__")}
    assert exported(spark, tmp_path) == wanted
    assert code == 0
    number = sum(len(offsets) for offsets in wanted.values())
    assert told.startswith(f"{number:,} records of {len(wanted)} partitions of 2 topics")


@pytest.mark.spark
def test_uncommitted_records_of_one_topic_once_and_what_is_lost_is_told(
    spark: SparkSession, scenario: Path, tmp_path: Path
) -> None:
    dump = ["--dump", str(scenario / "dump"), "--out", str(tmp_path), "--topic", "m"]
    code, _ = export(*dump, "--isolation", "read_uncommitted")
    answers = received(scenario, "read_uncommitted")
    assert exported(spark, tmp_path) == {
        name: offsets for name, offsets in answers.items() if name.startswith("m-")
    }
    assert code == 0

    damaged, out = tmp_path / "dump" / "m-0", tmp_path / "out"
    shutil.copytree(scenario / "dump/broker-1/m-0", damaged)
    segment = min(damaged.glob("*.log"))
    content = bytearray(segment.read_bytes())
    content[70] ^= 0xFF
    segment.write_bytes(content)
    again = ["--dump", str(damaged), "--out", str(out)]
    code, told = export(*again)
    assert code == 3
    assert "Lost: 1 damaged byte ranges" in told
    before = exported(spark, out)
    assert export(*again) == (code, told)
    assert exported(spark, out) == before


def test_an_unknown_topic_or_broker_is_told_before_anything_is_read(
    spark: SparkSession,
    scenario: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    dump = ["--dump", str(scenario / "dump" / "broker-1" / "m-1"), "--out", str(tmp_path)]
    code, _ = export(*dump, "--topic", "mm")
    assert code == 2
    assert "--topic mm is not in the dump; did you mean m?" in capsys.readouterr().err
    # Both are told before anything is decoded.
    monkeypatch.setattr("jobs.main.decode", None)
    for wrong, said in (
        (["--topic", "mm"], "--topic mm is not in the dump; did you mean m?"),
        (["--topic", "m", "--partition", "9"], "--partition 9 of m is not in the dump: it has 1."),
        (["--broker", "77"], "--broker 77 is not in the dump: it has broker "),
    ):
        assert export(*dump, *wrong)[0] == 2
        assert said in capsys.readouterr().err


def test_one_partition_is_exported_and_what_nobody_asked_for_is_not_read(
    spark: SparkSession, scenario: Path, tmp_path: Path
) -> None:
    dump = collect([scenario / "dump"])
    asked = ExportRequest("read_committed", ("m",), partitions=(1,))
    read = {
        (one.topic, one.partition)
        for one in only_what_is_asked(dump, asked).files
        if one.kind == "segment" and one.status == "audited"
    }
    assert {place for place in read if place[0] != "__transaction_state"} == {("m", 1)}
    assert any(topic == "__transaction_state" for topic, _ in read)
    place = ["--dump", str(scenario / "dump"), "--out", str(tmp_path)]
    code, _ = export(*place, "--topic", "m", "--partition", "1")
    assert code == 0
    assert exported(spark, tmp_path) == {"m-1": received(scenario, "read_committed")["m-1"]}
    rows = spark.read.format("delta").load(str(tmp_path / "record"))
    assert rows.filter("producer_id >= 0 AND transactional_id IS NULL").count() == 0


def put(path: Path, *batches: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(batches))


def data(offset: int, sequence: int, value: bytes = b"v") -> bytes:
    return writer.batch(
        offset, [writer.record(0, value=value)], base_timestamp=0, producer_id=7, producer_epoch=0,
        base_sequence=sequence, transactional=True,
    )  # fmt: skip


SEGMENT = "00000000000000000000.log"


def test_of_two_bare_folders_the_one_that_reaches_furthest_is_named(
    spark: SparkSession, tmp_path: Path
) -> None:
    long, short = tmp_path / "dump/one/t-0", tmp_path / "dump/two/t-0"
    put(long / SEGMENT, *[writer.batch(i, [writer.record(0, value=b"long")], base_timestamp=0)
                          for i in range(3)])  # fmt: skip
    put(short / SEGMENT, writer.batch(0, [writer.record(0, value=b"short")], base_timestamp=0))
    code, told = export("--dump", str(tmp_path / "dump"), "--out", str(tmp_path / "out"))
    assert code == 0
    assert "1 partition has several copies in the dump" in told
    assert "t-0 from one/t-0." in told
    assert "Without meta.properties the broker of these copies is unknown" in told
    rows = spark.read.format("delta").load(str(tmp_path / "out/record")).collect()
    assert [bytes(row.value) for row in rows] == [b"long"] * 3


def test_what_the_index_lists_as_aborted_is_no_record_though_its_marker_is_damaged(
    spark: SparkSession, tmp_path: Path
) -> None:
    abort = bytearray(writer.marker(1, 7, 0, False, 0, 0))
    abort[70] ^= 1
    log = (data(0, 0), bytes(abort), data(2, 1), writer.marker(3, 7, 0, True, 0, 0))
    for name in ("listed-0", "unlisted-0"):
        put(tmp_path / "dump" / name / SEGMENT, *log)
    entry = txn_index.AbortedTxnEntry(0, 7, 0, 1, 2)
    index = tmp_path / "dump/listed-0" / SEGMENT.replace(".log", ".txnindex")
    put(index, index_writer.encode([entry]))
    code, told = export("--dump", str(tmp_path / "dump"), "--out", str(tmp_path / "out"))
    assert code == 3
    assert "If a marker was among them" in told
    assert "1 transaction whose marker cannot be read has the outcome" in told
    assert exported(spark, tmp_path / "out") == {"listed-0": [2], "unlisted-0": [0, 2]}


def test_what_the_index_of_the_next_abort_leaves_out_is_a_record_though_its_marker_is_lost(
    spark: SparkSession, tmp_path: Path
) -> None:
    commit = bytearray(writer.marker(1, 7, 0, True, 0, 0))
    commit[70] ^= 1
    log = (data(0, 0), bytes(commit), data(2, 1), writer.marker(3, 7, 0, False, 0, 0))
    # Entries of healthy logs begin where the data do: nothing tells of a marker between them.
    for name, first in (("listed-0", 2), ("longer-0", 0), ("unlisted-0", None)):
        put(tmp_path / "dump" / name / SEGMENT, *log)
        if first is not None:
            index = tmp_path / "dump" / name / SEGMENT.replace(".log", ".txnindex")
            put(index, index_writer.encode([txn_index.AbortedTxnEntry(0, 7, first, 3, 4)]))
    _, told = export("--dump", str(tmp_path / "dump"), "--out", str(tmp_path / "out"))
    assert "1 transaction whose marker cannot be read has the outcome" in told
    assert exported(spark, tmp_path / "out") == {"listed-0": [0]}


def test_offsets_that_a_log_has_twice_are_exported_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    def plain(offset: int, value: bytes = b"") -> bytes:
        return writer.batch(offset, [writer.record(0, value=value)], base_timestamp=0)

    second = [plain(1), plain(2)]
    put(tmp_path / "dump/t-0" / SEGMENT, plain(0), *second, *second, plain(3))
    put(tmp_path / "dump/u-0" / SEGMENT, plain(0), plain(1), plain(2))
    code, told = export("--dump", str(tmp_path / "dump"), "--out", str(tmp_path / "out"))
    assert code == 0
    assert "2 records lie a second time in t-0, with the same offset and content" in told
    assert exported(spark, tmp_path / "out") == {"t-0": [0, 1, 2, 3], "u-0": [0, 1, 2]}
    # A bit of a base offset changed.
    wrong = (3).to_bytes(8) + plain(1, b"b")[8:]
    put(tmp_path / "flipped/t-0" / SEGMENT, plain(0), wrong, plain(2), plain(3, b"d"), plain(4))
    code, told = export("--dump", str(tmp_path / "flipped"), "--out", str(tmp_path / "two"))
    assert code == 3
    assert "Lost: Offsets of t-0 go back" in told
    assert "1 record is left out, as an earlier one has the same offset" in told
    assert exported(spark, tmp_path / "two") == {"t-0": [0, 2, 3, 4]}


@pytest.mark.parametrize("commits", [False, True])
@pytest.mark.parametrize("damaged", [False, True])
def test_another_copy_tells_the_outcome_whose_marker_the_longest_one_has_lost(
    spark: SparkSession, tmp_path: Path, commits: bool, damaged: bool
) -> None:
    """The marker is damaged, or in a segment that is not there; the next one has the other outcome.

    The producer's third transaction is open in the shorter copy, and ended in the longer one.
    """
    lost = bytearray(writer.marker(2, 7, 0, commits, 0, 0))
    first = (data(0, 0), data(1, 1))
    later = (data(3, 2), writer.marker(4, 7, 0, not commits, 0, 0), data(5, 3))
    whole = (*first, bytes(lost), *later)
    long, short = tmp_path / "dump/one", tmp_path / "dump/two"
    for number, broker in enumerate((long, short)):
        put(broker / "meta.properties", f"node.id={number}\ncluster.id=c\n".encode())
        mark = f"0\n1\nt 0 {8 if broker == long else 6}\n".encode()
        put(broker / "replication-offset-checkpoint", mark)
    put(short / "t-0" / SEGMENT, *whole)
    end = (writer.marker(6, 7, 0, True, 0, 0), data(7, 4))
    if damaged:
        lost[70] ^= 1
        put(long / "t-0" / SEGMENT, *first, bytes(lost), *later, *end)
    else:
        put(long / "t-0" / SEGMENT, *first)
        put(long / "t-0" / f"{3:020}.log", *later, *end)
    _, told = export("--dump", str(tmp_path / "dump"), "--out", str(tmp_path / "out"))
    assert "t-0 from one/t-0." in told
    assert "1 transaction whose marker cannot be read has the outcome" in told
    assert exported(spark, tmp_path / "out") == {"t-0": [0, 1, 5] if commits else [3, 5]}
    end = ("--to-log-end", "--out", str(tmp_path / "end"))
    export("--dump", str(tmp_path / "dump"), *end)
    assert exported(spark, tmp_path / "end") == {"t-0": [0, 1, 5] if commits else [3, 5]}
    alone = ("--broker", "0", "--out", str(tmp_path / "alone"))
    _, told = export("--dump", str(tmp_path / "dump"), *alone)
    assert "outcome of the producer's next marker" in told
    assert exported(spark, tmp_path / "alone") == {"t-0": [5] if commits else [0, 1, 3, 5]}


def test_batches_of_odd_clients_and_a_swap_of_the_cleaner_give_each_offset_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    record = bytes.fromhex("0e00000003027600")  # a key of length -2
    put(
        tmp_path / "dump/odd-0" / SEGMENT,
        writer.batch(0, [writer.record(0)], base_timestamp=0, transactional=True),
        writer.batch(1, [writer.record(0)], base_timestamp=0, producer_id=-10),
        writer.batch(2, [writer.record(0)], base_timestamp=0, section=record),
        writer.batch(3, [writer.record(0)], base_timestamp=(1 << 63) - 1),
    )
    put(tmp_path / "dump/meta.properties", b"node.id=1\n")
    put(tmp_path / "dump/cleaner-offset-checkpoint", b"0\n1\nswapped 0 4\n")
    for base, last in ((0, 4), (2, 4), (4, 5), (5, 6)):
        put(tmp_path / f"dump/swapped-0/{base:020}.log", *[
            writer.batch(i, [writer.record(0, key=b"%d" % i)], base_timestamp=0)
            for i in range(base, last)
        ])  # fmt: skip
    assert export("--dump", str(tmp_path / "dump"), "--out", str(tmp_path / "out"))[0] == 0
    rows = spark.read.format("delta").load(str(tmp_path / "out/record"))
    odd = rows.filter("topic = 'odd'").orderBy("offset").collect()
    told = [(row.offset, row.key, row.producer_id, row.timestamp) for row in odd]
    assert told == [(0, None, None, 0), (1, None, None, 0), (2, None, None, 0),
                    (3, None, None, (1 << 63) - 1)]  # fmt: skip
    assert exported(spark, tmp_path / "out")["swapped-0"] == [0, 1, 2, 3, 4, 5]


def test_what_lies_above_the_high_watermark_is_exported_where_it_is_asked_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The copy of an old leader: its checkpoint is older than its log."""
    put(
        tmp_path / "dump/t-0" / SEGMENT,
        data(0, 0), writer.marker(1, 7, 0, True, 0, 0),
        data(2, 1), writer.marker(3, 7, 0, True, 0, 0),
        data(4, 2), writer.marker(5, 7, 0, False, 0, 0),
        data(6, 3),
    )  # fmt: skip
    put(tmp_path / "dump/meta.properties", b"node.id=1\n")
    put(tmp_path / "dump/replication-offset-checkpoint", b"0\n1\nt 0 2\n")
    dump = ["--dump", str(tmp_path / "dump"), "--out"]
    told = {
        options: (exported(spark, tmp_path / out)["t-0"], text)
        for out, options in (
            ("stable", ()), ("end", ("--to-log-end",)),
            ("all", ("--to-log-end", "--isolation", "read_uncommitted")),
        )
        for text in [export(*dump, str(tmp_path / out), *options)[1]]
    }  # fmt: skip
    assert [offsets for offsets, _ in told.values()] == [[0], [0, 2], [0, 2, 4, 6]]
    assert not [text for _, text in told.values() if "other exports" in text]
    _, again = export(*dump, str(tmp_path / "end"), "--isolation", "read_uncommitted")
    assert "The table already has 2 records of these topics from other exports" in again


def folder(path: Path, marks: str, cleaner: str = "0\n0\n", cluster: str = "A") -> Path:
    """The files of a log directory of broker 1 or 2, as its name says, that stopped cleanly."""
    path.mkdir(parents=True)
    number = path.name[-1]
    (path / "meta.properties").write_text(f"version=1\ncluster.id={cluster}\nnode.id={number}\n")
    entries = marks.split(", ")
    lines = "\n".join(["0", str(len(entries)), *entries, ""])
    (path / "replication-offset-checkpoint").write_text(lines)
    (path / "cleaner-offset-checkpoint").write_text(cleaner)
    (path / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":5}')
    return path


def plain(first: int, end: int, value: bytes = b"v", leader: int = 0) -> bytes:
    """One batch of plain records with offsets first to end - 1."""
    held = [writer.record(i, value=value) for i in range(end - first)]
    return writer.batch(first, held, base_timestamp=0, partition_leader_epoch=leader)


def names(path: Path, topic_id: str) -> None:
    (path / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")


OLD, NEW = "AAAAAAAAAAAAAAAAAAAAQQ", "AAAAAAAAAAAAAAAAAAAAgg"


def test_two_topics_of_one_name_and_two_clusters_are_no_log_unless_one_is_chosen(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder of a deleted topic, on a broker that was down, is longer than that of the new."""
    for number, topic_id, end in ((1, NEW, 3), (2, OLD, 5)):
        own = folder(tmp_path / f"dump/broker-{number}", f"o 0 {end}, x 0 2")
        put(own / "o-0" / SEGMENT, plain(0, end))
        put(own / "x-0" / SEGMENT, plain(0, 2))
        names(own / "o-0", topic_id)
        names(own / "x-0", OLD)
    dump = ["--dump", str(tmp_path / "dump"), "--out"]
    assert export(*dump, str(tmp_path / "none"))[0] == 2
    assert (
        f"the dump has 2 topics of the name o ({OLD}: broker 2; {NEW}: broker 1): choose one with "
        "--broker, or set --dump to the folders of one."
    ) in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
    # Its nearest twin: another topic of the same dump, and one of the two by its broker.
    assert export(*dump, str(tmp_path / "x"), "--topic", "x")[0] == 0
    assert export(*dump, str(tmp_path / "o"), "--broker", "1")[0] == 0
    assert exported(spark, tmp_path / "x") == {"x-0": [0, 1]}
    assert exported(spark, tmp_path / "o") == {"o-0": [0, 1, 2], "x-0": [0, 1]}

    for name in ("A", "B"):
        own = folder(tmp_path / f"two/{name}/broker-1", "o 0 1", cluster=name)
        put(own / f"o-{int(name == 'B')}" / SEGMENT, plain(0, 1))
    assert export("--dump", str(tmp_path / "two"), "--out", str(tmp_path / "none"))[0] == 2
    assert "the partitions to export are of several clusters (A, B)" in capsys.readouterr().err


def test_a_later_leader_counts_more_than_a_longer_log_and_what_another_copy_has_is_named(
    spark: SparkSession, tmp_path: Path
) -> None:
    """In `u` an old leader goes on by itself; the new one has an open transaction.

    A segment is gone from the longer copy of `hole`. A cleaner passed `cleaned`, which lacks the
    same offsets; what `fetched` lacks may have been fetched from a broker that was cleaned.
    """
    marks, listed = "u 0 {}, hole 0 {}, cleaned 0 {}, fetched 0 {}", "0\n1\ncleaned 0 8\n"
    new = folder(tmp_path / "dump/broker-1", marks.format(3, 8, 8, 8), listed)
    listed = "0\n2\ncleaned 0 6\nfetched 0 4\n"
    old = folder(tmp_path / "dump/broker-2", marks.format(6, 6, 6, 6), listed)
    open_data = writer.batch(
        2, [writer.record(0)], base_timestamp=0, producer_id=7, producer_epoch=0, base_sequence=0,
        transactional=True, partition_leader_epoch=1,
    )  # fmt: skip
    put(new / "u-0" / SEGMENT, plain(0, 2), open_data)
    put(old / "u-0" / SEGMENT, plain(0, 2), plain(2, 6, b"cut off"))
    put(old / "fetched-0" / SEGMENT, plain(0, 2))
    put(old / "fetched-0/00000000000000000004.log", plain(4, 6))
    for topic in ("hole", "cleaned", "fetched"):
        put(new / f"{topic}-0" / SEGMENT, plain(0, 2))
        put(new / f"{topic}-0/00000000000000000004.log", plain(4, 8))
        if topic != "fetched":
            put(old / f"{topic}-0" / SEGMENT, plain(0, 2), plain(2, 4), plain(4, 6))
    dump = ["--dump", str(tmp_path / "dump"), "--out"]
    code, told = export(*dump, str(tmp_path / "out"))
    assert code == 3
    assert exported(spark, tmp_path / "out") == {
        "u-0": [0, 1],
        **{f"{name}-0": [0, 1, 4, 5, 6, 7] for name in ("hole", "cleaned", "fetched")},
    }  # fmt: skip
    assert (
        "2 offsets are in no batch of the exported copies that can be read: fetched-0 offsets"
        in told
    )
    lost = [line for line in told.splitlines() if line.startswith("Lost: ")]
    assert len(lost) == 1
    assert (
        "Lost: 5 offsets are in no batch of the exported copies that can be read: hole-0 offsets "
        "2 to 3 (broker 2 has them: --broker 2), u-0 offsets 3 to 5 (broker 2 has them: "
        "--broker 2); they lie below the high watermark of a checkpoint"
    ) in told
    asked = ["--topic", "hole", "--broker", "2"]
    assert export(*dump, str(tmp_path / "second"), *asked)[0] == 0
    assert exported(spark, tmp_path / "second") == {"hole-0": [0, 1, 2, 3, 4, 5]}


def test_what_was_replicated_by_the_checkpoint_of_another_copy_is_exported(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The longest copy of brokers that were killed has the oldest checkpoint."""
    longest = folder(tmp_path / "dump/broker-1", "r 0 2")
    other = folder(tmp_path / "dump/broker-2", "r 0 6")
    put(longest / "r-0" / SEGMENT, plain(0, 2), plain(2, 4), plain(4, 6), plain(6, 8))
    put(other / "r-0" / SEGMENT, plain(0, 2), plain(2, 4), plain(4, 6))
    code, told = export("--dump", str(tmp_path / "dump"), "--out", str(tmp_path / "out"))
    assert code == 0
    assert exported(spark, tmp_path / "out") == {"r-0": [0, 1, 2, 3, 4, 5]}
    assert "2 offsets of 1 partition are at or above the last stable offset" in told


def test_what_lies_in_front_of_the_exported_copy_is_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The longest copy begins later; of another topic a checkpoint has the remote log start."""
    longest = folder(tmp_path / "dump/broker-1", "r 0 8, tiered 0 4")
    other = folder(tmp_path / "dump/broker-2", "r 0 6")
    put(longest / "r-0/00000000000000000004.log", plain(4, 6), plain(6, 8))
    put(other / "r-0" / SEGMENT, plain(0, 2), plain(2, 4), plain(4, 6))
    put(longest / "tiered-0/00000000000000000002.log", plain(2, 4))
    put(longest / "log-start-offset-checkpoint", b"0\n1\ntiered 0 0\n")
    code, told = export("--dump", str(tmp_path / "dump"), "--out", str(tmp_path / "out"))
    assert code == 0
    assert exported(spark, tmp_path / "out") == {"r-0": [4, 5, 6, 7], "tiered-0": [2, 3]}
    assert (
        "r-0 offsets 0 to 3 (broker 2 has them: --broker 2), tiered-0 offsets 0 to 1; they were "
        "deleted there, or are in remote storage."
    ) in told


def test_damage_at_the_end_is_lost_where_a_checkpoint_shows_that_it_was_replicated(
    spark: SparkSession, tmp_path: Path
) -> None:
    own = folder(tmp_path / "dump/broker-1", "garbage 0 4, cut 0 4, torn 0 2, zeros 0 2")
    put(own / "garbage-0" / SEGMENT, b"\x11" * 300)
    put(own / "cut-0" / SEGMENT, plain(0, 2), plain(2, 4)[:-3])
    # Legal twins: what lies above the high watermark, and what no broker has written yet.
    put(own / "torn-0" / SEGMENT, plain(0, 2), plain(2, 4)[:-3])
    put(own / "zeros-0" / SEGMENT, plain(0, 2), bytes(100))
    (own / ".kafka_cleanshutdown").unlink()
    dump = ["--dump", str(tmp_path / "dump"), "--out"]
    code, told = export(*dump, str(tmp_path / "out"))
    assert code == 3
    assert "Lost: 2 damaged byte ranges with " in told
    assert "Lost: 6 offsets are in no batch" in told
    assert "cut-0 offsets 2 to 3, garbage-0 offsets 0 to 3; they lie below" in told
    bare = ["--dump", str(own / "torn-0"), "--dump", str(own / "zeros-0"), "--out"]
    code, told = export(*bare, str(tmp_path / "bare"))
    assert (code, "Lost" in told) == (0, False)
    code, told = export("--dump", str(own / "garbage-0"), "--out", str(tmp_path / "bare"))
    assert code == 3
    assert "None of the requested partitions has a batch that can be read." in told
